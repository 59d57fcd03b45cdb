package main

import "slices"

// state is what an object was from one revision on.
type state struct {
	key
	content
	// seenAt is the first time at which a client had seen it.
	seenAt int64
}

// deletion is the end of the object of one uid.
type deletion struct {
	key
	revision int64
	last     content
}

// known is the union of all that clients and watchers saw.
type known struct {
	// states has each state by its revision.
	states map[int64]*state
	// ofKey has the states of each object in the order of their revisions.
	ofKey map[key][]*state
	// deletions by uid.
	deletions map[string]*deletion
	// deletionsAt has the same by revision.
	deletionsAt map[int64]*deletion
	byMark      map[string]*state
	// revisions in order, of states and deletions.
	revisions []int64
}

// gatherStates joins what all clients and watchers saw. They must agree, and all of it must have been written by a client.
func gatherStates(h *history, found *problems) *known {
	result := &known{
		states: map[int64]*state{}, ofKey: map[key][]*state{}, byMark: map[string]*state{},
		deletions: map[string]*deletion{}, deletionsAt: map[int64]*deletion{},
	}
	writes := map[string]*operation{}
	for _, each := range h.operations {
		if each.Mark != "" {
			writes[each.Mark] = each
		}
	}
	for _, each := range h.operations {
		if each.Result == ok && each.Verb != "delete" {
			result.see(each.key, *each.Seen, each.Return, "client "+number(each.Client), writes, found)
		}
	}
	for _, each := range h.lists {
		for _, item := range each.Items {
			result.see(key{each.Resource, item.Namespace, item.Name}, item.content, each.Return, "a list", writes, found)
		}
	}
	for _, watcher := range h.watchers {
		for _, each := range h.watches[watcher] {
			switch each.Event {
			case "ADDED", "MODIFIED":
				result.see(each.key, *each.Seen, each.At, "watcher "+watcher, writes, found)
			case "DELETED":
				result.seeDeletion(each, writes, found)
			}
		}
	}
	for revision, each := range result.states {
		result.ofKey[each.key] = append(result.ofKey[each.key], each)
		result.revisions = append(result.revisions, revision)
	}
	for revision := range result.deletionsAt {
		result.revisions = append(result.revisions, revision)
	}
	slices.Sort(result.revisions)
	for _, states := range result.ofKey {
		slices.SortFunc(states, func(a, b *state) int { return int(a.ResourceVersion - b.ResourceVersion) })
	}
	return result
}

func (k *known) see(where key, what content, at int64, who string, writes map[string]*operation, found *problems) {
	if earlier, isKnown := k.states[what.ResourceVersion]; isKnown {
		if earlier.key != where || earlier.content != what {
			found.add("two states of one revision", "%s sees %s as %v; others see %s as %v",
				who, where, what, earlier.key, earlier.content)
		}
		earlier.seenAt = min(earlier.seenAt, at)
		return
	}
	seen := &state{key: where, content: what, seenAt: at}
	k.states[what.ResourceVersion] = seen
	write, isWritten := writes[what.Mark]
	switch {
	case !isWritten || write.key != where:
		found.add("nobody wrote it", "%s sees %s as %v", who, where, what)
	case write.Result == refused:
		found.add("a refused write took effect", "%s sees %s as %v", who, where, what)
	}
	if earlier, isKnown := k.byMark[what.Mark]; isKnown {
		found.add("one write took effect twice", "%s sees %s as %v, and it was %v", who, where, what, earlier.content)
	} else {
		k.byMark[what.Mark] = seen
	}
}

func (k *known) seeDeletion(event *watchRecord, writes map[string]*operation, found *problems) {
	seen := &deletion{key: event.key, revision: event.ResourceVersion, last: *event.Seen}
	if earlier, isKnown := k.deletions[seen.last.UID]; isKnown {
		if *earlier != *seen {
			found.add("two deletions of one uid", "watcher %s sees that of %s as %v, others as %v of %s",
				event.Watcher, event.key, seen.last, earlier.last, earlier.key)
		}
		return
	}
	if other, isKnown := k.deletionsAt[seen.revision]; isKnown {
		found.add("two deletions of one revision", "%s and %s at %d", other.key, seen.key, seen.revision)
	}
	if write, isWritten := writes[seen.last.Mark]; !isWritten || write.key != seen.key {
		found.add("nobody wrote it", "watcher %s sees the deletion of %s as %v", event.Watcher, seen.key, seen.last)
	}
	k.deletions[seen.last.UID] = seen
	k.deletionsAt[seen.revision] = seen
}

// resolveUnknown fills in what others saw of operations whose answers never came: those were carried out before that.
func resolveUnknown(h *history, k *known) int {
	count := 0
	for _, each := range h.operations {
		if each.Result != unknown || each.Mark == "" {
			continue
		}
		seen, isSeen := k.byMark[each.Mark]
		if !isSeen {
			continue
		}
		count++
		each.resolved = true
		each.Seen = &seen.content
		each.Return = max(seen.seenAt, each.Call)
	}
	return count
}

// checkLifetimes checks that each uid is one span of revisions of its object, which its deletion ends.
func checkLifetimes(k *known, found *problems) {
	for where, states := range k.ofKey {
		ended := map[string]bool{}
		for index, each := range states {
			if ended[each.UID] {
				found.add("an object came back", "%s is uid %s again at revision %d", where, shortUID(each.UID), each.ResourceVersion)
			}
			end, isKnown := k.deletions[each.UID]
			if isKnown && end.revision <= each.ResourceVersion {
				found.add("an object outlived its deletion", "%s of uid %s, deleted at %d, is there at %d",
					where, shortUID(each.UID), end.revision, each.ResourceVersion)
			}
			if index+1 == len(states) || states[index+1].UID == each.UID {
				continue
			}
			ended[each.UID] = true
			if next := states[index+1]; isKnown && end.revision >= next.ResourceVersion {
				found.add("two objects of one name", "%s of uid %s was deleted at %d, but is uid %s at %d",
					where, shortUID(each.UID), end.revision, shortUID(next.UID), next.ResourceVersion)
			}
		}
	}
	for _, each := range k.deletions {
		last := k.lastOf(each.key, each.last.UID)
		if last == nil {
			continue
		}
		shown := each.last
		shown.ResourceVersion = last.ResourceVersion
		// A write that nobody else saw, as its answer was lost with the server, may have been the last one.
		if _, isSeen := k.byMark[shown.Mark]; isSeen && shown != last.content {
			found.add("a deletion shows another state than the last", "%s: %v, after %v", each.key, each.last, last.content)
		}
	}
}

func (k *known) lastOf(where key, uid string) *state {
	var last *state
	for _, each := range k.ofKey[where] {
		if each.UID == uid {
			last = each
		}
	}
	return last
}
