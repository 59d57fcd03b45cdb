package participant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	leases    dynamic.ResourceInterface
	candidate *candidate
	// Following the Lease ends with it.
	background     context.Context
	stopBackground context.CancelFunc
	// Closed by elect, when the elector runs.
	electing chan struct{}
	elect    func()

	mu sync.Mutex
	// Closed and replaced when sight or end changes.
	changed chan struct{}
	sight   sight
	// The resourceVersion of the newest known state, also of a deletion.
	version string
	// Nil until this process leads for the first time. There is one term at most.
	term *term
	// Ends the context that was given out; nil until then.
	cancel context.CancelCauseFunc
	// The parent of that context.
	parent context.Context
	// Why the context ends; nil until then. No grant is taken up any more.
	end     error
	endedAt time.Time
	// Whether the manager has begun to stop before the end, because a runnable has failed. Its graceful shutdown timeout began then.
	hasStoppedEarly bool
}

// New returns a Participant. It sends no requests: [Participant.Context] does.
func New(cfg *rest.Config, options Options) (*Participant, error) {
	s, err := settingsOf(cfg, options)
	if err != nil {
		return nil, err
	}
	s.Logger = s.Logger.WithValues("namespace", s.Namespace, "lease", s.Lease, "identity", s.Identity)
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	// Renewals and answers to pings are few and urgent. Each request has its own deadline, and a watch has none.
	cfg.QPS, cfg.RateLimiter, cfg.Timeout = -1, nil, 0
	// The server warns of old versions of LeaseCandidate with each answer. The newest that it serves is used anyway.
	cfg.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("participant: %w", err)
	}
	p := &Participant{
		settings:  s,
		leases:    client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(s.Namespace),
		candidate: newCandidate(client, s),
		electing:  make(chan struct{}),
		changed:   make(chan struct{}),
		sight:     sight{maxTransitions: -1},
		parent:    context.Background(),
	}
	p.background, p.stopBackground = context.WithCancel(context.Background())
	p.elect = sync.OnceFunc(func() { close(p.electing) })
	if err := p.registerMetrics(s.Registerer); err != nil {
		return nil, fmt.Errorf("participant: %w", err)
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

// Context returns the context to start the manager with. It ends when parent ends, and when the lead has to be given up;
// [context.Cause] says why. Call it once.
//
// The LeaseCandidate is published when the elector has begun to run. A manager starts its elector after it has filled its caches.
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
	p.cancel, p.parent = cancel, parent
	// A candidate can be elected as soon as it is published, so the Lease has to be seen before, and an elector has to run.
	p.candidate.start(p.changed, p.electing)
	go repeat(p.background, p.settings.Logger, "Cannot watch the Lease", p.followLease)
	go func() {
		select {
		case <-parent.Done():
			p.stop(context.Cause(parent))
		case <-ctx.Done():
		}
	}()
	return ctx
}

// Ready is a check for AddReadyzCheck of a manager. It fails until the LeaseCandidate is published: in a rolling update, a new copy
// can then be elected before an old one is stopped.
//
// The LeaseCandidate is published only after the manager has filled its caches. Do not use this check if the caches need a conversion
// webhook of the same program: a Service sends requests only to ready Pods, so the program would never be ready.
func (p *Participant) Ready(*http.Request) error {
	if !p.candidate.isPublished.Load() {
		return errors.New("the LeaseCandidate is not published")
	}
	return nil
}

// Start is for mgr.Add(p). It returns when the manager begins to stop.
//
// A runnable that fails stops the manager, although the context has not ended. The graceful shutdown timeout begins at that time. If
// the context ends later, this copy does not release the Lease: the timeout may be over while another runnable still works.
func (p *Participant) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	// With a BaseContext, ctx may end at the same moment as parent.
	p.hasStoppedEarly = p.end == nil && p.parent.Err() == nil
	return nil
}

// NeedLeaderElection returns false: the manager calls Start before it starts its elector.
func (p *Participant) NeedLeaderElection() bool {
	return false
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

func (p *Participant) followLease(ctx context.Context) error {
	return follow(ctx, p.leases, p.settings.Lease, p.readLease, func(object *unstructured.Unstructured, version string) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.see(object, version, time.Now())
		return nil
	})
}

// readLease reads the Lease from the server. An older state than the known one counts if none was seen since the request was sent:
// etcd was restored from a backup.
func (p *Participant) readLease(ctx context.Context) (string, error) {
	p.mu.Lock()
	basis := p.version
	p.mu.Unlock()
	object, version, err := readOne(ctx, p.leases, p.settings.Lease)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version == basis {
		p.version = ""
	}
	p.see(object, version, time.Now())
	return version, nil
}

// see takes in a state of the Lease, nil for none, unless a newer one is known: watch events, reads and answers to writes may arrive
// in any order. It requires the mutex.
func (p *Participant) see(object *unstructured.Unstructured, version string, at time.Time) {
	if order, err := resourceversion.CompareResourceVersion(version, p.version); err == nil && order < 0 {
		return
	}
	lease := coordinationv1.Lease{}
	if object != nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &lease); err != nil {
			p.settings.Logger.Error(err, "Ignored a state of the Lease")
			return
		}
	}
	p.version = version
	p.sight = p.sight.next(lease, at)
	if p.term != nil && !p.term.isOver {
		switch {
		// A deleted Lease is not taken: only the coordinator creates it again.
		case lease.UID != "" && !p.isOwn():
			p.term.isTaken = true
			p.finish(ErrLost)
		case p.isToYield():
			p.finish(ErrYielded)
		}
	}
	p.notify()
}

// isOwn returns whether the Lease names this copy, and no other has led since its term began. It requires the mutex.
func (p *Participant) isOwn() bool {
	return p.sight.holder() == p.settings.Identity && (p.term == nil || p.sight.maxTransitions <= p.term.token)
}

// isToYield requires the mutex.
func (p *Participant) isToYield() bool {
	preferred := p.sight.preferredHolder()
	return preferred != "" && preferred != p.settings.Identity
}

// stop ends the participation. A copy that does not lead withdraws first: the program may exit when its context ends.
func (p *Participant) stop(cause error) {
	p.mu.Lock()
	if p.end != nil || p.term != nil {
		p.finish(cause)
		p.mu.Unlock()
		return
	}
	p.end = cause
	p.notify()
	p.mu.Unlock()
	p.withdraw()
	p.cancel(cause)
}

// finish ends the context. It requires the mutex.
func (p *Participant) finish(cause error) {
	if p.end != nil {
		return
	}
	p.end, p.endedAt = cause, time.Now()
	p.settings.Logger.Info("The context ends", "cause", cause.Error())
	p.cancel(cause)
	p.notify()
}

// withdraw deletes the LeaseCandidate.
func (p *Participant) withdraw() {
	p.candidate.withdraw()
	p.stopBackground()
}

// checkOverrun runs when the time of the term is over, unless it was renewed since.
func (p *Participant) checkOverrun() {
	p.mu.Lock()
	isOver, left := p.term.isOver, time.Until(p.term.endsAt())
	switch {
	case isOver:
	case left > 0:
		p.term.overrun.Reset(left)
	default:
		p.finish(ErrLost)
		p.settings.Logger.Error(ErrLost, "The time of the lead is over and the work has not ended: another copy may lead")
	}
	p.mu.Unlock()
	if !isOver && left <= 0 {
		// A program that hangs must not be elected again.
		go p.withdraw()
		p.settings.OnOverrun()
	}
}

// notify requires the mutex.
func (p *Participant) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}
