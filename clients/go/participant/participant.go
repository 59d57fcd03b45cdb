package participant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The causes of the end of [Participant.Context], besides that of its parent.
var (
	// ErrYielded says that the coordinator asks this copy to make way for another.
	ErrYielded = errors.New("the Lease is to go to another candidate")
	// ErrLost says that the Lease has another holder, or was not renewed in time.
	ErrLost = errors.New("the Lease is lost")
)

// A Participant takes part in one election: it is a candidate, and the lock of an elector.
type Participant struct {
	settings  settings
	log       logr.Logger
	leases    dynamic.ResourceInterface
	candidate *candidate
	memory    *memory
	// The background work: following the Lease, and the candidate.
	background     context.Context
	stopBackground context.CancelFunc

	mu sync.Mutex
	// Closed and replaced when sight, isStopping or end changes.
	changed chan struct{}
	sight   sight
	// Nil until this process leads for the first time. There is one term at most.
	term *term
	// Ends the context that was given out; nil until then.
	cancel context.CancelCauseFunc
	// Whether no grant is taken up any more, as this copy stops without having led.
	isStopping bool
	// Why the context has ended; nil until then.
	end error
	// When the context ended; the zero time until then.
	endedAt time.Time
	overrun *time.Timer
}

// term is a time of leading. It begins with the answer to the first renewal of a grant.
type term struct {
	// The leaseTransitions of all its renewals.
	token    int32
	duration time.Duration
	// When the last successful renewal was sent.
	renewedAt time.Time
	// The elector does not give up before this time by itself.
	electorLastsUntil time.Time
	// Whether the Lease has, or had in between, another holder.
	isTaken bool
	// Whether the work is known to have ended.
	isOver bool
}

// remaining returns for how long no other candidate can lead.
func (t *term) remaining(now time.Time) time.Duration {
	if t == nil || t.isTaken || t.isOver {
		return 0
	}
	return max(0, t.endsAt().Sub(now))
}

// endsAt returns when the last renewal stops to count, by this machine's monotonic clock.
func (t *term) endsAt() time.Time {
	return t.renewedAt.Add(t.duration * safePercent / 100)
}

// New returns a Participant. It sends no requests: [Participant.Context] does.
func New(cfg *rest.Config, options Options) (*Participant, error) {
	s, err := settingsOf(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("participant: %w", err)
	}
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	// Renewals and answers to pings are few and urgent. Each request has its own deadline, and a watch has none.
	cfg.QPS, cfg.RateLimiter, cfg.Timeout = -1, nil, 0
	// The server warns of old versions of LeaseCandidate with each answer. The newest that it serves is used anyway.
	cfg.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("participant: %w", err)
	}
	cfg.Timeout = requestTimeout
	discover, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("participant: %w", err)
	}
	log := options.Logger
	if log.GetSink() == nil {
		log = logr.Discard()
	}
	log = log.WithValues("namespace", s.Namespace, "lease", s.Lease, "identity", s.Identity)
	p := &Participant{
		settings:  s,
		log:       log,
		leases:    client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(s.Namespace),
		candidate: newCandidate(client, discover, s, log),
		changed:   make(chan struct{}),
	}
	p.memory = &memory{see: p.seeObject}
	p.background, p.stopBackground = context.WithCancel(context.Background())
	if options.Registerer != nil {
		if err := p.register(options.Registerer); err != nil {
			return nil, fmt.Errorf("participant: %w", err)
		}
	}
	return p, nil
}

// Identity returns the name of the LeaseCandidate and of the holder.
func (p *Participant) Identity() string {
	return p.settings.Identity
}

// Lock returns the lock for LeaderElectionResourceLockInterface of a manager, or for an elector of client-go.
func (p *Participant) Lock() resourcelock.Interface {
	return &lock{p}
}

// Context publishes the LeaseCandidate, and returns the context to start the manager with. It ends when parent ends, and when
// the lead has to be given up; [context.Cause] says why. Call it once.
//
// If this copy does not lead when parent ends, its LeaseCandidate is deleted before the context ends. If it leads, the release
// of the Lease deletes the LeaseCandidate, once the manager has stopped its runnables.
func (p *Participant) Context(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		panic("participant: Context is called twice; a Participant is for one run of a manager")
	}
	p.cancel = cancel
	go p.followLease()
	go p.run(parent, ctx)
	return ctx
}

// Ready is a check for AddReadyzCheck of a manager. It fails until the LeaseCandidate is published: in a rolling update, a new copy
// can then be elected before an old one is stopped.
func (p *Participant) Ready(*http.Request) error {
	if !p.candidate.isPublished.Load() {
		return errors.New("the LeaseCandidate is not published")
	}
	return nil
}

