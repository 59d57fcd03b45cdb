package participant

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

const (
	// An election waits 5 s for the answer to its ping.
	candidateTimeout = 2500 * time.Millisecond
	// How long deleting is tried. The coordinator deletes the LeaseCandidate later if that fails.
	removalTimeout = 5 * time.Second
)

var (
	customVersion = schema.GroupVersion{Group: group, Version: "v1alpha1"}
	// A LeaseCandidate is published in the first of these that the server serves and this program may use.
	sources = []schema.GroupVersion{
		{Group: "coordination.k8s.io", Version: "v1beta1"},
		{Group: "coordination.k8s.io", Version: "v1alpha2"},
		customVersion,
	}
	errReplaced = errors.New("the LeaseCandidate was deleted or replaced")
)

// candidate is a program's LeaseCandidate. It is published in the best version of the API. The best version is looked for again
// when a watch ends: a restarted server may serve others.
type candidate struct {
	settings    settings
	client      dynamic.Interface
	discover    discovery.DiscoveryInterface
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

func newCandidate(client dynamic.Interface, discover discovery.DiscoveryInterface, s settings) *candidate {
	c := &candidate{settings: s, client: client, discover: discover}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// start stands as candidate from when ready is closed until withdraw is called.
func (c *candidate) start(ready <-chan struct{}) {
	c.work.Go(func() {
		select {
		case <-ready:
			repeat(c.ctx, c.settings.Logger, "The LeaseCandidate is published and renewed no longer: tries again", c.stand)
		case <-c.ctx.Done():
		}
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

// stand publishes the LeaseCandidate in the best version that this program may use, and answers pings until the watch ends.
func (c *candidate) stand(ctx context.Context) error {
	err := errors.New("no version of LeaseCandidate is served: install the custom resource definition")
	for _, version := range sources {
		isServed, problem := c.serves(version)
		if problem != nil {
			return problem
		}
		if !isServed {
			continue
		}
		// A Role may allow only one group.
		if err = c.standIn(ctx, version); !apierrors.IsForbidden(err) {
			return err
		}
	}
	return err
}

func (c *candidate) serves(version schema.GroupVersion) (bool, error) {
	list, err := c.discover.ServerResourcesForGroupVersion(version.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, resource := range list.APIResources {
		if resource.Name == "leasecandidates" {
			return true, nil
		}
	}
	return false, nil
}

func (c *candidate) standIn(ctx context.Context, version schema.GroupVersion) error {
	p := c.current
	if p == nil || p.version != version {
		resource := c.client.Resource(version.WithResource("leasecandidates")).Namespace(c.settings.Namespace)
		p = &publication{version: version, resource: resource}
	}
	read := func(ctx context.Context) (string, error) {
		object, version, err := readOne(ctx, p.resource, c.settings.Identity)
		if err != nil {
			return "", err
		}
		return version, c.write(p, object)
	}
	return follow(ctx, p.resource, c.settings.Identity, read, func(kind watch.EventType, object *unstructured.Unstructured) error {
		switch {
		case kind == watch.Deleted || object.GetUID() != p.uid:
			return errReplaced
		case pingTimeOf(object) != p.answeredPing:
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
	if object != nil && specField(object, "leaseName") != c.settings.Lease {
		// leaseName is immutable.
		if err := p.resource.Delete(ctx, c.settings.Identity, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		object = nil
	}
	var answer *unstructured.Unstructured
	var err error
	if object == nil {
		options := metav1.CreateOptions{FieldManager: fieldManager}
		answer, err = p.resource.Create(ctx, newLeaseCandidate(p.version, c.settings, time.Now()), options)
	} else {
		var patch []byte
		if patch, err = patchOf(p, object, c.settings, time.Now()); err != nil {
			return err
		}
		options := metav1.PatchOptions{FieldManager: fieldManager}
		answer, err = p.resource.Patch(ctx, c.settings.Identity, types.MergePatchType, patch, options)
	}
	if err != nil {
		return err
	}
	if answer.GetUID() != p.uid {
		c.settings.Logger.Info("Stands as candidate", "version", p.version.String())
	}
	p.uid, p.answeredPing = answer.GetUID(), pingTimeOf(object)
	former := c.current
	c.current = p
	c.isPublished.Store(true)
	if former != nil && former.version.Group != p.version.Group {
		c.remove(former)
	}
	return nil
}

// remove deletes the LeaseCandidate in one version.
func (c *candidate) remove(p *publication) {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.uid}}
	err := wait.PollUntilContextTimeout(context.Background(), 200*time.Millisecond, removalTimeout, true,
		func(ctx context.Context) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, candidateTimeout)
			defer cancel()
			err := p.resource.Delete(ctx, c.settings.Identity, options)
			switch {
			case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err):
				// After a conflict, the object is another's.
				return true, nil
			case apierrors.IsForbidden(err):
				return false, err
			default:
				return false, nil
			}
		})
	if err != nil {
		c.settings.Logger.Error(err, "Cannot delete the LeaseCandidate")
	}
}
