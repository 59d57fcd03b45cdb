// Command elector runs many real candidates in one process: client-go's LeaseCandidate and LeaderElector, driven by
// JSON lines on standard input and reporting what happens to them as JSON lines on standard output.
//
// It ends, releasing nothing, as soon as standard input closes: whoever started it cannot leave it behind.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig that every candidate uses (required)")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil || *kubeconfig == "" {
		fmt.Fprintf(os.Stderr, "elector: --kubeconfig must name a readable kubeconfig: %v\n", err)
		os.Exit(2)
	}
	silenceLogs()
	if err := serve(os.Stdin, newReporter(os.Stdout), config); err != nil {
		fmt.Fprintf(os.Stderr, "elector: %v\n", err)
		os.Exit(1)
	}
}

// silenceLogs keeps client-go from writing a line per retry of every candidate: its errors are reported as events, by
// the logger that each candidate carries in its context. The second of the default error handlers, which sleeps to slow
// down hot loops, is shared by the whole process: the errors of one candidate would hold another up.
func silenceLogs() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
}

// command is one line of standard input. Which fields count depends on op.
type command struct {
	Op string `json:"op"`
	// Seq comes back in the answer to this command.
	Seq int    `json:"seq"`
	ID  string `json:"id"`

	// For "start".
	candidateSpec

	// For "release": what becomes of the LeaseCandidate: "stop" answering, "keep" answering, or "delete" it.
	Candidate string `json:"candidate"`
}

func serve(input io.Reader, reporter *reporter, config *rest.Config) error {
	candidates := map[string]*candidate{}
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			err = execute(c, candidates, reporter, config)
		}
		answer := event{ID: c.ID, Event: "accepted", Seq: c.Seq}
		if err != nil {
			answer.Event, answer.Message = "refused", err.Error()
		}
		reporter.report(answer)
	}
	return lines.Err()
}

func execute(c command, candidates map[string]*candidate, reporter *reporter, config *rest.Config) error {
	if c.Op == "start" {
		if running, ok := candidates[c.ID]; c.ID == "" || (ok && !running.hasEnded()) {
			return fmt.Errorf("start needs an id that no running candidate has, not %q", c.ID)
		}
		started, err := startCandidate(c.ID, c.candidateSpec, config, reporter)
		if err == nil {
			candidates[c.ID] = started
		}
		return err
	}

	target, ok := candidates[c.ID]
	if !ok {
		return fmt.Errorf("no candidate %q was started", c.ID)
	}
	switch c.Op {
	case "crash":
		target.crash()
		return nil
	case "release":
		return target.release(c.Candidate)
	default:
		return fmt.Errorf("unknown op %q: want start, crash or release", c.Op)
	}
}
