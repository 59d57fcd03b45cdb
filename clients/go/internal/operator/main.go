// Command operator has the shape that kubebuilder gives an operator. It takes part in coordinated election by this module, or, with
// -plain, in the election of controller-runtime. Tests and the bench of the repository run it. Its controller reconciles
// Namespaces: for each it writes a line into a ledger, with the fencing token, the name, the process, and the time in nanoseconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/participant"
)

var (
	isPlain        = flag.Bool("plain", false, "take part in the election of controller-runtime")
	name           = flag.String("name", "", "the identity, and who the ledger says has written")
	namespace      = flag.String("namespace", "default", "the namespace of the Lease")
	lease          = flag.String("lease", "", "the Lease")
	version        = flag.String("version", "1.0.0", "the version of the operator")
	strategy       = flag.String("strategy", "", "the strategy of the election")
	priority       = flag.Int("priority", 0, "the priority of the operator")
	ledger         = flag.String("ledger", "", "the file that the leader appends to; by default, it writes to stdout")
	leaseDuration  = flag.Duration("lease-duration", 15*time.Second, "LeaseDuration of the manager")
	renewDeadline  = flag.Duration("renew-deadline", 10*time.Second, "RenewDeadline of the manager")
	retryPeriod    = flag.Duration("retry-period", 2*time.Second, "RetryPeriod of the manager")
	interval       = flag.Duration("interval", 20*time.Millisecond, "the time between two lines")
	metricsAddress = flag.String("metrics-bind-address", "0", "where to serve metrics")
	setupLog       = ctrl.Log.WithName("setup")
)

func main() {
	// It registers the flag -kubeconfig.
	flag.Parse()
	ctrl.SetLogger(funcr.NewJSON(func(line string) { fmt.Fprintln(os.Stderr, line) }, funcr.Options{LogTimestamp: true}))
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
	options := ctrl.Options{
		// A standby fills its caches, so that a hand-over does not wait for them.
		Controller:     config.Controller{EnableWarmup: ptr.To(true)},
		Metrics:        server.Options{BindAddress: *metricsAddress},
		LeaderElection: true,
		// Client-go's metrics name the Lease by it, also with a lock.
		LeaderElectionID:              *lease,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 leaseDuration,
		RenewDeadline:                 renewDeadline,
		RetryPeriod:                   retryPeriod,
	}
	ctx := ctrl.SetupSignalHandler()
	r := &reconciler{}
	go r.pauseOnSignal()
	var p *participant.Participant
	if *isPlain {
		// As controller-runtime makes it, but with an identity that is known outside.
		options.LeaderElectionResourceLockInterface, err = resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock,
			*namespace, *lease, resourcelock.ResourceLockConfig{Identity: *name}, cfg, *renewDeadline)
		if err != nil {
			return err
		}
	} else {
		p, err = participant.New(cfg, participant.Options{
			Lease: *lease, Namespace: *namespace, Version: *version, Strategy: *strategy, Priority: int32(*priority),
			Identity: *name, Logger: ctrl.Log.WithName("election"), Registerer: metrics.Registry,
		})
		if err != nil {
			return err
		}
		options.LeaderElectionResourceLockInterface = p.Lock()
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	r.Client, r.participant = mgr.GetClient(), p
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(r); err != nil {
		return err
	}
	if p != nil {
		if err := mgr.Add(p); err != nil {
			return err
		}
		ctx = p.Context(ctx)
	}
	return mgr.Start(ctx)
}

type reconciler struct {
	client.Client
	// Nil in an operator without this module.
	participant *participant.Participant
	// Held from the look at the time to the end of the write.
	writing sync.Mutex
}

// pauseOnSignal pauses the process at SIGUSR1, as SIGSTOP does, but not between the look at the time and the write.
func (r *reconciler) pauseOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	for range signals {
		r.writing.Lock()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		r.writing.Unlock()
	}
}

// Reconcile writes a line, unless the time of the lead is over: the process may have been paused.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if err := r.Get(ctx, request.NamespacedName, &corev1.Namespace{}); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	token := int64(-1)
	if r.participant != nil {
		if token = r.participant.FencingToken(); r.participant.Remaining() == 0 {
			return ctrl.Result{}, nil
		}
	}
	out := os.Stdout
	if *ledger != "" {
		file, err := os.OpenFile(*ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return ctrl.Result{}, err
		}
		defer file.Close()
		out = file
	}
	if _, err := fmt.Fprintf(out, "%d %s %d %d\n", token, *name, os.Getpid(), time.Now().UnixNano()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: *interval}, nil
}
