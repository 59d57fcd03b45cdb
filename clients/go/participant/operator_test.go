package participant_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/internal/testcluster"
	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/participant"
)

const (
	leaseDuration = 5 * time.Second
	// How long a hand-over may take at most, on a busy machine, if nothing has to expire.
	soon = 30 * time.Second
)

// deployment is the copies of an operator, each a process. A copy that ends by itself is started again, as by a kubelet.
type deployment struct {
	t       *testing.T
	cluster *testcluster.Cluster
	lease   string
	ledger  string

	mu       sync.Mutex
	restarts int
	// Of these, those with an error: a copy that makes way for a better one ends without.
	failures int

	// What lines() has read of the ledger, and its size in bytes. The ledger grows by 200 lines a second: read whole each time, it
	// takes longer to parse than its last line is fresh.
	read     []line
	readSize int64
}

// line is what a leader writes into the ledger.
type line struct {
	// -1 of an operator without this module.
	token int64
	name  string
	pid   int
	// In nanoseconds since the Unix epoch.
	at int64
}

func deploy(t *testing.T, cluster *testcluster.Cluster) *deployment {
	t.Helper()
	d := &deployment{t: t, cluster: cluster, lease: leaseOf(t), ledger: filepath.Join(t.TempDir(), "ledger")}
	t.Cleanup(d.check)
	return d
}

func (d *deployment) lines() []line {
	file, err := os.Open(d.ledger)
	if err != nil {
		return nil
	}
	defer file.Close()
	if _, err := file.Seek(d.readSize, io.SeekStart); err != nil {
		d.t.Errorf("cannot read the ledger: %v", err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		d.t.Errorf("cannot read the ledger: %v", err)
	}
	for text := range strings.Lines(string(content)) {
		// A write may become visible in two parts.
		if !strings.HasSuffix(text, "\n") {
			break
		}
		var l line
		if _, err := fmt.Sscan(text, &l.token, &l.name, &l.pid, &l.at); err != nil {
			d.t.Errorf("the ledger has the line %q: %v", text, err)
		}
		d.read = append(d.read, l)
		d.readSize += int64(len(text))
	}
	return d.read
}

// terms returns the first line of each term.
func (d *deployment) terms() []line {
	var terms []line
	for _, l := range d.lines() {
		if len(terms) == 0 || terms[len(terms)-1].pid != l.pid {
			terms = append(terms, l)
		}
	}
	return terms
}

// check fails if two copies have led at once: a process writes after another has begun to, or a fencing token does not grow.
func (d *deployment) check() {
	former := map[int]bool{}
	greatest := int64(-1)
	for _, term := range d.terms() {
		if former[term.pid] {
			d.t.Errorf("%s has written after another leader", term.name)
		}
		former[term.pid] = true
		if term.token >= 0 && term.token <= greatest {
			d.t.Errorf("%s has led under %d after %d", term.name, term.token, greatest)
		}
		greatest = max(greatest, term.token)
	}
}

func (d *deployment) leader() string {
	lines := d.lines()
	if len(lines) == 0 || time.Since(time.Unix(0, lines[len(lines)-1].at)) > 3*time.Second {
		return ""
	}
	return lines[len(lines)-1].name
}

func (d *deployment) untilLedBy(names ...string) string {
	d.t.Helper()
	within(d.t, 2*soon, strings.Join(names, " or ")+" leads", func() bool {
		for _, name := range names {
			if d.leader() == name {
				return true
			}
		}
		return false
	})
	return d.leader()
}

func (d *deployment) restarted() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.restarts
}

func (d *deployment) failed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failures
}

// replica is a copy of the operator.
type replica struct {
	name    string
	metrics string
	ended   chan struct{}

	mu         sync.Mutex
	process    *os.Process
	isStopping bool
}

// start returns when the copy is ready: as an operator with this module, when its LeaseCandidate is published.
func (d *deployment) start(name string, arguments ...string) *replica {
	d.t.Helper()
	r := &replica{name: d.lease + "-" + name, metrics: freeAddress(), ended: make(chan struct{})}
	arguments = append([]string{
		"-kubeconfig", d.cluster.Kubeconfig, "-name", r.name, "-lease", d.lease, "-ledger", d.ledger,
		"-strategy", "coordinated-leader-election.dev/NewestVersion", "-metrics-bind-address", r.metrics,
		"-lease-duration", leaseDuration.String(), "-renew-deadline", "4s", "-retry-period", "300ms",
	}, arguments...)
	output, err := os.Create(filepath.Join(d.t.TempDir(), name))
	if err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		defer output.Close()
		for {
			err, isByItself := r.runOnce(output, arguments)
			if !isByItself {
				break
			}
			d.mu.Lock()
			d.restarts++
			if err != nil {
				d.failures++
			}
			d.mu.Unlock()
			time.Sleep(100 * time.Millisecond)
		}
	}()
	d.t.Cleanup(func() {
		r.stop(syscall.SIGKILL)
		if text, err := os.ReadFile(output.Name()); err == nil && d.t.Failed() {
			d.t.Logf("%s says:\n%s", r.name, text)
		}
	})
	within(d.t, 2*soon, name+" is ready", func() bool {
		metrics := r.scrape()
		published := "leader_election_participant_candidate_published{" + d.labels() + "} 1"
		return metrics != "" && (strings.Contains(metrics, published) || strings.Contains(strings.Join(arguments, " "), "-plain"))
	})
	return r
}

