package participant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/participant"
)

var (
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	candidates = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1beta1", Resource: "leasecandidates"}
)

// ledger is what the runnables of all copies write. Two that write at the same time, and a token that goes back, are violations.
type ledger struct {
	mu         sync.Mutex
	active     map[string]int64
	last       int64
	terms      []string
	violations []string
}

func (l *ledger) begin(who string, token int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rival := range l.active {
		l.violations = append(l.violations, fmt.Sprintf("%s leads while %s does", who, rival))
	}
	if token <= l.last && len(l.terms) > 0 {
		l.violations = append(l.violations, fmt.Sprintf("%s leads under %d after %d", who, token, l.last))
	}
	l.active[who], l.last = token, token
	l.terms = append(l.terms, who)
}

func (l *ledger) end(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.active, who)
}

// leader returns who is active; "" for nobody.
func (l *ledger) leader() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for who := range l.active {
		return who
	}
	return ""
}

func (l *ledger) check(t *testing.T, terms int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, violation := range l.violations {
		t.Error(violation)
	}
	if len(l.terms) != terms {
		t.Errorf("the terms are %v, and should be %d", l.terms, terms)
	}
}

// network fails all requests of a copy while it is cut off.
type network struct {
	http.RoundTripper
	isCut *atomic.Bool
}

func (n network) RoundTrip(request *http.Request) (*http.Response, error) {
	if n.isCut.Load() {
		return nil, errors.New("the network is cut")
	}
	return n.RoundTripper.RoundTrip(request)
}

// operator is one copy: a manager with a participant.
type operator struct {
	name        string
	participant *participant.Participant
	isCut       atomic.Bool
	stop        context.CancelFunc
	// Gets what Start of the manager has returned.
	ended chan error
	// Why the context of the manager has ended.
	cause   func() error
	overrun atomic.Bool
	// How long the runnable goes on after it was told to stop.
	slow time.Duration
	// Fails a second runnable.
	fail chan struct{}
}

type option func(*operator, *participant.Options, *ctrl.Options)

