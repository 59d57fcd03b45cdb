package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// key names one object.
type key struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (k key) String() string { return k.Resource + "/" + k.Namespace + "/" + k.Name }

// content is what an answer, a list or an event shows of an object.
type content struct {
	UID             string `json:"uid"`
	ResourceVersion int64  `json:"resourceVersion"`
	// Mark is the name of the write that made this state: no two writes have the same.
	Mark  string `json:"mark"`
	Left  string `json:"left"`
	Right string `json:"right"`
	// Digest is a hash of the whole object but its resourceVersion; "" if it is not known.
	Digest string `json:"digest"`
}

func (c content) String() string {
	return fmt.Sprintf("%s of uid %s at revision %d (left %q, right %q, digest %s)",
		c.Mark, shortUID(c.UID), c.ResourceVersion, c.Left, c.Right, c.Digest)
}

func shortUID(uid string) string {
	if len(uid) > 8 {
		return uid[:8]
	}
	return uid
}

type outcome string

const (
	ok      outcome = "ok"
	refused outcome = "refused"
	// unknown: the answer never came. The operation may be carried out at any later time, or never.
	unknown outcome = "unknown"
)

// operation is one request about one object. Times are nanoseconds of one monotonic clock.
type operation struct {
	key
	Client int     `json:"client"`
	Call   int64   `json:"call"`
	Return int64   `json:"return"`
	Verb   string  `json:"verb"`
	Status int     `json:"status"`
	Result outcome `json:"outcome"`
	// What a write asks for. A patch leaves Left or Right out.
	Mark  string  `json:"mark"`
	Left  *string `json:"left"`
	Right *string `json:"right"`
	// Preconditions; "" and 0: none.
	GivenUID     string `json:"givenUid"`
	GivenVersion int64  `json:"givenResourceVersion"`
	// Seen is the object in the answer; of a deletion, the uid alone. Filled in by resolveUnknown where others saw it.
	Seen *content `json:"seen"`
	// resolved: the answer never came, but others saw what the operation wrote.
	resolved bool
}

func (o *operation) writes() bool { return o.Verb != "get" }

type item struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	content
}

// list is one complete list, of all of its pages, or of the initial events of a watch.
type list struct {
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
	Resource string `json:"resource"`
	// Namespace is "" for all.
	Namespace       string `json:"namespace"`
	ResourceVersion int64  `json:"resourceVersion"`
	// Past: of a revision that the client asked for, which may be an old one.
	Past  bool   `json:"past"`
	Items []item `json:"items"`
}

// watchRecord is one thing that happened to a watcher, in the order in which it saw them.
type watchRecord struct {
	key
	Watcher string `json:"watcher"`
	At      int64  `json:"at"`
	// Event is LISTED (a new beginning after this revision), RESUMED, ADDED, MODIFIED, DELETED, BOOKMARK or EXPIRED.
	Event           string   `json:"event"`
	ResourceVersion int64    `json:"resourceVersion"`
	Seen            *content `json:"seen"`
}

type history struct {
	operations []*operation
	lists      []*list
	// watches has the records of each watcher; watchers their names in the order of their beginning.
	watches  map[string][]*watchRecord
	watchers []string
	end      int64
}

func readHistory(reader io.Reader) (*history, error) {
	result := &history{watches: map[string][]*watchRecord{}}
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 64<<20)
	for number := 1; lines.Scan(); number++ {
		if err := result.read(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return result, lines.Err()
}

func (h *history) read(line []byte) error {
	var head struct{ Kind string }
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	switch head.Kind {
	case "operation":
		read := &operation{}
		if err := json.Unmarshal(line, read); err != nil {
			return err
		}
		if read.Result == unknown {
			read.Seen = nil
		} else if read.Result == ok && read.Seen == nil {
			return fmt.Errorf("an operation that succeeded has no object")
		}
		h.operations = append(h.operations, read)
		h.end = max(h.end, read.Call, read.Return)
	case "list":
		read := &list{}
		if err := json.Unmarshal(line, read); err != nil {
			return err
		}
		h.lists = append(h.lists, read)
		h.end = max(h.end, read.Return)
	case "watch":
		read := &watchRecord{}
		if err := json.Unmarshal(line, read); err != nil {
			return err
		}
		if _, isKnown := h.watches[read.Watcher]; !isKnown {
			h.watchers = append(h.watchers, read.Watcher)
		}
		h.watches[read.Watcher] = append(h.watches[read.Watcher], read)
		h.end = max(h.end, read.At)
	case "note":
		// For people who read the file.
	default:
		return fmt.Errorf("unknown kind %q", head.Kind)
	}
	return nil
}

func (h *history) counts() figures {
	result := figures{Operations: len(h.operations), Lists: len(h.lists)}
	for _, each := range h.operations {
		switch each.Result {
		case refused:
			result.Refused++
		case unknown:
			result.Unknown++
		}
	}
	for _, records := range h.watches {
		for _, each := range records {
			switch each.Event {
			case "ADDED", "MODIFIED", "DELETED":
				result.WatchEvents++
			case "BOOKMARK":
				result.Bookmarks++
			case "RESUMED":
				result.Resumed++
			case "EXPIRED":
				result.Expired++
			}
		}
	}
	return result
}
