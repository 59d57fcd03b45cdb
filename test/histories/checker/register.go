package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is the state of one object in the model. All of it can be compared with ==.
type register struct {
	exists bool
	// 0: not known, as an operation whose answer never came has made it.
	version int64
	// The least that the version, or that of the deletion, can be.
	least  int64
	uid    string // "": not known
	mark   string
	left   string
	right  string
	digest string // "": not known
}

func number(value int) string { return strconv.Itoa(value) }

// model is that of one object: see step.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return register{} },
		Step: func(current, input, _ any) (bool, any) {
			return step(current.(register), input.(*operation))
		},
		DescribeOperation: func(input, _ any) string { return describe(input.(*operation)) },
		DescribeState: func(current any) string {
			r := current.(register)
			if !r.exists {
				return fmt.Sprintf("absent, since %d at least", r.least)
			}
			return fmt.Sprintf("%s, uid %s, revision %d, left %q, right %q", r.mark, shortUID(r.uid), r.version, r.left, r.right)
		},
	}
}

// step says whether the operation can have had its outcome when the object was in this state, and what that is then.
func step(r register, o *operation) (bool, register) {
	switch {
	case o.Result == refused:
		return mayRefuse(r, o), r
	case o.Result == unknown && !o.resolved:
		return true, afterUnknown(r, o)
	}
	seen := o.Seen
	switch o.Verb {
	case "get":
		return r.shows(seen), shown(seen)
	case "delete":
		isIt := r.exists && (r.uid == "" || r.uid == seen.UID) && r.meets(o)
		return isIt, register{least: r.least + 1, uid: seen.UID}
	case "create":
		return !r.exists && r.canBecome(o, seen, true), shown(seen)
	case "put":
		if !r.exists {
			return createsOnUpdate(o) && o.GivenUID == "" && o.Status != 200 && r.canBecome(o, seen, true), shown(seen)
		}
		return o.GivenVersion != 0 && o.Status != 201 && r.meets(o) && r.canBecome(o, seen, false), shown(seen)
	case "patch":
		return r.exists && r.meets(o) && r.canBecome(o, seen, false), shown(seen)
	}
	return false, r
}

// mayRefuse says whether the server may refuse the operation in this state. What it refuses changes nothing.
func mayRefuse(r register, o *operation) bool {
	switch o.Status {
	case 404:
		return !r.exists && o.Verb != "create" && !(o.Verb == "put" && createsOnUpdate(o))
	case 409:
		switch o.Verb {
		case "create":
			return r.exists
		case "put":
			return r.mayFail(o) || !r.exists && o.GivenUID != ""
		case "patch":
			// Without a precondition, too: the server gives up after five attempts if others write meanwhile.
			return r.exists && o.GivenVersion == 0 || r.mayFail(o)
		case "delete":
			return r.mayFail(o)
		}
	case 422:
		return o.Verb == "put" && r.exists && o.GivenVersion == 0
	}
	return false
}

// afterUnknown is the state if the operation is carried out now. That it never is needs no case of its own: then it comes
// last, as it ends after all others.
func afterUnknown(r register, o *operation) register {
	next := register{exists: true, least: r.least + 1, uid: r.uid, mark: o.Mark, left: r.left, right: r.right}
	if o.Left != nil {
		next.left = *o.Left
	}
	if o.Right != nil {
		next.right = *o.Right
	}
	if !r.exists {
		next.uid = ""
		isCreated := o.Verb == "create" || o.Verb == "put" && createsOnUpdate(o) && o.GivenUID == ""
		if isCreated {
			return next
		}
		return r
	}
	if !r.meets(o) || o.Verb == "create" || o.Verb == "get" || o.Verb == "put" && o.GivenVersion == 0 {
		return r
	}
	if o.Verb == "delete" {
		return register{least: r.least + 1, uid: r.uid}
	}
	return next
}

