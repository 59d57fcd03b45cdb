// Command candidate is one program that takes part in a coordinated election: client-go's LeaseCandidate and
// LeaderElector, in a process that can be killed and frozen. It says on standard output, as JSON lines, what it believes
// and since when, by the machine's monotonic clock.
//
// With -plain it is an elector that knows nothing of coordination: it has no LeaseCandidate, and the identity that
// controller-runtime makes.
//
// It ends with 1 when it has lost its Lease, as Kubernetes's own programs do. On SIGTERM it stops leading, releases the
// Lease if it still holds it, and ends with 0.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

type options struct {
	kubeconfig, namespace, lease, name  string
	binaryVersion, emulationVersion     string
	leaseDuration, renewDeadline, retry time.Duration
	plain                               bool
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flag.StringVar(&o.namespace, "namespace", "default", "of the Lease and the LeaseCandidate")
	flag.StringVar(&o.lease, "lease", "", "the Lease to lead")
	flag.StringVar(&o.name, "name", "", "of the LeaseCandidate; the identity that holds the Lease")
	flag.StringVar(&o.binaryVersion, "binary-version", "", "without it there is no LeaseCandidate to be valid")
	flag.StringVar(&o.emulationVersion, "emulation-version", "", "what elections compare first")
	flag.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "how long the Lease lasts")
	flag.DurationVar(&o.renewDeadline, "renew-deadline", 10*time.Second, "when to give up renewing")
	flag.DurationVar(&o.retry, "retry-period", 2*time.Second, "between two looks at the Lease")
	flag.BoolVar(&o.plain, "plain", false, "elect without a coordinator, as <hostname>_<uuid>")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)

	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "candidate: %v\n", err)
		os.Exit(1)
	}
}

func run(o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	if o.plain {
		hostname, err := os.Hostname()
		if err != nil {
			return err
		}
		o.name = hostname + "_" + string(uuid.NewUUID())
	}
	config.UserAgent = o.name
	// The watch of the LeaseCandidate outlives any timeout of requests: it needs a client of its own, as in Kubernetes.
	candidateClient, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	r := &recorder{out: json.NewEncoder(os.Stdout), lease: o.lease}
	config.Timeout = o.renewDeadline / 2
	config.Wrap(r.wrap)
	leaseClient, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !o.plain {
		candidate, _, err := leaderelection.NewCandidate(candidateClient, o.namespace, o.name, o.lease, o.binaryVersion,
			o.emulationVersion, coordinationv1.OldestEmulationVersion)
		if err != nil {
			return err
		}
		go candidate.Run(ctx)
	}

	electing, stopElecting := context.WithCancel(ctx)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		// What the Lease guards must have ended before the Lease is let go.
		r.follows()
		stopElecting()
	}()
	elector, err := leaderelection.NewLeaderElector(electorConfig(o, leaseClient, r))
	if err != nil {
		return err
	}
	r.record(event{Event: "started"})
	elector.Run(electing)
	r.follows()
	if electing.Err() == nil {
		return fmt.Errorf("lost the Lease")
	}
	return release(o, leaseClient)
}

func electorConfig(o options, client kubernetes.Interface, r *recorder) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.namespace, Name: o.lease},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.name},
		},
		LeaseDuration: o.leaseDuration,
		RenewDeadline: o.renewDeadline,
		RetryPeriod:   o.retry,
		Coordinated:   !o.plain,
		Name:          o.lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { r.leads() },
			OnStoppedLeading: r.follows,
		},
	}
}

// release empties the Lease if it is still held. client-go's own release would empty it whoever holds it by then, when it
// comes late: a second leader that no coordinator could prevent.
func release(o options, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.renewDeadline)
	defer cancel()
	leases := client.CoordinationV1().Leases(o.namespace)
	lease, err := leases.Get(ctx, o.lease, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != o.name {
		return nil
	}
	nobody, second, now := "", int32(1), metav1.NowMicro()
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       &nobody,
		LeaseDurationSeconds: &second,
		AcquireTime:          &now,
		RenewTime:            &now,
		LeaseTransitions:     lease.Spec.LeaseTransitions,
	}
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}
