package participant

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

var (
	customVersion = schema.GroupVersion{Group: group, Version: "v1alpha1"}
	// A LeaseCandidate is published in the first of these that the server serves and this program may use.
	sources = []schema.GroupVersion{
		{Group: "coordination.k8s.io", Version: "v1beta1"},
		{Group: "coordination.k8s.io", Version: "v1alpha2"},
		customVersion,
	}
)

// The interval between renewals without a ping, as in client-go, and between two looks for a better version.
const renewalInterval = 5 * time.Minute

// candidate is a program's LeaseCandidate. It is published in the best version of the API, and moves when that version goes or
// a better one comes.
type candidate struct {
	client   dynamic.Interface
	discover discovery.DiscoveryInterface
	settings settings
	log      logr.Logger
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	// Gets a value when the LeaseCandidate has changed, or its version has to be looked for.
	wake        chan struct{}
	isLookDue   atomic.Bool
	isPublished atomic.Bool
	// Guards the start of run against withdraw.
	mu sync.Mutex
	// The others are used by run, and by withdraw when run has ended.
	current *published
	// Versions that the program must not use: a Role may allow only one group.
	forbidden map[schema.GroupVersion]bool
	deletions backoff
}

func newCandidate(client dynamic.Interface, discover discovery.DiscoveryInterface, s settings, log logr.Logger) *candidate {
	c := &candidate{
		client:    client,
		discover:  discover,
		settings:  s,
		log:       log,
		wake:      make(chan struct{}, 1),
		forbidden: map[schema.GroupVersion]bool{},
		deletions: backoff{first: 5 * time.Millisecond, most: time.Minute, resetAfter: time.Minute},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// start stands as candidate until withdraw is called.
func (c *candidate) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.work.Go(c.run)
	}
}

// withdraw deletes the LeaseCandidate, and returns when it is deleted, or cannot be.
func (c *candidate) withdraw() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.work.Wait()
	if c.current != nil {
		c.current.remove()
		c.current = nil
	}
	c.isPublished.Store(false)
}

// run writes the LeaseCandidate when it is pinged, deleted or due for a renewal, and has it in the best version.
func (c *candidate) run() {
	trouble := &trouble{log: c.log, message: "Cannot publish or renew the LeaseCandidate"}
	lookPause := backoff{first: 50 * time.Millisecond, most: 10 * time.Second, resetAfter: 10 * time.Second}
	writePause := backoff{first: 50 * time.Millisecond, most: 2 * time.Second, resetAfter: 2 * time.Second}
	var lookAt, lookPausedUntil, renewAt time.Time
	for c.ctx.Err() == nil {
		if c.isLookDue.Swap(false) && lookPausedUntil.Before(lookAt) {
			lookAt = lookPausedUntil
		}
		if now := time.Now(); !now.Before(lookAt) {
			err := c.moveToBest()
			if c.ctx.Err() != nil {
				return
			}
			lookAt, lookPausedUntil = now.Add(renewalInterval), now.Add(lookPause.next())
			if err != nil {
				trouble.failed(err)
				lookAt = lookPausedUntil
			}
		}
		if c.current != nil && (c.current.needsWrite() || !time.Now().Before(renewAt)) {
			err := c.current.write(c.ctx)
			if c.ctx.Err() != nil {
				return
			}
			if err != nil {
				c.writeFailed(trouble, err)
				sleep(c.ctx, writePause.next())
				continue
			}
			trouble.ended()
			renewAt = time.Now().Add(renewalInterval)
		}
		next := lookAt
		if c.current != nil && renewAt.Before(lookAt) {
			next = renewAt
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-c.ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// writeFailed has another version tried if this one is forbidden.
func (c *candidate) writeFailed(trouble *trouble, err error) {
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		trouble.failed(err)
	}
	if apierrors.IsForbidden(err) && !c.current.isAdopted {
		c.forbidden[c.current.version] = true
		c.current.stop()
		c.current = nil
		c.lookAgain()
		return
	}
	if err := c.current.read(c.ctx); err != nil {
		c.log.V(1).Info("Cannot read the LeaseCandidate", "err", err.Error())
	}
}

// moveToBest publishes the LeaseCandidate in the best version. The one in the former group is deleted after that: two candidates
// do less harm than none, since a leader without one makes way for any other.
func (c *candidate) moveToBest() error {
	best, err := c.best()
	if err != nil {
		return err
	}
	former := c.current
	if former == nil {
		c.current = c.follow(best)
		return nil
	}
	if former.version == best {
		return nil
	}
	next := c.follow(best)
	if err := next.write(c.ctx); err != nil {
		if apierrors.IsForbidden(err) {
			c.forbidden[best] = true
			next.stop()
		} else {
			next.leaveTo(former)
		}
		return err
	}
	c.current = next
	former.leaveTo(next)
	return nil
}

func (c *candidate) best() (schema.GroupVersion, error) {
	var allowed, others []schema.GroupVersion
	for _, version := range sources {
		if c.forbidden[version] {
			others = append(others, version)
		} else {
			allowed = append(allowed, version)
		}
	}
	for _, version := range append(allowed, others...) {
		isServed, err := c.serves(version)
		if err != nil || isServed {
			return version, err
		}
	}
	return schema.GroupVersion{}, errors.New("no version of LeaseCandidate is served: install the custom resource definition")
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

// lookAgain has the best version looked for.
func (c *candidate) lookAgain() {
	c.isLookDue.Store(true)
	c.notify()
}

func (c *candidate) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// watchFailed has a better version looked for: a restarted server may serve one, with an old LeaseCandidate of this name.
func (c *candidate) watchFailed(version schema.GroupVersion, err error) {
	if apierrors.IsNotFound(err) || version != sources[0] && !apierrors.IsForbidden(err) {
		c.lookAgain()
	}
}
