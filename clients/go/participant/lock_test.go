package participant

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/internal/testcluster"
)

var (
	// Without a coordinator: tests write Leases as they like.
	cluster *testcluster.Cluster
	// With one. gateless serves only this project's LeaseCandidates, like a server without the feature gate.
	coordinated, gateless *testcluster.Cluster
	// The path of the operator.
	operator string
)

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	folder, err := os.MkdirTemp("", "participant-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	operator = filepath.Join(folder, "operator")
	build := exec.Command("go", "build", "-o", operator, "../internal/operator")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, output)
		return 1
	}
	for _, each := range []struct {
		cluster       **testcluster.Cluster
		isCoordinated bool
		arguments     []string
	}{
		{&cluster, false, nil},
		{&coordinated, true, nil},
		{&gateless, true, []string{"--leasecandidate-versions", "coordinated-leader-election.dev/v1alpha1"}},
	} {
		started, err := testcluster.Start(each.arguments...)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer started.Stop()
		if each.isCoordinated {
			if _, err := started.StartCoordinator(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		*each.cluster = started
	}
	return m.Run()
}

const (
	self  = "self"
	other = "other"
	fence = "fence.coordinated-leader-election.dev"
)

// watcher follows the Lease, and publishes no LeaseCandidate.
func watcher(t *testing.T, lease string, change ...func(*rest.Config)) *Participant {
	t.Helper()
	cfg := rest.CopyConfig(cluster.Config)
	for _, each := range change {
		each(cfg)
	}
	p, err := New(cfg, Options{
		Lease: lease, Namespace: "default", Version: "1.0.0", Identity: self,
		OnOverrun: func() {},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, cancel := context.WithCancelCause(t.Context())
	p.cancel = cancel
	t.Cleanup(p.stopBackground)
	synced := p.changed
	go repeat(p.background, p.settings.Logger, "Cannot watch the Lease", p.followLease)
	<-synced
	return p
}

func client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	return kubernetes.NewForConfigOrDie(rest.CopyConfig(cluster.Config))
}

// nameOf returns a name of a Lease for the test.
func nameOf(t *testing.T) string {
	name := strings.ToLower(strings.NewReplacer("/", ".", "_", "-", ",", "", "'", "").Replace(t.Name()))
	return strings.Trim(name[max(0, len(name)-100):], "-.")
}

func create(t *testing.T, lease *coordinationv1.Lease) *coordinationv1.Lease {
	t.Helper()
	created, err := client(t).CoordinationV1().Leases("default").Create(t.Context(), lease, metav1.CreateOptions{
		FieldManager: "coordinated-leader-election",
	})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func get(t *testing.T, name string) *coordinationv1.Lease {
	t.Helper()
	lease, err := client(t).CoordinationV1().Leases("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func patch(t *testing.T, name string, change map[string]any) {
	t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	leases := client(t).CoordinationV1().Leases("default")
	if _, err := leases.Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "test"}); err != nil {
		t.Fatal(err)
	}
}

// granted returns a Lease as the coordinator grants it.
func granted(name, holder string) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{"note": "kept"}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &holder,
			LeaseDurationSeconds: ptr.To[int32](10),
			AcquireTime:          &now,
			RenewTime:            &now,
			LeaseTransitions:     ptr.To[int32](7),
			Strategy:             ptr.To(coordinationv1.OldestEmulationVersion),
		},
	}
}

// eventually waits until a condition is met.
func eventually(t *testing.T, what string, isMet func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if isMet() {
			return
		}
	}
	t.Fatalf("not within 60 s: %s", what)
}

func record(seconds int) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: self, LeaseDurationSeconds: seconds}
}

