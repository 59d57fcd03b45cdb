package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// event is one line of standard output.
type event struct {
	ID    string `json:"id,omitempty"`
	Event string `json:"event"`
	// Time and WallMicros are the same instant of this machine's wall clock.
	Time       string `json:"time"`
	WallMicros int64  `json:"wallMicros"`
	// Leader is the new leader's identity, for "newLeader".
	Leader string `json:"leader,omitempty"`
	// Message says what went wrong, for "error" and "refused".
	Message string `json:"message,omitempty"`
	// Seq is that of the command answered, for "accepted" and "refused".
	Seq int `json:"seq,omitempty"`
}

// reporter writes events, one line each, from any number of goroutines.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newReporter(out io.Writer) *reporter {
	return &reporter{out: json.NewEncoder(out)}
}

func (r *reporter) report(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The time is taken under the lock, so that the order of lines and the order of times agree.
	now := time.Now()
	e.Time, e.WallMicros = now.UTC().Format(time.RFC3339Nano), now.UnixMicro()
	if err := r.out.Encode(e); err != nil {
		// Nobody reads any more: there is nothing left to run for.
		os.Exit(1)
	}
}

// errorSink is a log sink that turns what client-go logs as an error into events of one candidate, and drops the rest.
type errorSink struct {
	report func(event)
}

func (s errorSink) Init(logr.RuntimeInfo)          {}
func (s errorSink) Enabled(int) bool               { return false }
func (s errorSink) Info(int, string, ...any)       {}
func (s errorSink) WithValues(...any) logr.LogSink { return s }
func (s errorSink) WithName(string) logr.LogSink   { return s }
func (s errorSink) Error(err error, m string, _ ...any) {
	s.report(event{Event: "error", Message: fmt.Sprintf("%s: %v", m, err)})
}
