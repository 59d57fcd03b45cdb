// Command tenant-operator is one of many copies, of which one reconciles; the others stand by. Its elector is client-go's,
// and a sidecar publishes the LeaseCandidate for it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	leaseName     = "tenant-operator"
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

var (
	namespace = os.Getenv("POD_NAMESPACE")
	// The sidecar's --identity is the same.
	identity = os.Getenv("POD_NAME")
	ledger   = os.Getenv("LEDGER")
)

func main() {
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(stopping); err != nil {
		log.Fatal(err)
	}
}

func run(stopping context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	config.Timeout = renewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	electing, stopElecting := context.WithCancel(stopping)
	defer stopElecting()
	terms := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: leaseDuration,
		RenewDeadline: renewDeadline,
		RetryPeriod:   retryPeriod,
		// It waits until a coordinator gives it the Lease.
		Coordinated: true,
		Name:        leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { terms <- leading },
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
	case leading := <-terms:
		err = reconcile(leading, lock, elector)
	case <-over:
	}
	stopElecting()
	<-over
	// Only now has all ended that it did as a leader. client-go's ReleaseOnCancel would not have waited for that.
	if err := release(client); err != nil {
		return err
	}
	if stopping.Err() == nil {
		return fmt.Errorf("leads no longer: %v", err)
	}
	return nil
}

// reconcile works until its term is over.
func reconcile(leading context.Context, lock resourcelock.Interface, elector *leaderelection.LeaderElector) error {
	record, _, err := lock.Get(leading)
	if err != nil {
		return err
	}
	if record.HolderIdentity != identity {
		return fmt.Errorf("%s leads", record.HolderIdentity)
	}
	token := record.LeaderTransitions
	log.Printf("leads, with the fencing token %d", token)
	for leading.Err() == nil {
		if err := work(elector, token); err != nil {
			return err
		}
		select {
		case <-leading.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return leading.Err()
}

// work writes a line into a ledger that all copies share.
func work(elector *leaderelection.LeaderElector, token int) error {
	text, err := os.ReadFile(ledger)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := 0
	fmt.Sscan(lines[len(lines)-1], &last)
	// The ledger refuses a leader of before. A database would compare in the same statement as it writes.
	if last > token {
		return fmt.Errorf("leader %d has written after leader %d", last, token)
	}
	file, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	// Right before it acts, a leader looks at the time: it may have been paused. IsLeader alone does not tell.
	if err := elector.Check(renewDeadline - leaseDuration); err != nil || !elector.IsLeader() {
		return nil
	}
	_, err = fmt.Fprintf(file, "%d %s %s\n", token, identity, time.Now().UTC().Format(time.RFC3339))
	return err
}

// release empties the Lease if it is still held, so that nobody has to wait for its expiry.
func release(client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(context.Background(), renewDeadline)
	defer cancel()
	leases := client.CoordinationV1().Leases(namespace)
	lease, err := leases.Get(ctx, leaseName, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != identity {
		return err
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