// In no state of the Lease does an elector of client-go take it, unless it was granted.
func TestElectorTakesNothing(t *testing.T) {
	t.Parallel()
	type change func(*coordinationv1.Lease)
	past := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	states := map[string]change{
		"missing": nil,
		"without a holder": func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity = nil
		},
		"emptied": func(l *coordinationv1.Lease) {
			*l.Spec.HolderIdentity = ""
		},
		"released": func(l *coordinationv1.Lease) {
			*l.Spec.HolderIdentity = ""
			*l.Spec.LeaseDurationSeconds = 1
		},
		"without a spec": func(l *coordinationv1.Lease) {
			l.Spec = coordinationv1.LeaseSpec{}
		},
		"held by another": func(l *coordinationv1.Lease) {
			*l.Spec.HolderIdentity = other
		},
		"held by another, expired long ago": func(l *coordinationv1.Lease) {
			*l.Spec.HolderIdentity = other
			*l.Spec.LeaseDurationSeconds = 1
			l.Spec.RenewTime = &past
		},
		"held by another, for whom it is preferred to us": func(l *coordinationv1.Lease) {
			*l.Spec.HolderIdentity = other
			l.Spec.PreferredHolder = ptr.To(self)
		},
		"fenced": func(l *coordinationv1.Lease) {
			*l.Spec.HolderIdentity = fence
		},
	}
	electors := map[string]bool{"plain": false, "coordinated": true}
	for state, change := range states {
		for kind, isCoordinated := range electors {
			t.Run(state+" "+kind, func(t *testing.T) {
				t.Parallel()
				name := strings.ReplaceAll(nameOf(t), ".", "-")
				var before *coordinationv1.Lease
				if change != nil {
					lease := granted(name, self)
					change(lease)
					before = create(t, lease)
				}
				p := watcher(t, name)
				run(t, p, isCoordinated, 2500*time.Millisecond)
				if p.FencingToken() != -1 || p.Remaining() != 0 {
					t.Errorf("leads with the token %d for %s", p.FencingToken(), p.Remaining())
				}
				if before != nil {
					if after := get(t, name); after.ResourceVersion != before.ResourceVersion {
						t.Errorf("the Lease was written: %+v", after.Spec)
					}
				} else if leases, _ := client(t).CoordinationV1().Leases("default").List(t.Context(), metav1.ListOptions{
					FieldSelector: "metadata.name=" + name,
				}); len(leases.Items) > 0 {
					t.Error("the Lease was created")
				}
			})
		}
	}
}

// run has an elector with short durations try for a while, by direct calls of the lock, too.
func run(t *testing.T, p *Participant, isCoordinated bool, duration time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: impatient{p.Lock()}, LeaseDuration: time.Second, RenewDeadline: 500 * time.Millisecond,
		RetryPeriod: 50 * time.Millisecond, Coordinated: isCoordinated, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { t.Error("leads") },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	elector.Run(ctx)
	for _, attempt := range []resourcelock.LeaderElectionRecord{record(15), {}, {HolderIdentity: other}} {
		if err := p.Lock().Update(t.Context(), attempt); err == nil {
			t.Errorf("Update with the holder %q is not refused", attempt.HolderIdentity)
		}
	}
	if err := p.Lock().Create(t.Context(), record(15)); err == nil {
		t.Error("Create is not refused")
	}
}

// impatient has Get return soon, so that the elector decides often on what it is shown.
type impatient struct {
	resourcelock.Interface
}

func (i impatient) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	return i.Interface.Get(ctx)
}

func TestExpiredGrantIsNotTakenUp(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	lease := granted(name, self)
	*lease.Spec.LeaseDurationSeconds = 1
	before := create(t, lease)
	p := watcher(t, name)
	time.Sleep(1100 * time.Millisecond)
	run(t, p, false, time.Second)
	if after := get(t, name); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Lease was written: %+v", after.Spec)
	}
}

