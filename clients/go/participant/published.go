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
	// The interval between renewals without a ping, as in client-go.
	renewalInterval = 5 * time.Minute
	// An election waits 5 s for the answer to its ping.
	candidateTimeout = 2500 * time.Millisecond
	// How long deleting is tried. The coordinator deletes the LeaseCandidate later if that fails.
	removalTimeout = 5 * time.Second
)

// published is a LeaseCandidate in one version of the API: it is created, watched and renewed, and answers pings.
type published struct {
	candidate *candidate
	version   schema.GroupVersion
	resource  dynamic.ResourceInterface
	memory    *memory
	trouble   *trouble
	ctx       context.Context
	cancel    context.CancelFunc
	work      sync.WaitGroup
	// Gets a value when the LeaseCandidate has changed.
	changed chan struct{}
	// Closed when the LeaseCandidate was written for the first time.
	publishedOnce chan struct{}
	// Closed when the server forbids or does not serve this version.
	refused    chan struct{}
	refuseOnce sync.Once
	deletions  backoff

	mu sync.Mutex
	// Whether the LeaseCandidate was read, or written.
	isKnown bool
	object  *unstructured.Unstructured
	isGone  bool
	// Only run uses these.
	isAdopted    bool
	answeredPing string
}

func newPublished(c *candidate, version schema.GroupVersion) *published {
	p := &published{
		candidate:     c,
		version:       version,
		resource:      c.client.Resource(version.WithResource("leasecandidates")).Namespace(c.settings.Namespace),
		trouble:       &trouble{log: c.log, message: "Cannot publish or renew the LeaseCandidate"},
		changed:       make(chan struct{}, 1),
		publishedOnce: make(chan struct{}),
		refused:       make(chan struct{}),
		deletions:     backoff{first: 5 * time.Millisecond, most: time.Minute, resetAfter: time.Minute},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.memory = &memory{see: p.see}
	return p
}

func (p *published) start() {
	p.work.Go(func() {
		follower := &follower{
			resource: p.resource,
			name:     p.candidate.settings.Identity,
			memory:   p.memory,
			trouble:  &trouble{log: p.candidate.log, message: "Cannot watch the LeaseCandidate"},
			failed:   p.watchFailed,
		}
		follower.run(p.ctx)
	})
	p.work.Go(p.run)
}

// stop stops renewing. The LeaseCandidate stays.
func (p *published) stop() {
	p.cancel()
	p.work.Wait()
}

// remove stops renewing, and deletes the LeaseCandidate.
func (p *published) remove() {
	p.stop()
	select {
	case <-p.publishedOnce:
	default:
		if p.isRefused() {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	pause := backoff{first: 50 * time.Millisecond, most: time.Second, resetAfter: time.Minute}
	for {
		err := p.delete(ctx)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		if ctx.Err() != nil {
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
	if object := p.known(); object != nil {
		uid := object.GetUID()
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return p.resource.Delete(ctx, p.candidate.settings.Identity, options)
}

func (p *published) isServed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.isGone
}

func (p *published) isRefused() bool {
	select {
	case <-p.refused:
		return true
	default:
		return false
	}
}

// watchFailed has a better version looked for: a restarted server may serve one, with an old LeaseCandidate of this name.
func (p *published) watchFailed(err error) {
	if apierrors.IsNotFound(err) {
		p.mu.Lock()
		p.isGone = true
		p.mu.Unlock()
		p.refuse(p.candidate.lookAgain)
	} else if p.version != sources[0] && !apierrors.IsForbidden(err) {
		p.candidate.lookAgain()
	}
}

// refuse reports once that the LeaseCandidate cannot be published in this version.
func (p *published) refuse(report func()) {
	p.refuseOnce.Do(func() {
		close(p.refused)
		report()
	})
}

func (p *published) see(object *unstructured.Unstructured, _ time.Time) {
	p.mu.Lock()
	p.isKnown, p.object = true, object
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *published) known() *unstructured.Unstructured {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// run writes the LeaseCandidate when it is pinged, deleted or due for a renewal.
func (p *published) run() {
	pause := backoff{first: 50 * time.Millisecond, most: 2 * time.Second, resetAfter: 2 * time.Second}
	isDue := true
	for p.ctx.Err() == nil {
		if isDue || p.needsWrite() {
			if err := p.write(); err != nil && p.ctx.Err() == nil {
				p.writeFailed(err)
				sleep(p.ctx, pause.next())
				continue
			}
			isDue = false
		}
		timer := time.NewTimer(renewalInterval)
		select {
		case <-p.ctx.Done():
		case <-p.changed:
		case <-timer.C:
			isDue = true
		}
		timer.Stop()
	}
}

func (p *published) needsWrite() bool {
	object := p.known()
	return object == nil || !p.isAdopted || pingTimeOf(object) != p.answeredPing
}

func (p *published) writeFailed(err error) {
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		p.trouble.failed(err)
	}
	if apierrors.IsForbidden(err) && !p.isAdopted {
		p.refuse(func() { p.candidate.forbid(p.version) })
	}
	if _, err := p.memory.read(p.ctx, p.resource, p.candidate.settings.Identity); err != nil {
		p.candidate.log.V(1).Info("Cannot read the LeaseCandidate", "err", err.Error())
	}
}

// write creates or renews the LeaseCandidate.
func (p *published) write() error {
	p.mu.Lock()
	isKnown := p.isKnown
	p.mu.Unlock()
	if !isKnown {
		if _, err := p.memory.read(p.ctx, p.resource, p.candidate.settings.Identity); err != nil {
			return err
		}
	}
	object := p.known()
	var err error
	switch {
	case object == nil:
		err = p.create()
	case leaseNameOf(object) != p.candidate.settings.Lease:
		// leaseName is immutable.
		if err = p.delete(p.ctx); err == nil || apierrors.IsNotFound(err) {
			err = p.create()
		}
	default:
		err = p.patch(object)
	}
	if err != nil {
		return err
	}
	p.trouble.ended()
	if !p.isAdopted && p.candidate.isPublished.CompareAndSwap(false, true) {
		p.candidate.log.Info("Stands as candidate", "version", p.version.String())
	}
	p.isAdopted = true
	select {
	case <-p.publishedOnce:
	default:
		close(p.publishedOnce)
	}
	return nil
}

func (p *published) create() error {
	if p.isAdopted {
		p.candidate.log.Info("The LeaseCandidate was deleted: it is published again")
		// Another program may delete it again and again.
		sleep(p.ctx, p.deletions.next())
	}
	ctx, cancel := context.WithTimeout(p.ctx, candidateTimeout)
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

func (p *published) patch(object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(p.ctx, candidateTimeout)
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
