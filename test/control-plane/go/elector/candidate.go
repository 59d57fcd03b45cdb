package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// candidateSpec is what one program that takes part in elections is made of.
type candidateSpec struct {
	Namespace string `json:"namespace"`
	Lease     string `json:"lease"`
	// Name is both the LeaseCandidate's name and the identity that holds the Lease.
	Name             string `json:"name"`
	BinaryVersion    string `json:"binaryVersion"`
	EmulationVersion string `json:"emulationVersion"`
	Strategy         string `json:"strategy"`
	// Mode is "coordinated", "plain" (an elector that knows nothing of coordination, and no LeaseCandidate),
	// "candidate-only" or "elector-only".
	Mode string `json:"mode"`

	LeaseDuration duration `json:"leaseDuration"`
	RenewDeadline duration `json:"renewDeadline"`
	RetryPeriod   duration `json:"retryPeriod"`
	// ReleaseOnCancel has client-go empty the Lease whenever its elector ends, however that came about.
	ReleaseOnCancel bool `json:"releaseOnCancel"`
	// Restart has the elector start again, under the same name, after it stopped leading. Without it the whole
	// candidate ends, as programs that exit on the loss of their lease do.
	Restart bool `json:"restart"`
}

// duration reads Go's notation, "15s".
type duration struct{ time.Duration }

func (d *duration) UnmarshalJSON(text []byte) error {
	var notation string
	if err := json.Unmarshal(text, &notation); err != nil {
		return err
	}
	var err error
	d.Duration, err = time.ParseDuration(notation)
	return err
}

// candidate is one running program.
type candidate struct {
	id       string
	spec     candidateSpec
	reporter *reporter
	valve    *valve
	client   kubernetes.Interface

	stopCandidate context.CancelFunc
	stopElector   context.CancelFunc
	// fates brings what is to become of the LeaseCandidate now that the elector is told to end.
	fates   chan string
	crashed atomic.Bool
	// ended is closed when nothing of it runs any more.
	ended chan struct{}
}

const (
	candidateStops   = "stop"
	candidateStays   = "keep"
	candidateDeletes = "delete"
)

func startCandidate(id string, spec candidateSpec, config *rest.Config, reporter *reporter) (*candidate, error) {
	c := &candidate{id: id, spec: spec, reporter: reporter,
		fates: make(chan string, 1), ended: make(chan struct{})}
	c.valve = newValve(c.reportWrite)

	own := rest.CopyConfig(config)
	// One process stands for many programs here: client-go's client-side limit, meant for one, would not be theirs.
	own.QPS, own.Burst = 1000, 1000
	own.UserAgent = "elector/" + spec.Name
	own.Wrap(c.valve.wrap)
	var err error
	if c.client, err = kubernetes.NewForConfig(own); err != nil {
		return nil, err
	}

	ctx := klog.NewContext(context.Background(), logr.New(errorSink{report: c.report}))
	var candidateCtx, electorCtx context.Context
	candidateCtx, c.stopCandidate = context.WithCancel(ctx)
	electorCtx, c.stopElector = context.WithCancel(ctx)

	var runCandidate, runElector func()
	if spec.Mode == "coordinated" || spec.Mode == "candidate-only" {
		lease, _, err := leaderelection.NewCandidate(c.client, spec.Namespace, spec.Name, spec.Lease,
			spec.BinaryVersion, spec.EmulationVersion, coordinationv1.CoordinatedLeaseStrategy(spec.Strategy))
		if err != nil {
			return nil, err
		}
		runCandidate = func() { lease.Run(candidateCtx) }
	}
	if spec.Mode == "coordinated" || spec.Mode == "plain" || spec.Mode == "elector-only" {
		if _, err := leaderelection.NewLeaderElector(c.electorConfig(&leadership{})); err != nil {
			return nil, err
		}
		runElector = func() { c.runElector(electorCtx) }
	}
	if runCandidate == nil && runElector == nil {
		return nil, fmt.Errorf("unknown mode %q: want coordinated, plain, candidate-only or elector-only", spec.Mode)
	}
	go c.run(runCandidate, runElector, candidateCtx, electorCtx)
	return c, nil
}

