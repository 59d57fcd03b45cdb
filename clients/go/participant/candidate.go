package participant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

const (
	priorityAnnotation = group + "/priority"
	// Names what has set the priority for a while: a transfer or a drain.
	prioritySetByAnnotation = group + "/priority-set-by"
	// Ends a priority. A participant never sets it.
	priorityUntilAnnotation = group + "/priority-until"
	// An election waits 5 s for the answer to its ping.
	candidateTimeout = 2500 * time.Millisecond
)

var (
	customVersion = schema.GroupVersion{Group: group, Version: "v1alpha1"}
	// A LeaseCandidate is published in the first of these that the server serves and this program may use.
	sources = []schema.GroupVersion{
		{Group: "coordination.k8s.io", Version: "v1beta1"},
		{Group: "coordination.k8s.io", Version: "v1alpha2"},
		customVersion,
	}
	errNotServed = errors.New("no version of LeaseCandidate is served: install the custom resource definition")
	errReplaced  = errors.New("the LeaseCandidate was deleted or replaced")
)

// candidate is a program's LeaseCandidate. It is published in the best version of the API, which is looked for again when a watch
// ends: a restarted server may serve others.
type candidate struct {
	settings    settings
	client      dynamic.Interface
	ctx         context.Context
	stop        context.CancelFunc
	work        sync.WaitGroup
	isPublished atomic.Bool
	// Nil until the LeaseCandidate is published. Only the work uses it, and withdraw after that.
	current *publication
}

// publication is the LeaseCandidate in one version of the API.
type publication struct {
	version  schema.GroupVersion
	resource dynamic.ResourceInterface
	// Of the object that this process has created or taken over.
	uid types.UID
	// The pingTime that the last renewal has answered.
	answeredPing string
}

func newCandidate(client dynamic.Interface, s settings) *candidate {
	c := &candidate{settings: s, client: client}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// start stands as candidate from when all channels are closed until withdraw is called.
func (c *candidate) start(ready ...<-chan struct{}) {
	c.work.Go(func() {
		for _, each := range ready {
			select {
			case <-each:
			case <-c.ctx.Done():
				return
			}
		}
		repeat(c.ctx, c.settings.Logger, "The LeaseCandidate is published and renewed no longer: tries again", c.stand)
	})
}

// withdraw deletes the LeaseCandidate, and returns when it is deleted, or cannot be.
func (c *candidate) withdraw() {
	c.stop()
	c.work.Wait()
	if c.current != nil {
		c.remove(c.current)
	}
	c.isPublished.Store(false)
}

// stand publishes the LeaseCandidate in the best version, and answers pings until the watch ends.
func (c *candidate) stand(ctx context.Context) error {
	problem := errNotServed
	for _, version := range sources {
		err := c.standIn(ctx, version)
		switch {
		case apierrors.IsForbidden(err):
			// A Role may allow only one group.
			problem = err
		case !errors.Is(err, errNotServed):
			return err
		}
	}
	return problem
}

func (c *candidate) standIn(ctx context.Context, version schema.GroupVersion) error {
	p := c.current
	if p == nil || p.version != version {
		resource := c.client.Resource(version.WithResource("leasecandidates")).Namespace(c.settings.Namespace)
		p = &publication{version: version, resource: resource}
	}
	read := func(ctx context.Context) (string, error) {
		object, version, err := readOne(ctx, p.resource, c.settings.Identity)
		if apierrors.IsNotFound(err) {
			return "", errNotServed
		}
		if err != nil {
			return "", err
		}
		return version, c.write(p, object)
	}
	return follow(ctx, p.resource, c.settings.Identity, read, func(object *unstructured.Unstructured, _ string) error {
		switch {
		case object == nil || object.GetUID() != p.uid:
			return errReplaced
		case specField(object, "pingTime") != p.answeredPing:
			return c.write(p, object)
		default:
			return nil
		}
	})
}

// write creates, takes over or renews the LeaseCandidate. A LeaseCandidate in another group is deleted after that: two candidates do
// less harm than none, since a leader without one makes way for any other.
func (c *candidate) write(p *publication, object *unstructured.Unstructured) error {
	// The request is not abandoned when the context ends: what it creates has to be deleted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), candidateTimeout)
	defer cancel()
	answer, err := c.send(ctx, p, object)
	if err != nil {
		return err
	}
	if answer.GetUID() != p.uid {
		c.settings.Logger.Info("Stands as candidate", "version", p.version.String())
	}
	p.uid, p.answeredPing = answer.GetUID(), specField(object, "pingTime")
	former := c.current
	c.current = p
	c.isPublished.Store(true)
	if former != nil && former.version.Group != p.version.Group {
		c.remove(former)
	}
	return nil
}

func (c *candidate) send(ctx context.Context, p *publication, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if object != nil && specField(object, "leaseName") != c.settings.Lease {
		// leaseName is immutable. The next attempt creates another.
		return nil, cmp.Or(p.resource.Delete(ctx, c.settings.Identity, metav1.DeleteOptions{}), errReplaced)
	}
	now := time.Now()
	if object == nil {
		return p.resource.Create(ctx, c.declared(p.version, now), metav1.CreateOptions{FieldManager: fieldManager})
	}
	patch, err := json.Marshal(c.patch(p, object, now))
	if err != nil {
		return nil, err
	}
	return p.resource.Patch(ctx, c.settings.Identity, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
}

// remove deletes the LeaseCandidate in one version. The coordinator deletes it later if that fails.
func (c *candidate) remove(p *publication) {
	pauses := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 5, Steps: 3}
	isPassing := func(err error) bool { return !apierrors.IsForbidden(err) }
	err := retry.OnError(pauses, isPassing, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), candidateTimeout)
		defer cancel()
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.uid}}
		err := p.resource.Delete(ctx, c.settings.Identity, options)
		// After a conflict, the object is another's.
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
	if err != nil {
		c.settings.Logger.Error(err, "Cannot delete the LeaseCandidate")
	}
}