func TestGrantIsTakenUpAtOnceAndNothingIsLost(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	p := watcher(t, name)
	seenAt := make(chan time.Time)
	go func() {
		shown, _, err := p.Lock().Get(t.Context())
		if err != nil || shown.HolderIdentity != self {
			t.Errorf("Get shows %+v, %v", shown, err)
		}
		seenAt <- time.Now()
	}()
	time.Sleep(100 * time.Millisecond)
	grantedAt := time.Now()
	before := create(t, granted(name, self))
	if duration := (<-seenAt).Sub(grantedAt); duration > 10*time.Second {
		t.Errorf("a grant is seen after %s", duration)
	}
	renewedAt := time.Now()
	if err := p.Lock().Update(t.Context(), record(15)); err != nil {
		t.Fatal(err)
	}
	after := get(t, name)
	if after.Annotations["note"] != "kept" || *after.Spec.Strategy != *before.Spec.Strategy ||
		!after.Spec.AcquireTime.Equal(before.Spec.AcquireTime) {
		t.Errorf("fields are lost: %+v", after)
	}
	if *after.Spec.LeaseDurationSeconds != 15 || !after.Spec.RenewTime.After(before.Spec.RenewTime.Time) {
		t.Errorf("not renewed: %+v", after.Spec)
	}
	// The grant was seen to raise the number, so that it is this term's.
	if p.FencingToken() != 7 || *after.Spec.LeaseTransitions != 7 {
		t.Errorf("the token is %d, and the Lease has %d", p.FencingToken(), *after.Spec.LeaseTransitions)
	}
	isMarked := false
	for _, entry := range after.ManagedFields {
		isMarked = isMarked || entry.Manager == fieldManager && strings.Contains(entry.FieldsV1.GetRawString(), "f:renewTime")
	}
	if !isMarked {
		t.Errorf("the renewal is not marked as a participant's: %+v", after.ManagedFields)
	}
	checkRemaining(t, p, renewedAt)
}

// checkRemaining fails if less or more time remains than a renewal for 15 s gives that was begun at this time.
func checkRemaining(t *testing.T, p *Participant, renewedAt time.Time) {
	t.Helper()
	const most = 13500 * time.Millisecond
	if left := p.Remaining(); left > most || left < most-time.Since(renewedAt) {
		t.Errorf("remaining: %s", left)
	}
}

func TestTermHasANumberOfItsOwn(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	create(t, granted(name, self))
	// The grant is from before: a former process may have led under its number.
	p := watcher(t, name)
	if err := p.Lock().Update(t.Context(), record(15)); err != nil {
		t.Fatal(err)
	}
	if lease := get(t, name); p.FencingToken() != 8 || *lease.Spec.LeaseTransitions != 8 {
		t.Errorf("the token is %d, and the Lease has %d", p.FencingToken(), *lease.Spec.LeaseTransitions)
	}
}

// leader has taken up a grant.
func leader(t *testing.T, options ...func(*Participant)) (*Participant, string) {
	t.Helper()
	name := nameOf(t)
	create(t, granted(name, self))
	p := watcher(t, name)
	for _, option := range options {
		option(p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Lock().Update(ctx, record(15)); err != nil {
		t.Fatal(err)
	}
	return p, name
}

func (p *Participant) endOfContext() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

func TestLeaderMakesWay(t *testing.T) {
	changes := map[string]map[string]any{
		"for the field": {"spec": map[string]any{"preferredHolder": other}},
		"for the note":  {"metadata": map[string]any{"annotations": map[string]any{preferredHolderNote: other}}},
	}
	for by, change := range changes {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			p, name := leader(t)
			patch(t, name, change)
			eventually(t, "the context ends", func() bool { return p.endOfContext() == ErrYielded })
			before := get(t, name)
			if err := p.Lock().Update(t.Context(), record(15)); err == nil || !strings.Contains(err.Error(), other) {
				t.Errorf("a renewal says %v", err)
			}
			if get(t, name).ResourceVersion != before.ResourceVersion {
				t.Error("the Lease was renewed")
			}
			// The elector still finds itself the holder, so that it releases.
			if shown, _, err := p.Lock().Get(t.Context()); err != nil || shown.HolderIdentity != self {
				t.Errorf("Get shows %+v, %v", shown, err)
			}
			if p.Remaining() == 0 {
				t.Error("the time is over at once")
			}
			if err := p.Lock().Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
				t.Fatal(err)
			}
			after := get(t, name)
			if *after.Spec.HolderIdentity != "" || *after.Spec.LeaseDurationSeconds != 1 || *after.Spec.LeaseTransitions != 8 ||
				after.Annotations["note"] != "kept" || after.Spec.Strategy == nil {
				t.Errorf("released as %+v", after)
			}
			if p.Remaining() != 0 {
				t.Error("time remains after the release")
			}
		})
	}
}

