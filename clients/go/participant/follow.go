package participant

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	requestTimeout = 5 * time.Second
	// The interval between renewals of a LeaseCandidate without a ping, as in client-go: it is renewed when a watch begins.
	watchSeconds = 300
)

// follow calls read, watches the object from the resourceVersion that read returns, and calls see with each state: nil after a
// deletion. It returns nil when the watch has ended. An informer of client-go would wait for up to 30 s after failures.
func follow(ctx context.Context, resource dynamic.ResourceInterface, name string, read func(context.Context) (string, error),
	see func(object *unstructured.Unstructured, version string) error) error {
	version, err := read(ctx)
	if err != nil {
		return err
	}
	watching, err := resource.Watch(ctx, metav1.ListOptions{
		FieldSelector:   "metadata.name=" + name,
		ResourceVersion: version,
		TimeoutSeconds:  ptr.To[int64](watchSeconds),
	})
	if err != nil {
		return err
	}
	defer watching.Stop()
	for event := range watching.ResultChan() {
		object, isObject := event.Object.(*unstructured.Unstructured)
		if !isObject || event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		version := object.GetResourceVersion()
		if event.Type == watch.Deleted {
			object = nil
		}
		if err := see(object, version); err != nil {
			return err
		}
	}
	return nil
}

// readOne lists the object by its name: a Role may be limited to it. It returns nil if there is none, and the resourceVersion of the
// list.
func readOne(ctx context.Context, resource dynamic.ResourceInterface, name string) (*unstructured.Unstructured, string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := resource.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, "", err
	}
	if len(list.Items) == 0 {
		return nil, list.GetResourceVersion(), nil
	}
	return &list.Items[0], list.GetResourceVersion(), nil
}

// repeat calls attempt until ctx ends, with pauses that grow to 2 s. It logs a failure, but not each repeat for the same reason.
func repeat(ctx context.Context, log logr.Logger, failure string, attempt func(context.Context) error) {
	pause := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: 2 * time.Second}
	var logged metav1.StatusReason
	_ = pause.DelayWithReset(clock.RealClock{}, 10*time.Second).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := attempt(ctx)
		if err == nil {
			logged = ""
			return false, nil
		}
		reason := apierrors.ReasonForError(err)
		if reason == metav1.StatusReasonUnknown {
			reason = "no answer"
		}
		if ctx.Err() == nil && reason != logged {
			logged = reason
			log.Error(err, failure)
		}
		return false, nil
	})
}