// start starts a copy with leases of 3 s.
func start(t *testing.T, l *ledger, name string, change ...option) *operator {
	t.Helper()
	o := &operator{name: name, ended: make(chan error, 1), fail: make(chan struct{})}
	cfg := rest.CopyConfig(participant.ClusterConfig())
	cfg.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return network{transport, &o.isCut}
	})
	lease := leaseOf(t)
	options := participant.Options{
		Lease: lease, Namespace: "default", Version: "1.0.0", Identity: lease + "-" + name,
		Strategy:  "coordinated-leader-election.dev/NewestVersion",
		OnOverrun: func() { o.overrun.Store(true) },
	}
	managed := ctrl.Options{
		LeaderElection:                true,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(3 * time.Second),
		RenewDeadline:                 ptr.To(2 * time.Second),
		RetryPeriod:                   ptr.To(300 * time.Millisecond),
		Metrics:                       server.Options{BindAddress: "0"},
	}
	for _, each := range change {
		each(o, &options, &managed)
	}
	p, err := participant.New(cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	o.participant = p
	managed.LeaderElectionResourceLockInterface = p.Lock()
	mgr, err := ctrl.NewManager(cfg, managed)
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		l.begin(name, p.FencingToken())
		defer l.end(name)
		<-ctx.Done()
		time.Sleep(o.slow)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-o.fail:
			return errors.New("a runnable has failed")
		}
	})); err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(p); err != nil {
		t.Fatal(err)
	}
	parent, stop := context.WithCancel(context.Background())
	ctx := p.Context(parent)
	o.stop = stop
	o.cause = func() error { return context.Cause(ctx) }
	done := make(chan struct{})
	go func() {
		o.ended <- mgr.Start(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return o
}

func leaseOf(t *testing.T) string {
	return strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
}

func dynamicClient() dynamic.Interface {
	return dynamic.NewForConfigOrDie(participant.ClusterConfig())
}

func within(t *testing.T, limit time.Duration, what string, isMet func() bool) time.Duration {
	t.Helper()
	startedAt := time.Now()
	for time.Since(startedAt) < limit {
		if isMet() {
			return time.Since(startedAt)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("not within %s: %s", limit, what)
	return 0
}

func (o *operator) hasCandidate(t *testing.T) bool {
	t.Helper()
	_, err := dynamicClient().Resource(candidates).Namespace("default").Get(t.Context(), o.participant.Identity(), metav1.GetOptions{})
	return err == nil
}

func patchObject(t *testing.T, resource schema.GroupVersionResource, name string, change map[string]any) {
	t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dynamicClient().Resource(resource).Namespace("default").
		Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func init() {
	ctrl.SetLogger(logr.Discard())
}

func newLedger() *ledger {
	return &ledger{active: map[string]int64{}}
}

func (l *ledger) untilLed(t *testing.T, name string) {
	t.Helper()
	within(t, 60*time.Second, name+" leads", func() bool { return l.leader() == name })
}

func (o *operator) untilCandidate(t *testing.T) {
	t.Helper()
	within(t, 60*time.Second, o.participant.Identity()+" is a candidate", func() bool { return o.hasCandidate(t) })
}

func TestOneManagerLeadsAndHandsOver(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a")
	l.untilLed(t, "a")
	b := start(t, l, "b")
	b.untilCandidate(t)
	time.Sleep(2 * time.Second)
	if l.leader() != "a" || a.participant.Remaining() == 0 || b.participant.Remaining() != 0 {
		t.Errorf("%s leads; remaining: %s, %s", l.leader(), a.participant.Remaining(), b.participant.Remaining())
	}
	a.stop()
	if err := <-a.ended; err != nil {
		t.Error(err)
	}
	// The program may exit now: nothing is left to do.
	if a.hasCandidate(t) {
		t.Error("the LeaseCandidate is not deleted")
	}
	took := within(t, 10*time.Second, "b leads", func() bool { return l.leader() == "b" })
	t.Logf("b leads %s after a has ended", took)
	b.stop()
	<-b.ended
	l.check(t, 2)
}

func TestFollowerLeavesBeforeItsContextEnds(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a")
	l.untilLed(t, "a")
	b := start(t, l, "b")
	b.untilCandidate(t)
	within(t, 60*time.Second, "b is ready", func() bool { return b.participant.Ready(nil) == nil })
	b.stop()
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	if b.hasCandidate(t) || l.leader() != "a" || a.cause() != nil {
		t.Errorf("candidate: %v, leader: %s, %v", b.hasCandidate(t), l.leader(), a.cause())
	}
	a.stop()
	<-a.ended
	l.check(t, 1)
}

func TestCutOffLeaderIsReplacedAfterItsLeaseHasExpired(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a")
	l.untilLed(t, "a")
	b := start(t, l, "b")
	b.untilCandidate(t)
	// It must have renewed: the first renewal counts for longer.
	time.Sleep(time.Second)
	a.isCut.Store(true)
	took := within(t, 60*time.Second, "b leads", func() bool { return l.leader() == "b" })
	t.Logf("b leads %s after a was cut off", took)
	if err := <-a.ended; err == nil && a.cause() == nil {
		t.Error("a does not say that it has lost the Lease")
	}
	l.check(t, 2)
}

func TestDeletedCandidateComesBack(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a")
	l.untilLed(t, "a")
	for range 3 {
		resource := dynamicClient().Resource(candidates).Namespace("default")
		before, err := resource.Get(t.Context(), a.participant.Identity(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := resource.Delete(t.Context(), before.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		took := within(t, 10*time.Second, "it is published again", func() bool {
			after, err := resource.Get(t.Context(), before.GetName(), metav1.GetOptions{})
			return err == nil && after.GetUID() != before.GetUID()
		})
		t.Logf("published again after %s", took)
	}
	if l.leader() != "a" {
		t.Error("a leads no longer")
	}
	a.stop()
	<-a.ended
	l.check(t, 1)
}

func TestPingIsAnsweredAlsoByAWrongClock(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a")
	// An election may ping as well, and replace this ping.
	l.untilLed(t, "a")
	ping := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	patchObject(t, candidates, a.participant.Identity(), map[string]any{
		"spec": map[string]any{"pingTime": ping.Format(metav1.RFC3339Micro)},
	})
	wanted := ping.Add(time.Microsecond).Format(metav1.RFC3339Micro)
	within(t, 60*time.Second, "the ping is answered", func() bool {
		candidate, err := dynamicClient().Resource(candidates).Namespace("default").
			Get(t.Context(), a.participant.Identity(), metav1.GetOptions{})
		return err == nil && candidate.Object["spec"].(map[string]any)["renewTime"] == wanted
	})
}

func TestLeaseEmptiedByAVandal(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a", func(o *operator, _ *participant.Options, _ *ctrl.Options) { o.slow = time.Second })
	l.untilLed(t, "a")
	b := start(t, l, "b")
	b.untilCandidate(t)
	time.Sleep(time.Second)
	patchObject(t, leases, leaseOf(t), map[string]any{"spec": map[string]any{"holderIdentity": ""}})
	if err := <-a.ended; err != nil || !errors.Is(a.cause(), participant.ErrLost) {
		t.Errorf("a ended with %v, %v", err, a.cause())
	}
	within(t, 60*time.Second, "b leads", func() bool { return l.leader() == "b" })
	l.check(t, 2)
}

// slower makes the work of a manager end only some time after it is told to stop, and later than the manager waits for it.
func slower(slow, timeout time.Duration) func(*operator, *participant.Options, *ctrl.Options) {
	return func(o *operator, options *participant.Options, managed *ctrl.Options) {
		o.slow = slow
		options.GracefulShutdownTimeout = &timeout
		managed.GracefulShutdownTimeout = &timeout
	}
}

func TestSlowRunnableDoesNotReleaseEarly(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a", slower(2200*time.Millisecond, 500*time.Millisecond))
	l.untilLed(t, "a")
	start(t, l, "b")
	a.stop()
	if err := <-a.ended; err == nil {
		t.Error("the manager has waited for its runnable")
	}
	if l.leader() != "a" {
		t.Error("the runnable has ended in time")
	}
	within(t, 60*time.Second, "b leads", func() bool { return l.leader() == "b" })
	l.check(t, 2)
}

// The manager begins to stop when a runnable fails, and not when the context ends.
func TestSlowRunnableDoesNotReleaseEarlyAfterAFailure(t *testing.T) {
	t.Parallel()
	l := newLedger()
	a := start(t, l, "a", slower(3*time.Second, 1500*time.Millisecond))
	l.untilLed(t, "a")
	b := start(t, l, "b")
	b.untilCandidate(t)
	close(a.fail)
	time.Sleep(500 * time.Millisecond)
	a.stop()
	if err := <-a.ended; err == nil || l.leader() != "a" {
		t.Errorf("the runnable has ended in time: %v", err)
	}
	within(t, 60*time.Second, "b leads", func() bool { return l.leader() == "b" })
	l.check(t, 2)
}

// A change of client-go, kubernetes/kubernetes 139991, has electors renew the Lease until OnStartedLeading has returned, and release
// it then. This elector does so by its context.
func TestElectorThatRenewsUntilTheWorkHasEnded(t *testing.T) {
	t.Parallel()
	l, lease := newLedger(), leaseOf(t)
	p, err := participant.New(rest.CopyConfig(participant.ClusterConfig()), participant.Options{
		Lease: lease, Namespace: "default", Version: "1.0.0", Identity: lease + "-a",
		Strategy: "coordinated-leader-election.dev/NewestVersion", OnOverrun: func() { t.Error("the time of a is over") },
	})
	if err != nil {
		t.Fatal(err)
	}
	parent, stop := context.WithCancel(context.Background())
	defer stop()
	working := p.Context(parent)
	electing, stopElecting := context.WithCancel(context.Background())
	defer stopElecting()
	released := make(chan struct{})
	go func() {
		defer close(released)
		leaderelection.RunOrDie(electing, leaderelection.LeaderElectionConfig{
			Lock: p.Lock(), LeaseDuration: 10 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 300 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					l.begin("a", p.FencingToken())
					<-working.Done()
					// Longer than the Lease.
					time.Sleep(11 * time.Second)
					l.end("a")
					stopElecting()
				},
				OnStoppedLeading: func() {},
			},
		})
	}()
	l.untilLed(t, "a")
	b := start(t, l, "b")
	b.untilCandidate(t)
	stop()
	<-released
	object, err := dynamicClient().Resource(leases).Namespace("default").Get(t.Context(), lease, metav1.GetOptions{})
	if err != nil || object.Object["spec"].(map[string]any)["holderIdentity"] == p.Identity() {
		t.Errorf("the Lease is not released: %v, %v", object, err)
	}
	within(t, 60*time.Second, "b leads", func() bool { return l.leader() == "b" })
	l.check(t, 2)
}
