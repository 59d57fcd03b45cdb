// Command tenant-operator is one of many copies, of which one reconciles; the others stand by. It has the shape that kubebuilder
// gives an operator, and takes part in coordinated election by clients/go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/participant"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var setupLog = ctrl.Log.WithName("setup")

var (
	metricsAddress = flag.String("metrics-bind-address", "0", "where to serve metrics; 0 for nowhere")
	probeAddress   = flag.String("health-probe-bind-address", ":8081", "where to serve probes")
)

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		setupLog.Error(err, "Failed to run")
		os.Exit(1)
	}
}

func run() error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	p, err := participant.New(cfg, participant.Options{
		Lease:      "tenant-operator",
		Version:    os.Getenv("VERSION"),
		Strategy:   "coordinated-leader-election.dev/NewestVersion",
		Logger:     ctrl.Log.WithName("election"),
		Registerer: metrics.Registry,
	})
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Metrics:                             server.Options{BindAddress: *metricsAddress},
		HealthProbeBindAddress:              *probeAddress,
		LeaderElection:                      true,
		LeaderElectionID:                    "tenant-operator",
		LeaderElectionReleaseOnCancel:       true,
		LeaderElectionResourceLockInterface: p.Lock(),
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(p); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("participant", p.Ready); err != nil {
		return err
	}
	// The place of the controllers: the manager runs them while this copy leads, and only then.
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return reconcile(ctx, p) })); err != nil {
		return err
	}
	return mgr.Start(p.Context(ctrl.SetupSignalHandler()))
}

// reconcile works until its term is over.
func reconcile(ctx context.Context, p *participant.Participant) error {
	setupLog.Info(fmt.Sprintf("leads, with the fencing token %d", p.FencingToken()))
	for ctx.Err() == nil {
		if err := work(p); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// work writes a line into a ledger that all copies share.
func work(p *participant.Participant) error {
	ledger := os.Getenv("LEDGER")
	text, err := os.ReadFile(ledger)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last, token := int64(0), p.FencingToken()
	fmt.Sscan(lines[len(lines)-1], &last)
	// The ledger refuses a former leader. A database would compare in the same statement as it writes.
	if last > token {
		return fmt.Errorf("leader %d has written after leader %d", last, token)
	}
	file, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	// Right before it acts, a leader looks at the time: it may have been paused.
	if p.Remaining() < time.Second {
		return nil
	}
	_, err = fmt.Fprintf(file, "%d %s %s\n", token, os.Getenv("POD_NAME"), time.Now().UTC().Format(time.RFC3339))
	return err
}
