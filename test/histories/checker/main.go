// Command checker reads the history of a run from a file of JSON lines (see records.ts) and checks that single objects are
// linearizable, that lists are of one revision, and that watches neither lose, repeat nor reorder events.
//
// It prints one JSON object: what is wrong, and figures. Exit code 0: nothing is wrong; 1: something is; 2: the history
// cannot be read.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// verdict is what the program prints.
type verdict struct {
	Problems []string `json:"problems"`
	Figures  figures  `json:"figures"`
}

type figures struct {
	Operations  int   `json:"operations"`
	Refused     int   `json:"refused"`
	Unknown     int   `json:"unknown"`
	Resolved    int   `json:"unknownSeenLater"`
	Lists       int   `json:"lists"`
	WatchEvents int   `json:"watchEvents"`
	Bookmarks   int   `json:"bookmarks"`
	Spans       int   `json:"watchSpans"`
	Resumed     int   `json:"watchesResumed"`
	Expired     int   `json:"watchesExpired"`
	States      int   `json:"states"`
	Objects     int   `json:"objects"`
	Millis      int64 `json:"checkMs"`
}

func main() {
	path := flag.String("history", "", "file of JSON lines to check (required)")
	pictures := flag.String("pictures", "", "existing folder for pictures of violations (required)")
	timeout := flag.Duration("timeout", 2*time.Minute, "how long the operations of one object may take to check")
	flag.Parse()
	if *path == "" || *pictures == "" {
		fail(fmt.Errorf("--history and --pictures are required"))
	}
	file, err := os.Open(*path)
	if err != nil {
		fail(err)
	}
	defer file.Close()
	started := time.Now()
	history, err := readHistory(file)
	if err != nil {
		fail(fmt.Errorf("%s: %w", *path, err))
	}
	result := check(history, *pictures, *timeout)
	result.Figures.Millis = time.Since(started).Milliseconds()
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
	if len(result.Problems) > 0 {
		os.Exit(1)
	}
}

func check(history *history, pictures string, timeout time.Duration) verdict {
	found := &problems{list: []string{}}
	known := gatherStates(history, found)
	resolved := resolveUnknown(history, known)
	objects := checkRegisters(history, found, pictures, timeout)
	checkRevisionsGrow(history, known, found)
	checkLifetimes(known, found)
	checkLists(history, known, found)
	spans := checkWatches(history, known, found)
	result := verdict{Problems: found.list, Figures: history.counts()}
	result.Figures.Resolved = resolved
	result.Figures.Objects = objects
	result.Figures.Spans = spans
	result.Figures.States = len(known.states)
	return result
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "checker:", err)
	os.Exit(2)
}

// problems keeps the first of each kind: one fault of a server shows in many places.
type problems struct {
	list   []string
	counts map[string]int
}

const problemsOfAKind = 5

func (p *problems) add(kind, format string, values ...any) {
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[kind]++
	if p.counts[kind] <= problemsOfAKind {
		p.list = append(p.list, kind+": "+fmt.Sprintf(format, values...))
	}
}