// shows says whether a reader can see this.
func (r register) shows(seen *content) bool {
	return r.exists &&
		(r.version == seen.ResourceVersion || r.version == 0 && seen.ResourceVersion >= r.least) &&
		(r.uid == "" || r.uid == seen.UID) &&
		r.mark == seen.Mark && r.left == seen.Left && r.right == seen.Right &&
		(r.digest == "" || r.digest == seen.Digest)
}

func shown(seen *content) register {
	return register{
		exists: true, version: seen.ResourceVersion, least: seen.ResourceVersion, uid: seen.UID,
		mark: seen.Mark, left: seen.Left, right: seen.Right, digest: seen.Digest,
	}
}

// meets says whether the object can meet the preconditions.
func (r register) meets(o *operation) bool {
	isVersion := o.GivenVersion == 0 || r.version == o.GivenVersion || r.version == 0 && o.GivenVersion >= r.least
	return isVersion && (o.GivenUID == "" || r.uid == "" || r.uid == o.GivenUID)
}

// mayFail says whether the object can miss a precondition.
func (r register) mayFail(o *operation) bool {
	return r.exists && (o.GivenVersion != 0 && r.version != o.GivenVersion || o.GivenUID != "" && r.uid != o.GivenUID)
}

// canBecome says whether the write leads from this state to what was seen.
func (r register) canBecome(o *operation, seen *content, isNew bool) bool {
	left, right := r.left, r.right
	if o.Left != nil {
		left = *o.Left
	}
	if o.Right != nil {
		right = *o.Right
	}
	isIdentity := isNew && seen.UID != r.uid || !isNew && (r.uid == "" || r.uid == seen.UID)
	return isIdentity && seen.ResourceVersion > r.least && (isNew || seen.ResourceVersion > o.GivenVersion) &&
		seen.Mark == o.Mark && seen.Left == left && seen.Right == right
}

// createsOnUpdate: a PUT of a Lease or of a LeaseCandidate of Kubernetes creates it where there is none; one of a custom
// resource does not.
func createsOnUpdate(o *operation) bool { return !strings.Contains(o.Resource, ".") }

// checkRegisters checks the operations of each object by themselves, and returns how many objects there are.
func checkRegisters(h *history, found *problems, pictures string, timeout time.Duration) int {
	ofKey := map[key][]*operation{}
	for _, each := range h.operations {
		// A read whose answer never came says nothing.
		if each.Result != unknown || each.writes() {
			ofKey[each.key] = append(ofKey[each.key], each)
		}
	}
	keys := make([]key, 0, len(ofKey))
	for each := range ofKey {
		keys = append(keys, each)
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.String(), b.String()) })
	results := make([]porcupine.CheckResult, len(keys))
	var waiting sync.WaitGroup
	// Two at a time: each uses one processor.
	turns := make(chan struct{}, 2)
	for index, each := range keys {
		turns <- struct{}{}
		waiting.Go(func() {
			results[index] = porcupine.CheckOperationsTimeout(model(), timed(ofKey[each], h.end), timeout)
			<-turns
		})
	}
	waiting.Wait()
	for index, each := range keys {
		switch results[index] {
		case porcupine.Illegal:
			found.add("not linearizable", "%s", explain(each, ofKey[each], h.end, pictures))
		case porcupine.Unknown:
			found.add("not decided", "%s has %d operations, and %v were not enough", each, len(ofKey[each]), timeout)
		}
	}
	return len(keys)
}

// timed gives operations of unknown outcome the time after all others to be carried out.
func timed(operations []*operation, end int64) []porcupine.Operation {
	result := make([]porcupine.Operation, 0, len(operations))
	for _, each := range operations {
		until := each.Return
		if each.Result == unknown && !each.resolved {
			until = end + 1
		}
		result = append(result, porcupine.Operation{ClientId: each.Client, Input: each, Call: each.Call, Return: until})
	}
	return result
}

const (
	explainTimeout = 10 * time.Second
	shownAtMost    = 12
)

