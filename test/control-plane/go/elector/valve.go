package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

var errShut = errors.New("this candidate has crashed or ended")

// valve stands between one candidate and the API server, so that a test can cut the candidate off for good, while
// client-go goes on running unchanged behind it.
type valve struct {
	next http.RoundTripper
	// onWrite is told of every write that the server accepted.
	onWrite func(method, resource string)
	// line is done when the candidate is cut off: it ends requests under way too, watches above all.
	line context.Context
	// shut ends every request under way and refuses all others.
	shut context.CancelFunc
}

func newValve(onWrite func(method, resource string)) *valve {
	v := &valve{onWrite: onWrite}
	v.line, v.shut = context.WithCancel(context.Background())
	return v
}

func (v *valve) wrap(next http.RoundTripper) http.RoundTripper {
	v.next = next
	return v
}

// RoundTrip implements http.RoundTripper.
func (v *valve) RoundTrip(request *http.Request) (*http.Response, error) {
	if v.line.Err() != nil {
		return nil, errShut
	}
	ctx, cancel := context.WithCancel(request.Context())
	unhook := context.AfterFunc(v.line, cancel)
	release := func() { unhook(); cancel() }
	response, err := v.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	if request.Method != http.MethodGet && response.StatusCode < 300 {
		v.onWrite(request.Method, resourceOf(request))
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

// resourceOf reads the resource out of /apis/<group>/<version>/namespaces/<namespace>/<resource>[/<name>].
func resourceOf(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if len(parts) < 6 {
		return ""
	}
	return parts[5]
}
