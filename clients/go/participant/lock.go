package participant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// The holder that an elector is shown while nobody holds the Lease. An elector takes a Lease without a holder.
	unheld = "none.coordinated-leader-election.dev"
	// The duration that an elector is shown of a Lease that is not its own. An elector takes a Lease that it saw expire.
	unheldSeconds = 10 * 365 * 24 * 60 * 60
	// No elector gives up sooner after a renewal.
	shortestRenewDeadline = time.Second
	attempts              = 4
)

var errStops = errors.New("the grant is not taken up: this process stops")

// lock is a resourcelock.Interface with which an elector cannot take a Lease that was not granted to it.
//
// An elector takes a Lease by Create if there is none, and by Update if it is released, expired, or its own. Create always fails.
// Get shows a Lease that is not granted as held by another, without an end. Update decides by itself, on the state of the Lease
// that this process has seen last, and the server refuses the write if the Lease is not in that state any more.
type lock struct {
	p *Participant
}

// Identity implements resourcelock.Interface.
func (l *lock) Identity() string {
	return l.p.settings.Identity
}

// Describe implements resourcelock.Interface.
func (l *lock) Describe() string {
	return l.p.settings.Namespace + "/" + l.p.settings.Lease
}

// RecordEvent implements resourcelock.Interface.
func (l *lock) RecordEvent(event string) {
	l.p.settings.Logger.Info("The elector " + event)
}

// Create refuses: only a coordinator creates Leases.
func (l *lock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return errors.New("the Lease does not exist: only a coordinator creates it")
}

// Get waits until the Lease is granted to this copy, or ctx ends. It returns at once once this copy has led. The first Get shows that
// an elector runs.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.p.elect()
	l.p.awaitGrant(ctx)
	record := l.p.shownRecord(time.Now())
	raw, err := json.Marshal(record)
	return record, raw, err
}

// Update renews or releases the Lease.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch record.HolderIdentity {
	case l.p.settings.Identity:
		return l.p.renew(ctx, record.LeaseDurationSeconds)
	case "":
		return l.p.release(ctx)
	default:
		return fmt.Errorf("the Lease is not given to %s: only a coordinator does that", record.HolderIdentity)
	}
}