const portsOfBlock = 200

var (
	// The first port of the block stays open until this process ends, so that no other test process uses the block.
	firstOfBlock net.Listener
	blockOfPorts = sync.OnceValue(func() int {
		for first := 20_000; ; first += portsOfBlock {
			var err error
			if firstOfBlock, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first)); err == nil {
				return first
			}
		}
	})
	portsUsed atomic.Int32
)

// freeAddress returns an address to listen at, another one each time. No outgoing connection gets its port meanwhile: those have
// higher ones.
func freeAddress() string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", blockOfPorts()+int(portsUsed.Add(1))%portsOfBlock)
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
}

// runOnce returns how the copy has ended, and whether it has ended by itself.
func (r *replica) runOnce(output *os.File, arguments []string) (error, bool) {
	command := exec.Command(participant.OperatorProgram(), arguments...)
	command.Stdout, command.Stderr = output, output
	r.mu.Lock()
	if r.isStopping {
		r.mu.Unlock()
		return nil, false
	}
	err := command.Start()
	r.process = command.Process
	r.mu.Unlock()
	if err != nil {
		fmt.Fprintln(output, err)
		return err, false
	}
	err = command.Wait()
	fmt.Fprintln(output, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	return err, !r.isStopping
}

// stop ends the copy, and returns when it has ended.
func (r *replica) stop(signal syscall.Signal) {
	r.mu.Lock()
	r.isStopping = true
	if r.process != nil {
		_ = r.process.Signal(signal)
	}
	r.mu.Unlock()
	<-r.ended
}

func (r *replica) signal(signal syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.process.Signal(signal)
}

// scrape returns the metrics of the manager, or "".
func (r *replica) scrape() string {
	answer, err := http.Get("http://" + r.metrics + "/metrics")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

func (d *deployment) labels() string {
	return fmt.Sprintf(`name=%q,namespace="default"`, d.lease)
}

// onEachServer runs a test with LeaseCandidates of Kubernetes, and with this project's where the server has none of its own.
func onEachServer(t *testing.T, test func(*testing.T, *deployment)) {
	t.Parallel()
	for server, cluster := range participant.Clusters() {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			test(t, deploy(t, cluster))
		})
	}
}

func TestRollingUpdateMovesTheLeadOnce(t *testing.T) {
	onEachServer(t, func(t *testing.T, d *deployment) {
		old := []*replica{d.start("a", "-version", "1.4.2")}
		d.untilLedBy(old[0].name)
		old = append(old, d.start("b", "-version", "1.4.2"))
		var names []string
		for index, each := range old {
			next := d.start([]string{"c", "d"}[index], "-version", "1.5.0")
			names = append(names, next.name)
			each.stop(syscall.SIGTERM)
		}
		d.untilLedBy(names...)
		// A copy may have made way for a newer one before it was stopped.
		if terms := d.terms(); len(terms) != 2 || d.failed() != 0 {
			t.Errorf("%d failures, and the terms are %v", d.failed(), terms)
		}
	})
}

func TestKilledLeaderIsReplacedWhenItsLeaseHasExpired(t *testing.T) {
	onEachServer(t, func(t *testing.T, d *deployment) {
		a := d.start("a")
		d.untilLedBy(a.name)
		b := d.start("b")
		a.stop(syscall.SIGKILL)
		killedAt := time.Now()
		d.untilLedBy(b.name)
		t.Logf("b leads %s after a was killed", time.Unix(0, d.terms()[1].at).Sub(killedAt))
	})
}

func TestPausedLeaderWritesNothingWhenItGoesOn(t *testing.T) {
	onEachServer(t, func(t *testing.T, d *deployment) {
		a := d.start("a")
		d.untilLedBy(a.name)
		b := d.start("b")
		a.signal(participant.PauseSignal)
		d.untilLedBy(b.name)
		a.signal(syscall.SIGCONT)
		within(t, soon, "a ends, and is started again", func() bool { return d.restarted() == 1 })
		time.Sleep(leaseDuration)
		if terms := d.terms(); len(terms) != 2 || d.leader() != b.name {
			t.Errorf("the terms are %v, and %q leads", terms, d.leader())
		}
	})
}

