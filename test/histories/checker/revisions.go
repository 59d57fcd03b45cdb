package main

import "slices"

type sighting struct {
	at       int64
	revision int64
}

// sightings say which revision somebody had seen by when.
func sightings(h *history) []sighting {
	var all []sighting
	for _, each := range h.operations {
		if each.Result == ok && each.Verb != "delete" {
			all = append(all, sighting{each.Return, each.Seen.ResourceVersion})
		}
	}
	for _, each := range h.lists {
		all = append(all, sighting{each.Return, each.ResourceVersion})
	}
	for _, records := range h.watches {
		for _, each := range records {
			if each.Event != "RESUMED" && each.Event != "EXPIRED" {
				all = append(all, sighting{each.At, each.ResourceVersion})
			}
		}
	}
	slices.SortFunc(all, func(a, b sighting) int { return int(a.at - b.at) })
	highest := int64(0)
	for index := range all {
		highest = max(highest, all[index].revision)
		all[index].revision = highest
	}
	return all
}

// highestBefore is the highest revision that anybody had seen before this time.
func highestBefore(seen []sighting, time int64) int64 {
	index, _ := slices.BinarySearchFunc(seen, time, func(each sighting, time int64) int {
		if each.at < time {
			return -1
		}
		return 1
	})
	if index == 0 {
		return 0
	}
	return seen[index-1].revision
}

// checkRevisionsGrow checks all objects together: a write gets a higher revision than any that was seen before it began,
// also by way of another object or another server process; and a list is of no older one.
func checkRevisionsGrow(h *history, k *known, found *problems) {
	seen := sightings(h)
	for _, each := range h.operations {
		if !each.writes() || each.Seen == nil || each.Verb == "delete" {
			continue
		}
		if highest := highestBefore(seen, each.Call); each.Seen.ResourceVersion <= highest {
			found.add("a revision that was there before", "%s of %s got %d, though %d had been seen before it began",
				each.Mark, each.key, each.Seen.ResourceVersion, highest)
		}
	}
	for _, each := range h.lists {
		if highest := highestBefore(seen, each.Call); !each.Past && each.ResourceVersion < highest {
			found.add("a stale list", "one of %s is of revision %d, though %d had been seen before it began",
				each.Resource, each.ResourceVersion, highest)
		}
	}
	for revision, each := range k.deletionsAt {
		if state, isState := k.states[revision]; isState {
			found.add("two changes of one revision", "%d is %v of %s, and the deletion of %s",
				revision, state.content, state.key, each.key)
		}
	}
}
