package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// event is one line of standard output. Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
type event struct {
	Event string `json:"event"`
	At    int64  `json:"at"`
	// SentAt is when the last write to the Lease that the server granted was begun: for "leads" and "renewed".
	SentAt int64 `json:"sentAt,omitempty"`
}

// recorder says when its process believes what. client-go calls back that leading has started from a goroutine of its
// own, which may come after the call that it has stopped: what is said is at most one start and then its stop.
type recorder struct {
	lease string

	mu     sync.Mutex
	out    *json.Encoder
	sentAt int64
	over   bool
}

func (r *recorder) record(e event) {
	e.At = monotonic()
	if err := r.out.Encode(e); err != nil {
		// Nobody will ever know what it believes: then it must not lead.
		os.Exit(1)
	}
}

func (r *recorder) leads() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.record(event{Event: "leads", SentAt: r.sentAt})
	}
}

func (r *recorder) renewed(sentAt int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sentAt = sentAt
	r.record(event{Event: "renewed", SentAt: sentAt})
}

func (r *recorder) follows() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.record(event{Event: "follows"})
	}
	r.over = true
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		sentAt := monotonic()
		response, err := next.RoundTrip(request)
		isWrite := request.Method == http.MethodPut && strings.HasSuffix(request.URL.Path, "/leases/"+r.lease)
		if err == nil && isWrite && response.StatusCode < 300 {
			r.renewed(sentAt)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