func TestGrantIsHandedBackForThePreferred(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	lease := granted(name, self)
	lease.Spec.PreferredHolder = ptr.To(other)
	create(t, lease)
	p := watcher(t, name)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hasEnded := make(chan struct{})
	go func() {
		defer close(hasEnded)
		if shown, _, err := p.Lock().Get(ctx); err != nil || shown.HolderIdentity != unheld {
			t.Errorf("Get shows %+v, %v", shown, err)
		}
	}()
	eventually(t, "the Lease is released", func() bool { return *get(t, name).Spec.HolderIdentity == "" })
	cancel()
	<-hasEnded
	if after := get(t, name); *after.Spec.HolderIdentity != "" || *after.Spec.PreferredHolder != other {
		t.Errorf("the Lease is %+v", after.Spec)
	}
}

func TestLeaseOfAnotherIsLost(t *testing.T) {
	changes := map[string]map[string]any{
		"emptied":                  {"holderIdentity": ""},
		"stolen":                   {"holderIdentity": other},
		"fenced":                   {"holderIdentity": fence, "leaseTransitions": 9},
		"renewed by a second self": {"leaseTransitions": 9},
	}
	for how, spec := range changes {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p, name := leader(t)
			patch(t, name, map[string]any{"spec": spec})
			eventually(t, "the context ends", func() bool { return p.endOfContext() == ErrLost })
			if p.Remaining() != 0 {
				t.Errorf("remaining: %s", p.Remaining())
			}
			before := get(t, name)
			if err := p.Lock().Update(t.Context(), record(15)); err == nil {
				t.Error("renewed")
			}
			// The work has ended, and there is nothing to release.
			if err := p.Lock().Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
				t.Error(err)
			}
			if get(t, name).ResourceVersion != before.ResourceVersion {
				t.Error("the Lease of another was written")
			}
		})
	}
}

func TestReleaseWaitsForTheWork(t *testing.T) {
	ended := func(p *Participant, since time.Duration) {
		p.mu.Lock()
		p.finish(context.Canceled)
		p.endedAt = p.endedAt.Add(-since)
		p.mu.Unlock()
	}
	stopManager := func(p *Participant) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Start(ctx)
	}
	cases := map[string]struct {
		prepare  func(*Participant)
		isWanted bool
	}{
		"the work was not told to end":                {func(*Participant) {}, false},
		"the work has ended":                          {func(p *Participant) { ended(p, 0) }, true},
		"just within the graceful shutdown timeout":   {func(p *Participant) { ended(p, 29*time.Second) }, true},
		"the graceful shutdown timeout is over":       {func(p *Participant) { ended(p, 30*time.Second) }, false},
		"the manager does not wait for its runnables": {func(p *Participant) { p.settings.GracefulShutdownTimeout = ptr.To[time.Duration](0); ended(p, 0) }, false},
		"the manager waits for ever": {func(p *Participant) {
			p.settings.GracefulShutdownTimeout = ptr.To[time.Duration](-1)
			ended(p, time.Hour)
		}, true},
		"a runnable has failed before": {func(p *Participant) { stopManager(p); ended(p, 0) }, false},
		"a runnable has failed before, and the manager waits for ever": {func(p *Participant) {
			p.settings.GracefulShutdownTimeout = ptr.To[time.Duration](-1)
			stopManager(p)
			ended(p, 0)
		}, true},
		"the manager stops with the parent of the context": {func(p *Participant) {
			parent, cancel := context.WithCancel(context.Background())
			cancel()
			p.parent = parent
			stopManager(p)
			ended(p, 0)
		}, true},
		"the manager stops after the context": {func(p *Participant) { ended(p, 0); stopManager(p) }, true},
		"the elector has given up": {func(p *Participant) {
			ended(p, 0)
			p.mu.Lock()
			p.term.electorLastsUntil = time.Now()
			p.mu.Unlock()
		}, false},
	}
	for when, test := range cases {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			p, name := leader(t)
			test.prepare(p)
			err := p.Lock().Update(t.Context(), resourcelock.LeaderElectionRecord{})
			isReleased := *get(t, name).Spec.HolderIdentity == ""
			if isReleased != test.isWanted || (err == nil) != test.isWanted {
				t.Errorf("released: %v, %v", isReleased, err)
			}
		})
	}
}