// awaitGrant hands back a grant that another candidate is preferred to.
func (p *Participant) awaitGrant(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		isOver := p.term != nil || p.renewalProblem(time.Now()) == nil
		isToHandBack := p.isOwn() && p.isToYield()
		changed := p.changed
		p.mu.Unlock()
		if isOver {
			return
		}
		if isToHandBack {
			if err := p.emptyLease(ctx); err != nil {
				p.settings.Logger.Error(err, "Cannot release the Lease for the preferred candidate")
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// shownRecord returns what the elector is shown: the Lease itself if it is this copy's, else a Lease that another holds.
func (p *Participant) shownRecord(now time.Time) *resourcelock.LeaderElectionRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	holder := p.sight.holder()
	isOwn := holder == p.settings.Identity
	if isOwn && (p.term != nil || p.renewalProblem(now) == nil) {
		return resourcelock.LeaseSpecToLeaderElectionRecord(&p.sight.lease.Spec)
	}
	if holder == "" || isOwn {
		holder = unheld
	}
	return &resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: unheldSeconds}
}

// renewalProblem returns why this copy must not renew the Lease, or take it up. It requires the mutex.
func (p *Participant) renewalProblem(now time.Time) error {
	switch {
	case p.sight.lease.UID == "":
		return errors.New("the Lease does not exist")
	case p.sight.holder() != p.settings.Identity:
		return fmt.Errorf("the Lease is not granted to this candidate: its holder is %q", p.sight.holder())
	case p.isToYield():
		return fmt.Errorf("the Lease is not renewed: it is to go to %q", p.sight.preferredHolder())
	case p.sight.isExpired(now):
		return errors.New("the Lease has expired: a coordinator has to grant it again")
	case p.term == nil && p.end != nil:
		return errStops
	case p.term != nil && p.term.remaining(now) == 0:
		return errors.New("the Lease is not renewed: it was released, the time of its last renewal is over, or another had it")
	default:
		return nil
	}
}

// renew takes up a grant, or renews the Lease.
func (p *Participant) renew(ctx context.Context, seconds int) error {
	next := &term{duration: time.Duration(seconds) * time.Second}
	attempt, cancel := halfTime(ctx)
	defer cancel()
	sentAt, err := p.update(attempt, func() (map[string]any, error) {
		next.token = p.sight.nextToken()
		if p.term != nil {
			next.token = p.term.token
		}
		return map[string]any{"leaseDurationSeconds": seconds, "leaseTransitions": next.token}, p.renewalProblem(time.Now())
	})
	if err != nil {
		return err
	}
	next.renewedAt, next.electorLastsUntil = sentAt, sentAt.Add(shortestRenewDeadline)
	// An elector gives each series of attempts to renew a deadline, after which it releases the Lease, although the work goes on.
	if deadline, ok := ctx.Deadline(); ok {
		next.electorLastsUntil = deadline
	}
	return p.renewed(ctx, next)
}

// halfTime returns a context with half of the time that ctx has left: a renewal without an answer leaves the elector time for another.
// The first renewal of a grant has no deadline.
func halfTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// renewed notes a renewal, or begins a term. A grant is handed back if this process stops meanwhile.
func (p *Participant) renewed(ctx context.Context, next *term) error {
	p.mu.Lock()
	switch {
	case p.term != nil:
		p.term.duration, p.term.renewedAt, p.term.electorLastsUntil = next.duration, next.renewedAt, next.electorLastsUntil
	case !p.isOwn() || p.sight.maxTransitions != next.token || next.remaining(time.Now()) == 0:
		p.mu.Unlock()
		return errors.New("the answer to the first renewal came too late")
	case p.end != nil:
		p.mu.Unlock()
		return errors.Join(errStops, p.emptyLease(ctx))
	default:
		p.term = next
		p.settings.Logger.Info("Leads", "fencingToken", next.token)
		next.overrun = time.AfterFunc(time.Until(next.endsAt()), p.checkOverrun)
		if p.isToYield() {
			p.finish(ErrYielded)
		}
	}
	p.mu.Unlock()
	return nil
}

// release releases the Lease, and deletes the LeaseCandidate after that.
func (p *Participant) release(ctx context.Context) error {
	p.mu.Lock()
	if problem := p.releaseProblem(time.Now()); problem != nil {
		p.mu.Unlock()
		return fmt.Errorf("the Lease is left to expire: %w", problem)
	}
	p.term.isOver = true
	p.term.overrun.Stop()
	p.mu.Unlock()
	err := p.emptyLease(ctx)
	p.withdraw()
	return err
}

// releaseProblem returns why the work may not have ended. It requires the mutex.
func (p *Participant) releaseProblem(now time.Time) error {
	timeout := *p.settings.GracefulShutdownTimeout
	switch {
	case p.term == nil:
		return errors.New("this process has not led")
	case p.end == nil:
		return errors.New("the context of the work has not ended")
	case timeout >= 0 && p.hasStoppedEarly:
		return errors.New("the manager has begun to stop before the context of the work ended")
	case timeout >= 0 && !now.Before(p.endedAt.Add(timeout)):
		return fmt.Errorf("the work has not ended within the graceful shutdown timeout, %s", timeout)
	case !now.Before(p.term.electorLastsUntil):
		return errors.New("the elector has given up, perhaps before the work has ended")
	default:
		return nil
	}
}

// emptyLease releases the Lease if it is this copy's. It changes the same fields as client-go's elector, except for acquireTime: a
// release is no grant.
func (p *Participant) emptyLease(ctx context.Context) error {
	_, err := p.update(ctx, func() (map[string]any, error) {
		if !p.isOwn() {
			return nil, nil
		}
		p.settings.Logger.Info("Releases the Lease")
		return map[string]any{"holderIdentity": "", "leaseDurationSeconds": 1}, nil
	})
	return err
}

// update writes the fields of the spec that decide returns for the state seen last; none if it returns none. After a conflict, it
// reads the Lease, and decide decides anew. It returns when the request was sent.
func (p *Participant) update(ctx context.Context, decide func() (map[string]any, error)) (time.Time, error) {
	for tries := 1; ; tries++ {
		p.mu.Lock()
		lease := p.sight.lease
		spec, err := decide()
		p.mu.Unlock()
		if err != nil || spec == nil {
			return time.Time{}, err
		}
		sentAt, err := p.patch(ctx, &lease, spec)
		if tries == attempts || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return sentAt, err
		}
		if _, err := p.readLease(ctx); err != nil {
			return time.Time{}, err
		}
	}
}

// patch changes fields of the spec, and renewTime. All other fields stay, also unknown ones. The server refuses the change if the
// Lease is not in this state any more.
func (p *Participant) patch(ctx context.Context, lease *coordinationv1.Lease, spec map[string]any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sentAt := time.Now()
	spec["renewTime"] = newTime(lease, sentAt)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": lease.UID, "resourceVersion": lease.ResourceVersion},
		"spec":     spec,
	})
	if err != nil {
		return sentAt, err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	answer, err := p.leases.Patch(ctx, p.settings.Lease, types.MergePatchType, body, options)
	if err != nil {
		return sentAt, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.see(answer, answer.GetResourceVersion(), sentAt)
	return sentAt, nil
}
