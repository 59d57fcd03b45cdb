package participant_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/participant"
)

// The manager of controller-runtime, as kubebuilder has it in main.go. The lock and the context differ, and the participant is added to the manager.
func ExampleParticipant_Context() {
	run := func() error {
		cfg, err := ctrl.GetConfig()
		if err != nil {
			return err
		}
		p, err := participant.New(cfg, participant.Options{
			Lease:      "tenant-operator",
			Version:    "1.4.2",
			Logger:     ctrl.Log.WithName("election"),
			Registerer: metrics.Registry,
		})
		if err != nil {
			return err
		}
		mgr, err := ctrl.NewManager(cfg, ctrl.Options{
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
		return mgr.Start(p.Context(ctrl.SetupSignalHandler()))
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An elector of client-go without controller-runtime. Its own context ends only after the work has ended, so that the Lease is
// not released too early.
func ExampleParticipant_Lock() {
	run := func() error {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return err
		}
		p, err := participant.New(cfg, participant.Options{Lease: "tenant-operator", Version: "1.4.2"})
		if err != nil {
			return err
		}
		signals, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		working := p.Context(signals)
		electing, stopElecting := context.WithCancel(context.Background())
		defer stopElecting()
		started := make(chan context.Context, 1)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:            p.Lock(),
			LeaseDuration:   15 * time.Second,
			RenewDeadline:   10 * time.Second,
			RetryPeriod:     2 * time.Second,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(leading context.Context) { started <- leading },
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return err
		}
		over := make(chan struct{})
		go func() {
			elector.Run(electing)
			close(over)
		}()
		select {
		case leading := <-started:
			work(working, leading, p)
		case <-working.Done():
		}
		stopElecting()
		<-over
		if cause := context.Cause(working); errors.Is(cause, participant.ErrLost) {
			return cause
		}
		return nil
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work returns when it has to end.
func work(working, leading context.Context, p *participant.Participant) {
	for {
		// A pause of the process may have lasted for long: ask right before an action.
		if p.Remaining() > time.Second {
			fmt.Println("works under the fencing token", p.FencingToken())
		}
		select {
		case <-working.Done():
			return
		case <-leading.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}