// FencingToken returns the leaseTransitions of this copy's term, or -1 if it has not led. It is greater than in all earlier
// terms. A store can reject writes with a lower token than the greatest that it has seen.
func (p *Participant) FencingToken() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term == nil {
		return -1
	}
	return int64(p.term.token)
}

// Remaining returns for how long no other candidate can lead, by the monotonic clock: nine tenths of the Lease's duration from
// the moment at which the last renewal was sent. It is 0 for a copy that does not lead. Ask it right before an action that must
// not be done by two copies.
func (p *Participant) Remaining() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.term.remaining(time.Now())
}

func (p *Participant) run(parent, ctx context.Context) {
	// A candidate can be elected as soon as it is published, so the Lease has to be seen before.
	for !p.isSynced() {
		select {
		case <-p.nextChange():
		case <-parent.Done():
			p.stop(context.Cause(parent))
			return
		case <-ctx.Done():
			return
		}
	}
	p.candidate.start()
	select {
	case <-parent.Done():
		p.stop(context.Cause(parent))
	case <-ctx.Done():
	}
}

func (p *Participant) followLease() {
	follower := &follower{
		resource: p.leases,
		name:     p.settings.Lease,
		trouble:  &trouble{log: p.log, message: "Cannot watch the Lease"},
		memory:   p.memory,
	}
	follower.run(p.background)
}

func (p *Participant) seeObject(object *unstructured.Unstructured, at time.Time) {
	lease, err := leaseFrom(object)
	if err != nil {
		p.log.Error(err, "Ignored a state of the Lease")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.see(lease, at)
}

// see requires the mutex.
func (p *Participant) see(lease *coordinationv1.Lease, at time.Time) {
	p.sight = p.sight.next(lease, at)
	if p.term != nil && !p.term.isOver {
		switch {
		case p.isTaken():
			p.term.isTaken = true
			p.finish(ErrLost)
		case p.isToYield():
			p.finish(ErrYielded)
		}
	}
	p.notify()
}

// isTaken requires the mutex. A deleted Lease is not taken: only the coordinator creates it again.
func (p *Participant) isTaken() bool {
	lease := p.sight.lease
	return lease != nil && (holderOf(lease) != p.settings.Identity || transitionsOf(lease) > p.term.token)
}

// isToYield requires the mutex.
func (p *Participant) isToYield() bool {
	preferred := preferredHolderOf(p.sight.lease)
	return preferred != "" && preferred != p.settings.Identity
}

// stop ends the participation without a lead at once, and a lead by its context.
func (p *Participant) stop(cause error) {
	p.mu.Lock()
	if p.end == nil && p.term == nil {
		p.isStopping = true
		p.notify()
		p.mu.Unlock()
		p.withdraw()
		p.mu.Lock()
	}
	p.finish(cause)
	p.mu.Unlock()
}

// finish ends the context. It requires the mutex.
func (p *Participant) finish(cause error) {
	if p.end != nil {
		return
	}
	p.end = cause
	p.log.Info("The context ends", "cause", cause.Error())
	p.cancel(cause)
	p.endedAt = time.Now()
	p.notify()
}

// withdraw deletes the LeaseCandidate.
func (p *Participant) withdraw() {
	p.candidate.withdraw()
	p.stopBackground()
}

// begin starts a term. It requires the mutex.
func (p *Participant) begin(t *term) {
	p.term = t
	p.log.Info("Leads", "fencingToken", t.token)
	p.overrun = time.AfterFunc(time.Until(t.endsAt()), p.checkOverrun)
}

// checkOverrun runs when the time of a term is over, unless it was renewed since.
func (p *Participant) checkOverrun() {
	p.mu.Lock()
	if p.term.isOver {
		p.mu.Unlock()
		return
	}
	if left := time.Until(p.term.endsAt()); left > 0 {
		p.overrun.Reset(left)
		p.mu.Unlock()
		return
	}
	p.finish(ErrLost)
	p.mu.Unlock()
	if p.settings.OnOverrun != nil {
		p.settings.OnOverrun()
		return
	}
	p.log.Error(ErrLost, "The time of the lead is over and the work has not ended: exits, as another copy may lead")
	os.Exit(1)
}

func (p *Participant) isSynced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sight.isSynced
}

func (p *Participant) nextChange() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// notify requires the mutex.
func (p *Participant) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// patchLease writes the Lease if it is still as it was decided on, and takes the answer in. It returns when the request was sent.
func (p *Participant) patchLease(ctx context.Context, patch []byte) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sentAt := time.Now()
	options := metav1.PatchOptions{FieldManager: fieldManager}
	answer, err := p.leases.Patch(ctx, p.settings.Lease, types.MergePatchType, patch, options)
	if err != nil {
		return sentAt, err
	}
	p.memory.answer(answer, sentAt)
	return sentAt, nil
}