func TestRenewalAfterAConflict(t *testing.T) {
	t.Parallel()
	p, name := leader(t)
	var renewedAt time.Time
	for i := range 5 {
		patch(t, name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"count": fmt.Sprint(i)}}})
		renewedAt = time.Now()
		if err := p.Lock().Update(t.Context(), record(15)); err != nil {
			t.Fatal(err)
		}
	}
	checkRemaining(t, p, renewedAt)
	if lease := get(t, name); lease.Annotations["count"] != "4" {
		t.Errorf("the Lease is %+v", lease)
	}
}

// silent is a network in which a write gets no answer.
type silent struct {
	http.RoundTripper
	isOn *atomic.Bool
}

func (s silent) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPatch && s.isOn.Load() {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return s.RoundTripper.RoundTrip(request)
}

func TestRenewalWithoutAnAnswerLeavesTimeForAnother(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	create(t, granted(name, self))
	isSilent := &atomic.Bool{}
	p := watcher(t, name, func(cfg *rest.Config) {
		cfg.Wrap(func(transport http.RoundTripper) http.RoundTripper { return silent{transport, isSilent} })
	})
	// As the elector does in its RenewDeadline. A quarter of it is left for the last renewal, also on a slow machine.
	ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second)
	defer cancel()
	if err := p.Lock().Update(ctx, record(15)); err != nil {
		t.Fatal(err)
	}
	isSilent.Store(true)
	if err := p.Lock().Update(ctx, record(15)); err == nil || ctx.Err() != nil {
		t.Errorf("the renewal says %v, and its time is over: %v", err, ctx.Err())
	}
	isSilent.Store(false)
	if err := p.Lock().Update(ctx, record(15)); err != nil {
		t.Error(err)
	}
}

func TestTermEndsWithTheTimeOfItsLastRenewal(t *testing.T) {
	t.Parallel()
	overrun := make(chan time.Duration, 1)
	name := nameOf(t)
	create(t, granted(name, self))
	p := watcher(t, name)
	startedAt := time.Now()
	p.settings.OnOverrun = func() { overrun <- time.Since(startedAt) }
	if err := p.Lock().Update(t.Context(), record(6)); err != nil {
		t.Fatal(err)
	}
	after := <-overrun
	if after < 5400*time.Millisecond || p.Remaining() != 0 || p.endOfContext() != ErrLost {
		t.Errorf("after %s: remaining %s, %v", after, p.Remaining(), p.endOfContext())
	}
	if err := p.Lock().Update(t.Context(), record(6)); err == nil {
		t.Error("renewed after its time")
	}
}

func TestGrantIsHandedBackWhenTheProcessStops(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	p := watcher(t, name)
	p.mu.Lock()
	p.end = context.Canceled
	p.mu.Unlock()
	create(t, granted(name, self))
	if err := p.Lock().Update(t.Context(), record(15)); err == nil || p.FencingToken() != -1 {
		t.Errorf("a grant was taken up: %v", err)
	}
}
