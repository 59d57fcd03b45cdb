package participant

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	// An election waits 5 s for the answer to its ping.
	candidateTimeout = 2500 * time.Millisecond
	// How long deleting is tried. The coordinator deletes the LeaseCandidate later if that fails.
	removalTimeout = 5 * time.Second
)

// published is the LeaseCandidate in one version of the API.
type published struct {
	candidate *candidate
	version   schema.GroupVersion
	resource  dynamic.ResourceInterface
	memory    *memory
	cancel    context.CancelFunc
	following sync.WaitGroup

	mu sync.Mutex
	// Whether the LeaseCandidate was read, or written.
	isKnown bool
	object  *unstructured.Unstructured
	// Only the candidate's run uses these.
	isAdopted    bool
	answeredPing string
}

// follow watches the LeaseCandidate in a version.
func (c *candidate) follow(version schema.GroupVersion) *published {
	p := &published{
		candidate: c,
		version:   version,
		resource:  c.client.Resource(version.WithResource("leasecandidates")).Namespace(c.settings.Namespace),
	}
	p.memory = &memory{see: p.see}
	ctx, cancel := context.WithCancel(c.ctx)
	p.cancel = cancel
	follower := &follower{
		resource: p.resource,
		name:     c.settings.Identity,
		memory:   p.memory,
		trouble:  &trouble{log: c.log, message: "Cannot watch the LeaseCandidate"},
		failed:   func(err error) { c.watchFailed(version, err) },
	}
	p.following.Go(func() { follower.run(ctx) })
	return p
}

func (p *published) see(object *unstructured.Unstructured, _ time.Time) {
	p.mu.Lock()
	p.isKnown, p.object = true, object
	p.mu.Unlock()
	p.candidate.notify()
}

func (p *published) known() (object *unstructured.Unstructured, isKnown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object, p.isKnown
}

func (p *published) read(ctx context.Context) error {
	_, err := p.memory.read(ctx, p.resource, p.candidate.settings.Identity)
	return err
}

// stop stops watching. The LeaseCandidate stays.
func (p *published) stop() {
	p.cancel()
	p.following.Wait()
}

// leaveTo makes way for another, which may be the same object in another version.
func (p *published) leaveTo(other *published) {
	if p.version.Group == other.version.Group {
		p.stop()
	} else {
		p.remove()
	}
}

// remove deletes the LeaseCandidate.
func (p *published) remove() {
	p.stop()
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	pause := backoff{first: 50 * time.Millisecond, most: time.Second, resetAfter: time.Minute}
	for {
		err := p.delete(ctx)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		if ctx.Err() != nil || apierrors.IsForbidden(err) {
			p.candidate.log.Error(err, "Cannot delete the LeaseCandidate")
			return
		}
		sleep(ctx, pause.next())
	}
}

func (p *published) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, candidateTimeout)
	defer cancel()
	var options metav1.DeleteOptions
	if object, _ := p.known(); object != nil {
		uid := object.GetUID()
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return p.resource.Delete(ctx, p.candidate.settings.Identity, options)
}

// needsWrite returns whether the LeaseCandidate is deleted, pinged, or of an earlier run.
func (p *published) needsWrite() bool {
	object, _ := p.known()
	return object == nil || !p.isAdopted || pingTimeOf(object) != p.answeredPing
}

// write creates or renews the LeaseCandidate.
func (p *published) write(ctx context.Context) error {
	object, isKnown := p.known()
	if !isKnown {
		if err := p.read(ctx); err != nil {
			return err
		}
		object, _ = p.known()
	}
	var err error
	switch {
	case object == nil:
		err = p.create(ctx)
	case leaseNameOf(object) != p.candidate.settings.Lease:
		// leaseName is immutable.
		if err = p.delete(ctx); err == nil || apierrors.IsNotFound(err) {
			err = p.create(ctx)
		}
	default:
		err = p.patch(ctx, object)
	}
	if err != nil {
		return err
	}
	if !p.isAdopted {
		p.candidate.log.Info("Stands as candidate", "version", p.version.String())
	}
	p.isAdopted = true
	p.candidate.isPublished.Store(true)
	return nil
}

func (p *published) create(ctx context.Context) error {
	if p.isAdopted {
		p.candidate.log.Info("The LeaseCandidate was deleted: it is published again")
		// Another program may delete it again and again.
		sleep(ctx, p.candidate.deletions.next())
	}
	ctx, cancel := context.WithTimeout(ctx, candidateTimeout)
	defer cancel()
	sentAt := time.Now()
	object := newLeaseCandidate(p.version, p.candidate.settings, sentAt)
	answer, err := p.resource.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return err
	}
	p.answeredPing = ""
	p.memory.answer(answer, sentAt)
	return nil
}

func (p *published) patch(ctx context.Context, object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, candidateTimeout)
	defer cancel()
	sentAt := time.Now()
	patch, err := renewalOf(object, sentAt)
	if !p.isAdopted {
		patch, err = adoptionOf(object, p.version, p.candidate.settings, sentAt)
	}
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	answer, err := p.resource.Patch(ctx, object.GetName(), types.MergePatchType, patch, options)
	if err != nil {
		return err
	}
	p.answeredPing = pingTimeOf(object)
	p.memory.answer(answer, sentAt)
	return nil
}
