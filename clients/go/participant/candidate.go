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

const (
	// The pause after a discovery that failed or found no version.
	unservedPause = 10 * time.Second
	// The pause before a discovery looks for a better version.
	servedPause = 5 * time.Minute
)

// candidate is a program's LeaseCandidate. It is published in the best version of the API, and moves when that version goes or
// a better one comes.
type candidate struct {
	client   dynamic.Interface
	discover discovery.DiscoveryInterface
	settings settings
	log      logr.Logger
	trouble  *trouble
	wake     chan struct{}
	stopping context.Context
	stop     context.CancelFunc
	// Closed when run has returned.
	ended chan struct{}

	isPublished atomic.Bool
	mu          sync.Mutex
	isRunning   bool
	// Versions that the program must not use: a Role may allow only one group.
	forbidden map[schema.GroupVersion]bool
	current   *published
}

func newCandidate(client dynamic.Interface, discover discovery.DiscoveryInterface, s settings, log logr.Logger) *candidate {
	stopping, stop := context.WithCancel(context.Background())
	return &candidate{
		client:    client,
		discover:  discover,
		settings:  s,
		log:       log,
		trouble:   &trouble{log: log, message: "Cannot find out which LeaseCandidates are served"},
		wake:      make(chan struct{}, 1),
		stopping:  stopping,
		stop:      stop,
		ended:     make(chan struct{}),
		forbidden: map[schema.GroupVersion]bool{},
	}
}

// run stands as candidate until withdraw is called.
func (c *candidate) run() {
	c.mu.Lock()
	c.isRunning = c.stopping.Err() == nil
	isRunning := c.isRunning
	c.mu.Unlock()
	if !isRunning {
		return
	}
	defer close(c.ended)
	for c.stopping.Err() == nil {
		pause := servedPause
		if err := c.moveToBest(); err != nil && c.stopping.Err() == nil {
			c.trouble.failed(err)
			pause = unservedPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-c.stopping.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// withdraw deletes the LeaseCandidate, and returns when it is deleted, or cannot be.
func (c *candidate) withdraw() {
	c.stop()
	c.mu.Lock()
	isRunning := c.isRunning
	c.mu.Unlock()
	if !isRunning {
		return
	}
	<-c.ended
	c.leave()
}

func (c *candidate) leave() {
	if c.current != nil {
		c.current.remove()
		c.current = nil
	}
	c.isPublished.Store(false)
}

// moveToBest publishes the LeaseCandidate in the best version. The one in the former group is deleted after that: two candidates
// do less harm than none, since a leader without one makes way for any other.
func (c *candidate) moveToBest() error {
	best, err := c.best()
	if err != nil {
		return err
	}
	c.trouble.ended()
	former := c.current
	if former != nil && former.version == best && former.isServed() {
		return nil
	}
	if former != nil && former.version.Group == best.Group {
		// Both are versions of the same object.
		former.stop()
		former = nil
	}
	next := newPublished(c, best)
	next.start()
	c.current = next
	select {
	case <-next.publishedOnce:
	case <-next.refused:
		if former != nil {
			next.stop()
			c.current = former
			return nil
		}
	case <-c.stopping.Done():
	}
	if former != nil {
		former.remove()
	}
	return nil
}

func (c *candidate) best() (schema.GroupVersion, error) {
	var allowed, others []schema.GroupVersion
	c.mu.Lock()
	for _, version := range sources {
		if c.forbidden[version] {
			others = append(others, version)
		} else {
			allowed = append(allowed, version)
		}
	}
	c.mu.Unlock()
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

// forbid has another version tried.
func (c *candidate) forbid(version schema.GroupVersion) {
	c.mu.Lock()
	isNew := !c.forbidden[version]
	c.forbidden[version] = true
	c.mu.Unlock()
	if isNew {
		c.lookAgain()
	}
}

// lookAgain has the versions discovered again.
func (c *candidate) lookAgain() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
