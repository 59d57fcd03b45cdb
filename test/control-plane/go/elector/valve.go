package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

var errShut = errors.New("the test has shut off these requests of this candidate")

// valve stands between one candidate and the API server, so that tests can take away its writes to Leases, those to
// LeaseCandidates, or everything, while client-go goes on running unchanged behind it.
type valve struct {
	next http.RoundTripper
	// onWrite is told of every write that the server accepted.
	onWrite func(method, resource string)

	mu    sync.Mutex
	stops map[string]*stop
	// line is done when the candidate is cut off: it ends requests under way too, watches above all.
	line context.Context
	cut  context.CancelFunc
	dead bool
}

// stop is one thing shut off; lifted is closed when it is allowed again.
type stop struct {
	hang   bool
	lifted chan struct{}
}

func newValve(onWrite func(method, resource string)) *valve {
	v := &valve{onWrite: onWrite, stops: map[string]*stop{}}
	v.line, v.cut = context.WithCancel(context.Background())
	return v
}

func (v *valve) wrap(next http.RoundTripper) http.RoundTripper {
	v.next = next
	return v
}

const (
	whatLease      = "lease"
	whatCandidate  = "candidate"
	whatEverything = "everything"
)

func (v *valve) pause(what, manner string) error {
	if err := checkWhat(what); err != nil {
		return err
	}
	if manner != "fail" && manner != "hang" {
		return fmt.Errorf("cannot pause in the manner %q: want fail or hang", manner)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.stops[what]; ok {
		return fmt.Errorf("%s is paused already", what)
	}
	v.stops[what] = &stop{hang: manner == "hang", lifted: make(chan struct{})}
	if what == whatEverything {
		v.cut()
	}
	return nil
}

func (v *valve) resume(what string) error {
	if err := checkWhat(what); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.stops[what]
	if !ok {
		return fmt.Errorf("%s is not paused", what)
	}
	delete(v.stops, what)
	close(s.lifted)
	if what == whatEverything && !v.dead {
		v.line, v.cut = context.WithCancel(context.Background())
	}
	return nil
}

// shut ends every request under way and refuses all others, for good.
func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dead = true
	v.cut()
	for what, s := range v.stops {
		delete(v.stops, what)
		close(s.lifted)
	}
}

func checkWhat(what string) error {
	switch what {
	case whatLease, whatCandidate, whatEverything:
		return nil
	}
	return fmt.Errorf("cannot pause or resume %q: want %s, %s or %s", what, whatLease, whatCandidate, whatEverything)
}

// RoundTrip implements http.RoundTripper.
func (v *valve) RoundTrip(request *http.Request) (*http.Response, error) {
	resource := resourceOf(request)
	line, err := v.pass(request, resource)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(request.Context())
	unhook := context.AfterFunc(line, cancel)
	release := func() { unhook(); cancel() }
	response, err := v.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	if request.Method != http.MethodGet && response.StatusCode < 300 {
		v.onWrite(request.Method, resource)
	}
	// A watch is read long after this returns, so the context has to live until the body is closed.
	response.Body = &body{ReadCloser: response.Body, release: release}
	return response, nil
}

// body lets go of its request's context when it is closed.
type body struct {
	io.ReadCloser
	release func()
}

func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// pass returns the line to send the request on as soon as nothing stands against it.
func (v *valve) pass(request *http.Request, resource string) (context.Context, error) {
	for {
		v.mu.Lock()
		line, dead, s := v.line, v.dead, v.stopFor(request.Method, resource)
		v.mu.Unlock()
		switch {
		case dead || (s != nil && !s.hang):
			return nil, errShut
		case s == nil:
			return line, nil
		}
		select {
		case <-s.lifted:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
}

func (v *valve) stopFor(method, resource string) *stop {
	if s, ok := v.stops[whatEverything]; ok {
		return s
	}
	if method == http.MethodGet {
		return nil
	}
	switch resource {
	case "leases":
		return v.stops[whatLease]
	case "leasecandidates":
		return v.stops[whatCandidate]
	}
	return nil
}

// resourceOf reads the resource out of /apis/<group>/<version>/namespaces/<namespace>/<resource>[/<name>].
func resourceOf(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if len(parts) < 6 {
		return ""
	}
	return parts[5]
}