// run keeps the two halves of a program together: when its elector ends, so does its candidate, unless told otherwise.
func (c *candidate) run(runCandidate, runElector func(), candidateCtx, electorCtx context.Context) {
	var halves sync.WaitGroup
	if runCandidate != nil {
		halves.Go(runCandidate)
	}
	halves.Go(func() {
		if runElector != nil {
			runElector()
		} else {
			<-electorCtx.Done()
		}
		if c.awaitFate(candidateCtx, electorCtx) == candidateDeletes {
			// Stopped first: a candidate that sees its object vanish may create it again.
			c.stopCandidate()
			c.deleteCandidate()
		}
		c.stopCandidate()
	})
	halves.Wait()
	c.valve.shut()
	c.reporter.report(event{ID: c.id, Event: "ended"})
	close(c.ended)
}

// awaitFate returns once the LeaseCandidate is to go the way of its elector, and says which way.
func (c *candidate) awaitFate(candidateCtx, electorCtx context.Context) string {
	if electorCtx.Err() == nil {
		return candidateStops // the elector ended of itself, and the program with it
	}
	for {
		select {
		case fate := <-c.fates:
			if fate != candidateStays {
				return fate
			}
		case <-candidateCtx.Done():
			return candidateStops
		}
	}
}

func (c *candidate) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// crash is what SIGKILL is to a program: nothing is sent any more, not even what was about to be.
func (c *candidate) crash() {
	c.valve.shut()
	c.report(event{Event: "crashed"})
	c.crashed.Store(true)
	c.stopCandidate()
	c.stopElector()
}

// release ends the elector cleanly. After one that kept the candidate, another may follow to end that as well.
func (c *candidate) release(fate string) error {
	switch fate {
	case candidateStops, candidateStays, candidateDeletes:
	default:
		return fmt.Errorf("cannot %q the candidate on release: want stop, keep or delete", fate)
	}
	select {
	case c.fates <- fate:
		c.stopElector()
		return nil
	default:
		return errors.New("its release is under way already")
	}
}

// report drops what happens after a crash: a dead program has nothing to say.
func (c *candidate) report(e event) {
	if !c.crashed.Load() {
		e.ID = c.id
		c.reporter.report(e)
	}
}

func (c *candidate) deleteCandidate() {
	ctx, cancel := context.WithTimeout(context.Background(), c.spec.RenewDeadline.Duration)
	defer cancel()
	err := c.client.CoordinationV1beta1().LeaseCandidates(c.spec.Namespace).Delete(ctx, c.spec.Name, metav1.DeleteOptions{})
	if err != nil {
		c.report(event{Event: "error", Message: fmt.Sprintf("deleting the LeaseCandidate: %v", err)})
	}
}

func (c *candidate) runElector(ctx context.Context) {
	for {
		term := &leadership{report: c.report}
		elector, err := leaderelection.NewLeaderElector(c.electorConfig(term))
		if err != nil {
			c.report(event{Event: "error", Message: err.Error()})
			return
		}
		elector.Run(ctx)
		if ctx.Err() != nil || !c.spec.Restart {
			return
		}
	}
}

func (c *candidate) electorConfig(term *leadership) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.spec.Namespace, Name: c.spec.Lease},
			Client:     c.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.spec.Name},
		},
		LeaseDuration:   c.spec.LeaseDuration.Duration,
		RenewDeadline:   c.spec.RenewDeadline.Duration,
		RetryPeriod:     c.spec.RetryPeriod.Duration,
		ReleaseOnCancel: c.spec.ReleaseOnCancel,
		Coordinated:     c.spec.Mode != "plain",
		Name:            c.spec.Lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { term.start() },
			OnStoppedLeading: func() { term.stop() },
			OnNewLeader: func(leader string) {
				c.report(event{Event: "newLeader", Leader: leader})
			},
		},
	}
}

func (c *candidate) reportWrite(method, resource string) {
	if resource != "leasecandidates" {
		return
	}
	switch method {
	case http.MethodPost:
		c.report(event{Event: "candidateCreated"})
	case http.MethodPut:
		c.report(event{Event: "candidateRenewed"})
	}
}

// leadership is one run of an elector. client-go calls back that leading has started from a goroutine of its own, which
// may come after the call that it has stopped, and calls the latter even for a run that never led; what is reported is
// at most one start and then its stop.
type leadership struct {
	report func(event)

	mu      sync.Mutex
	leading bool
	over    bool
}

func (l *leadership) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.leading = true
		l.report(event{Event: "startedLeading"})
	}
}

func (l *leadership) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.leading {
		l.report(event{Event: "stoppedLeading"})
	}
}