func TestTransferMovesTheLead(t *testing.T) {
	onEachServer(t, func(t *testing.T, d *deployment) {
		a := d.start("a")
		d.untilLedBy(a.name)
		b := d.start("b")
		transfer := d.cluster.Command(t.Context(), "transfer", d.lease, "--to", b.name, "--namespace", "default")
		if output, err := transfer.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		d.untilLedBy(b.name)
		// The manager of a has returned without an error, and its container is started again as a standby.
		within(t, soon, "a is a standby", func() bool {
			metrics := a.scrape()
			return strings.Contains(metrics, "leader_election_participant_fencing_token{"+d.labels()+"} -1") &&
				strings.Contains(metrics, "leader_election_participant_candidate_published{"+d.labels()+"} 1")
		})
		token := d.terms()[1].token
		for _, metric := range []string{
			fmt.Sprintf("leader_election_participant_fencing_token{%s} %d", d.labels(), token),
			fmt.Sprintf("leader_election_master_status{name=%q} 1", d.lease),
		} {
			if metrics := b.scrape(); !strings.Contains(metrics, metric) {
				t.Errorf("the metrics of the leader are without %s:\n%s", metric, metrics)
			}
		}
		// Until the next renewal, it may also be less.
		within(t, soon, "the metrics of the leader say that more than 4 s remain", func() bool {
			return strings.Contains(b.scrape(), "leader_election_participant_remaining_seconds{"+d.labels()+"} 4")
		})
	})
}

// Copies of an operator as it was before know nothing of this module. They use the same Lease.
func TestMigrationFromAnOrdinaryManagerAndBack(t *testing.T) {
	onEachServer(t, func(t *testing.T, d *deployment) {
		former := []*replica{d.start("a", "-plain")}
		d.untilLedBy(former[0].name)
		former = append(former, d.start("b", "-plain"))
		c := d.start("c")
		// With the feature gate, the former leader leads on. Without it, the coordinator fences the leader after 10 s, and grants the
		// Lease to c when the fence has expired.
		time.Sleep(16 * time.Second)
		fences, leader := 0, former[0]
		if d.cluster == participant.Clusters()["custom"] {
			fences, leader = 1, c
		}
		d.untilLedBy(leader.name)
		if terms := d.terms(); len(terms) != 1+fences || d.restarted() != fences {
			t.Errorf("copies of both kinds: %d restarts, and the terms are %v", d.restarted(), terms)
		}
		former[0].stop(syscall.SIGTERM)
		e := d.start("e")
		former[1].stop(syscall.SIGTERM)
		d.untilLedBy(c.name, e.name)
		termsBefore := len(d.terms())
		time.Sleep(leaseDuration)
		back := []string{d.start("f", "-plain").name, d.start("g", "-plain").name}
		time.Sleep(leaseDuration)
		if len(d.terms()) != termsBefore {
			t.Errorf("a former copy has taken the Lease of a leader: the terms are %v", d.terms())
		}
		c.stop(syscall.SIGTERM)
		e.stop(syscall.SIGTERM)
		d.untilLedBy(back...)
		if terms := d.terms(); len(terms) > 5 || d.restarted() != fences {
			t.Errorf("%d restarts, and the terms are %v", d.restarted(), terms)
		}
	})
}

// One after the other, on a server of their own: the API server does not answer, and then there is no coordinator.
func TestServerAndCoordinatorAway(t *testing.T) {
	t.Parallel()
	cluster, err := testcluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	coordinator, err := cluster.StartCoordinator()
	if err != nil {
		t.Fatal(err)
	}
	d := deploy(t, cluster)
	a, b := d.start("a"), d.start("b")
	former := d.untilLedBy(a.name, b.name)
	awayAt := time.Now()
	_ = cluster.Server.Process.Signal(syscall.SIGSTOP)
	time.Sleep(leaseDuration + 2*time.Second)
	written := d.lines()
	last := time.Unix(0, written[len(written)-1].at)
	_ = cluster.Server.Process.Signal(syscall.SIGCONT)
	if late := last.Sub(awayAt); late > leaseDuration {
		t.Errorf("%s has written %s after the API server was gone", former, late)
	}
	within(t, 2*soon, "a copy leads again", func() bool { return len(d.terms()) == 2 && d.leader() != "" })

	_ = coordinator.Process.Signal(syscall.SIGTERM)
	time.Sleep(2 * leaseDuration)
	if terms := d.terms(); len(terms) != 2 {
		t.Errorf("without a coordinator: the terms are %v", terms)
	}
	leader, standby := a, b
	if d.leader() == b.name {
		leader, standby = b, a
	}
	leader.stop(syscall.SIGTERM)
	time.Sleep(2 * leaseDuration)
	if d.leader() != "" {
		t.Errorf("%s has taken a Lease that no coordinator has granted", d.leader())
	}
	if _, err := cluster.StartCoordinator(); err != nil {
		t.Fatal(err)
	}
	d.untilLedBy(standby.name)
}
