package main

import (
	"math"
	"slices"
)

// span is what a watcher saw without a gap: all that happened after one revision, up to another.
type span struct {
	watcher   string
	resource  string
	namespace string // "": all
	after     int64
	upTo      int64
	events    []*watchRecord
}

func (s *span) covers(where key) bool {
	return where.Resource == s.resource && (s.namespace == "" || s.namespace == where.Namespace)
}

// checkWatches checks each watcher, from each of its lists to the 410 that made it list anew, over all reconnections
// between them. It returns the number of these spans.
func checkWatches(h *history, k *known, found *problems) int {
	var spans []*span
	for _, watcher := range h.watchers {
		spans = append(spans, spansOf(watcher, h.watches[watcher], found)...)
	}
	writes := map[string]*operation{}
	for _, each := range h.operations {
		writes[each.Mark] = each
	}
	for _, each := range spans {
		checkEvents(each, k, writes, found)
		checkComplete(each, k, found)
	}
	checkDeletionsTold(h, k, spans, found)
	return len(spans)
}

func spansOf(watcher string, records []*watchRecord, found *problems) []*span {
	var spans []*span
	var current *span
	for _, each := range records {
		if current == nil && each.Event != "LISTED" {
			if each.Event != "EXPIRED" {
				found.add("the record of a watcher is incomplete", "%s has %s before a list", watcher, each.Event)
			}
			continue
		}
		switch each.Event {
		case "LISTED":
			current = &span{
				watcher: watcher, resource: each.Resource, namespace: each.Namespace,
				after: each.ResourceVersion, upTo: each.ResourceVersion,
			}
			spans = append(spans, current)
		case "EXPIRED":
			current = nil
		case "RESUMED":
			if each.ResourceVersion != current.upTo {
				found.add("the record of a watcher is incomplete", "%s has come to %d, but goes on from %d",
					watcher, current.upTo, each.ResourceVersion)
			}
		case "BOOKMARK":
			if each.ResourceVersion < current.upTo {
				found.add("a bookmark goes back", "watcher %s gets %d after %d", watcher, each.ResourceVersion, current.upTo)
			}
			current.upTo = max(current.upTo, each.ResourceVersion)
		default:
			if each.ResourceVersion == current.upTo {
				found.add("an event twice", "watcher %s gets %s of %s at revision %d again",
					watcher, each.Event, each.key, each.ResourceVersion)
			} else if each.ResourceVersion < current.upTo {
				found.add("events out of order", "watcher %s gets %s of %s at revision %d after revision %d",
					watcher, each.Event, each.key, each.ResourceVersion, current.upTo)
			}
			current.upTo = max(current.upTo, each.ResourceVersion)
			current.events = append(current.events, each)
		}
	}
	return spans
}

// checkEvents checks that each event belongs to the watch and is of the right type. What it shows was compared with what
// others saw of that revision by gatherStates.
func checkEvents(s *span, k *known, writes map[string]*operation, found *problems) {
	for _, each := range s.events {
		if !s.covers(each.key) {
			found.add("an event of something else", "watcher %s of %s %s gets %s", s.watcher, s.resource, s.namespace, each.key)
		}
		if each.Seen.ResourceVersion != each.ResourceVersion {
			found.add("an event of another revision", "watcher %s gets %s at %d", s.watcher, each.Seen, each.ResourceVersion)
		}
		write, isWritten := writes[each.Seen.Mark]
		if !isWritten || each.Event == "DELETED" {
			continue
		}
		isCreation := write.Verb == "create" || write.Verb == "put" && write.Status == 201
		isEither := write.Verb == "put" && write.Result == unknown
		if !isEither && isCreation != (each.Event == "ADDED") {
			found.add("an event of the wrong type", "watcher %s gets %s of %s for a %s, %v",
				s.watcher, each.Event, each.key, write.Verb, each.Seen)
		}
	}
}

// checkComplete checks that the watcher got each change that anybody knows of.
func checkComplete(s *span, k *known, found *problems) {
	got := map[int64]bool{}
	for _, each := range s.events {
		got[each.ResourceVersion] = true
	}
	first, _ := slices.BinarySearch(k.revisions, s.after+1)
	for _, revision := range k.revisions[first:] {
		if revision > s.upTo {
			return
		}
		if got[revision] {
			continue
		}
		if changed, isState := k.states[revision]; isState && s.covers(changed.key) {
			found.add("a lost event", "watcher %s was told of revisions %d to %d, but not that %s became %v",
				s.watcher, s.after, s.upTo, changed.key, changed.content)
		}
		if ended, isDeletion := k.deletionsAt[revision]; isDeletion && s.covers(ended.key) {
			found.add("a lost event", "watcher %s was told of revisions %d to %d, but not of the deletion of %s at %d",
				s.watcher, s.after, s.upTo, ended.key, revision)
		}
	}
}

// checkDeletionsTold finds deletions that succeeded, but of which no watcher was told, though one saw all of that time:
// the answer to a deletion does not tell its revision.
func checkDeletionsTold(h *history, k *known, spans []*span, found *problems) {
	type write struct{ call, revision int64 }
	var writes []write
	for _, each := range h.operations {
		if each.writes() && each.Seen != nil && each.Verb != "delete" {
			writes = append(writes, write{each.Call, each.Seen.ResourceVersion})
		}
	}
	slices.SortFunc(writes, func(a, b write) int { return int(b.call - a.call) })
	// From the last call to the first: the lowest revision of all writes that began after it.
	lowest := int64(math.MaxInt64)
	for index := range writes {
		lowest = min(lowest, writes[index].revision)
		writes[index].revision = lowest
	}
	firstAfter := func(time int64) int64 {
		count, _ := slices.BinarySearchFunc(writes, time, func(each write, time int64) int {
			if each.call > time {
				return -1
			}
			return 1
		})
		if count == 0 {
			return math.MaxInt64
		}
		return writes[count-1].revision
	}
	for _, each := range h.operations {
		if each.Verb != "delete" || each.Result != ok {
			continue
		}
		last := k.lastOf(each.key, each.Seen.UID)
		if _, isTold := k.deletions[each.Seen.UID]; isTold || last == nil {
			continue
		}
		before := firstAfter(each.Return)
		for _, s := range spans {
			if s.covers(each.key) && s.after <= last.ResourceVersion && s.upTo >= before {
				found.add("a lost event", "watcher %s was told of revisions %d to %d, but not of the deletion of %s between %d and %d",
					s.watcher, s.after, s.upTo, each.key, last.ResourceVersion, before)
			}
		}
	}
}