// explain makes the history of an object as short as possible, draws it, and tells its end.
func explain(where key, operations []*operation, end int64, pictures string) string {
	isIllegal := func(some []*operation) bool {
		return porcupine.CheckOperationsTimeout(model(), timed(some, end), explainTimeout) == porcupine.Illegal
	}
	shortest := withoutIdle(shortestPrefix(operations, isIllegal), isIllegal)
	slices.SortFunc(shortest, func(a, b *operation) int { return int(a.Call - b.Call) })
	path := filepath.Join(pictures, strings.ReplaceAll(where.String(), "/", "_")+".html")
	_, info := porcupine.CheckOperationsVerbose(model(), timed(shortest, end), explainTimeout)
	picture := path
	if err := porcupine.VisualizePath(model(), info, path); err != nil {
		picture = err.Error()
	}
	lines := []string{fmt.Sprintf("%s: %d of its %d operations contradict each other, drawn in %s; the last of them:",
		where, len(shortest), len(operations), picture)}
	for _, each := range shortest[max(0, len(shortest)-shownAtMost):] {
		until := "?"
		if each.Result != unknown {
			until = fmt.Sprintf("%.6f", float64(each.Return)/1e9)
		}
		lines = append(lines, fmt.Sprintf("  %.6f to %s s, client %d: %s", float64(each.Call)/1e9, until, each.Client, describe(each)))
	}
	return strings.Join(lines, "\n")
}

// shortestPrefix ends with the first answer that makes the history illegal. Writes that have no answer yet may happen.
func shortestPrefix(operations []*operation, isIllegal func([]*operation) bool) []*operation {
	var ends []int64
	for _, each := range operations {
		if each.Result != unknown || each.resolved {
			ends = append(ends, each.Return)
		}
	}
	slices.Sort(ends)
	until := func(end int64) []*operation {
		var prefix []*operation
		for _, each := range operations {
			switch {
			case each.Call > end:
			case each.Return <= end || each.Result == unknown && !each.resolved:
				prefix = append(prefix, each)
			case each.writes() && each.Result != refused:
				pending := *each
				pending.Result, pending.resolved, pending.Seen, pending.Return = unknown, false, nil, math.MaxInt64
				prefix = append(prefix, &pending)
			}
		}
		return prefix
	}
	low, high := 0, len(ends)-1
	for low < high {
		middle := (low + high) / 2
		if isIllegal(until(ends[middle])) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return until(ends[low])
}

// withoutIdle leaves out operations that change nothing, as long as the rest is illegal.
func withoutIdle(operations []*operation, isIllegal func([]*operation) bool) []*operation {
	for index := 0; index < len(operations); {
		each := operations[index]
		isIdle := !each.writes() || each.Result == refused || each.Result == unknown && !each.resolved
		rest := slices.Delete(slices.Clone(operations), index, index+1)
		if isIdle && isIllegal(rest) {
			operations = rest
		} else {
			index++
		}
	}
	return operations
}

func describe(o *operation) string {
	asked := o.Verb
	if o.Mark != "" && o.Verb != "delete" {
		asked += " " + o.Mark
	}
	if o.Left != nil {
		asked += fmt.Sprintf(" left=%q", *o.Left)
	}
	if o.Right != nil {
		asked += fmt.Sprintf(" right=%q", *o.Right)
	}
	if o.GivenVersion != 0 {
		asked += fmt.Sprintf(" if at %d", o.GivenVersion)
	}
	if o.GivenUID != "" {
		asked += " if uid " + shortUID(o.GivenUID)
	}
	switch {
	case o.resolved:
		return fmt.Sprintf("%s -> no answer, seen later: %v", asked, o.Seen)
	case o.Result == unknown:
		return asked + " -> no answer"
	case o.Result == refused:
		return fmt.Sprintf("%s -> %d", asked, o.Status)
	case o.Verb == "delete":
		return fmt.Sprintf("%s -> deleted uid %s", asked, shortUID(o.Seen.UID))
	}
	return fmt.Sprintf("%s -> %v", asked, o.Seen)
}
