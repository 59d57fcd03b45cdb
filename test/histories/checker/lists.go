package main

import "slices"

// checkLists checks that each list shows the state of its revision: each object as its last write before that left it.
func checkLists(h *history, k *known, found *problems) {
	ofResource := map[string][]key{}
	for where := range k.ofKey {
		ofResource[where.Resource] = append(ofResource[where.Resource], where)
	}
	deletes := map[key][]*operation{}
	for _, each := range h.operations {
		if each.Verb == "delete" && each.Result != refused {
			deletes[each.key] = append(deletes[each.key], each)
		}
	}
	for _, each := range h.lists {
		shown := map[key]content{}
		for _, item := range each.Items {
			where := key{each.Resource, item.Namespace, item.Name}
			if _, isTwice := shown[where]; isTwice {
				found.add("an object twice in a list", "%s at revision %d", where, each.ResourceVersion)
			}
			shown[where] = item.content
		}
		for _, where := range ofResource[each.Resource] {
			if each.Namespace == "" || each.Namespace == where.Namespace {
				checkListed(each, where, shown, k, deletes[where], found)
			}
		}
	}
}

func checkListed(l *list, where key, shown map[key]content, k *known, deletes []*operation, found *problems) {
	item, isShown := shown[where]
	if isShown && item.ResourceVersion > l.ResourceVersion {
		found.add("a list from several revisions", "that of revision %d shows %s as %v", l.ResourceVersion, where, item)
		return
	}
	last := lastUpTo(k.ofKey[where], l.ResourceVersion)
	if last == nil {
		return
	}
	end, isDeleted := k.deletions[last.UID]
	isGone := isDeleted && end.revision <= l.ResourceVersion
	switch {
	case isShown && isGone:
		found.add("a deleted object in a list", "that of revision %d shows %s as %v, which was deleted at %d",
			l.ResourceVersion, where, item, end.revision)
	case isShown && item.ResourceVersion != last.ResourceVersion:
		found.add("an old object in a list", "that of revision %d shows %s as %v, though it was %v",
			l.ResourceVersion, where, item, last.content)
	case !isShown && isDeleted && !isGone, !isShown && !isDeleted && !mayBeDeleted(last.UID, l, deletes):
		found.add("an object missing from a list", "that of revision %d lacks %s, which was %v",
			l.ResourceVersion, where, last.content)
	}
}

// mayBeDeleted says whether a deletion of which no watcher told can explain that the object is not in the list.
func mayBeDeleted(uid string, l *list, deletes []*operation) bool {
	for _, each := range deletes {
		if each.Call <= l.Return && (each.Seen == nil || each.Seen.UID == uid) {
			return true
		}
	}
	return false
}

func lastUpTo(states []*state, revision int64) *state {
	count, _ := slices.BinarySearchFunc(states, revision+1, func(each *state, revision int64) int {
		return int(each.ResourceVersion - revision)
	})
	if count == 0 {
		return nil
	}
	return states[count-1]
}
