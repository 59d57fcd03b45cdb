package participant

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// memory keeps the newest known state of one object. Watch events, reads and answers to writes may arrive in any order.
type memory struct {
	// see is called with each new state, nil if there is no object, and the time from which it is known.
	see func(object *unstructured.Unstructured, at time.Time)

	mu sync.Mutex
	// The newest resourceVersion seen, also that of a deletion.
	version string
}

// event takes what a watch shows.
func (m *memory) event(kind watch.EventType, object *unstructured.Unstructured) {
	if kind == watch.Deleted {
		m.take(object.GetResourceVersion(), nil, time.Now())
	} else {
		m.take(object.GetResourceVersion(), object, time.Now())
	}
}

// answer takes the answer to a write that was sent at this time.
func (m *memory) answer(object *unstructured.Unstructured, at time.Time) {
	m.take(object.GetResourceVersion(), object, at)
}

// take ignores a state that is older than the known one.
func (m *memory) take(version string, object *unstructured.Unstructured, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isOlder(version, m.version) {
		return
	}
	m.version = version
	m.see(object, at)
}

// read lists the object by its name: a Role may be limited to it. It returns the resourceVersion of the list. An older state than
// the known one counts if none was seen since the request was sent: etcd was restored from a backup.
func (m *memory) read(ctx context.Context, resource dynamic.ResourceInterface, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m.mu.Lock()
	basis := m.version
	m.mu.Unlock()
	list, err := resource.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return "", err
	}
	version := list.GetResourceVersion()
	var object *unstructured.Unstructured
	if len(list.Items) > 0 {
		object = &list.Items[0]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version == basis || !isOlder(version, m.version) {
		m.version = version
		m.see(object, time.Now())
	}
	return version, nil
}

// follower watches one object.
type follower struct {
	resource dynamic.ResourceInterface
	name     string
	memory   *memory
	trouble  *trouble
	// failed is called with each error of a list or a watch. It may be nil.
	failed func(error)
}

const (
	requestTimeout = 5 * time.Second
	watchSeconds   = 300
)

// run lists and watches until ctx ends.
func (f *follower) run(ctx context.Context) {
	pause := backoff{first: 50 * time.Millisecond, most: 2 * time.Second, resetAfter: 2 * time.Second}
	for ctx.Err() == nil {
		err := f.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		f.trouble.failed(err)
		if f.failed != nil {
			f.failed(err)
		}
		sleep(ctx, pause.next())
	}
}

// listAndWatch returns nil when a watch has ended in the ordinary way.
func (f *follower) listAndWatch(ctx context.Context) error {
	version, err := f.memory.read(ctx, f.resource, f.name)
	if err != nil {
		return err
	}
	f.trouble.ended()
	startedAt, seconds := time.Now(), int64(watchSeconds)
	watching, err := f.resource.Watch(ctx, metav1.ListOptions{
		FieldSelector:   "metadata.name=" + f.name,
		ResourceVersion: version,
		TimeoutSeconds:  &seconds,
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
		f.memory.event(event.Type, object)
	}
	if time.Since(startedAt) < time.Second {
		return errors.New("the watch ended at once")
	}
	return nil
}

// isOlder returns whether one state of an object is older than another. States that cannot be compared are not.
func isOlder(resourceVersion, than string) bool {
	order, err := resourceversion.CompareResourceVersion(resourceVersion, than)
	return err == nil && order < 0
}

// backoff doubles the pause with each call of next, until none came for a while.
type backoff struct {
	first, most, resetAfter time.Duration
	pause                   time.Duration
	lastAt                  time.Time
}

// next returns the pause before the next attempt. Half of it is random.
func (b *backoff) next() time.Duration {
	if b.pause == 0 || time.Since(b.lastAt) > b.pause+b.resetAfter {
		b.pause = b.first
	} else {
		b.pause = min(2*b.pause, b.most)
	}
	b.lastAt = time.Now()
	return b.pause/2 + rand.N(b.pause/2+1)
}

func sleep(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// trouble logs a failure when it first happens and when its reason changes, but not each repeat.
type trouble struct {
	log     logr.Logger
	message string
	last    string
}

func (t *trouble) failed(err error) {
	reason := string(apierrors.ReasonForError(err))
	if reason == "" {
		reason = "no answer"
	}
	if reason == t.last {
		return
	}
	t.last = reason
	t.log.Error(err, t.message)
}

func (t *trouble) ended() {
	t.last = ""
}