// declared returns the LeaseCandidate as the options say.
func (c *candidate) declared(version schema.GroupVersion, wallTime time.Time) *unstructured.Unstructured {
	spec := map[string]any{
		"leaseName":        c.settings.Lease,
		"renewTime":        formatTime(wallTime),
		"binaryVersion":    c.settings.Version,
		"emulationVersion": c.settings.Version,
		"strategy":         c.settings.Strategy,
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(version.WithKind("LeaseCandidate"))
	object.SetName(c.settings.Identity)
	object.SetLabels(c.settings.Labels)
	if c.settings.owner != nil {
		object.SetOwnerReferences([]metav1.OwnerReference{*c.settings.owner})
	}
	if version == customVersion {
		spec["priority"] = int64(c.settings.Priority)
	} else if c.settings.Priority != 0 {
		// The native API drops unknown fields.
		object.SetAnnotations(map[string]string{priorityAnnotation: strconv.Itoa(int(c.settings.Priority))})
	}
	return object
}

// patch returns the JSON merge patch of a renewal, which also answers the last ping. It gives a LeaseCandidate of an earlier run the
// fields of a new one. The server refuses it for a re-created object.
func (c *candidate) patch(p *publication, object *unstructured.Unstructured, wallTime time.Time) *unstructured.Unstructured {
	patch := &unstructured.Unstructured{Object: map[string]any{}}
	if object.GetUID() != p.uid {
		patch = c.declared(p.version, wallTime)
		_, isSetForAWhile := object.GetAnnotations()[prioritySetByAnnotation]
		switch {
		// A priority that a drain or a transfer has set stays: they remove it themselves.
		case isSetForAWhile:
			patch.SetAnnotations(nil)
		case p.version != customVersion && c.settings.Priority == 0 && isPriorityOfParticipant(object):
			_ = unstructured.SetNestedField(patch.Object, nil, "metadata", "annotations", priorityAnnotation)
		}
	}
	patch.SetUID(object.GetUID())
	_ = unstructured.SetNestedField(patch.Object, renewTimeAfter(object, wallTime), "spec", "renewTime") // It fails only without a map.
	return patch
}

// isPriorityOfParticipant returns whether only participants have set the priority: they alone own its annotation, and it has no end.
func isPriorityOfParticipant(object *unstructured.Unstructured) bool {
	_, hasEnd := object.GetAnnotations()[priorityUntilAnnotation]
	isOwned := false
	entries, _, _ := unstructured.NestedSlice(object.Object, "metadata", "managedFields")
	for _, each := range entries {
		entry, _ := each.(map[string]any)
		_, isOwner, _ := unstructured.NestedFieldNoCopy(entry, "fieldsV1", "f:metadata", "f:annotations", "f:"+priorityAnnotation)
		if isOwner && entry["manager"] != fieldManager {
			return false
		}
		isOwned = isOwned || isOwner
	}
	return isOwned && !hasEnd
}

// renewTimeAfter returns a time after the ping, also if the local clock is behind, and other than the last renewTime.
func renewTimeAfter(object *unstructured.Unstructured, wallTime time.Time) string {
	at := wallTime.Truncate(time.Microsecond)
	if ping, err := time.Parse(time.RFC3339Nano, specField(object, "pingTime")); err == nil && !ping.Before(at) {
		at = ping.Add(time.Microsecond)
	}
	if formatTime(at) == specField(object, "renewTime") {
		at = at.Add(time.Microsecond)
	}
	return formatTime(at)
}

func formatTime(at time.Time) string {
	return at.UTC().Format(metav1.RFC3339Micro)
}

// specField returns a field of the spec, or "".
func specField(object *unstructured.Unstructured, name string) string {
	if object == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(object.Object, "spec", name)
	return value
}
