// Package participant lets an operator take part in coordinated leader election. A coordinator decides which copy of the
// operator leads: the best version, the highest priority, or the copy that a user asks for. The copies never take the Lease
// by themselves.
//
// [Participant.Lock] turns an ordinary elector of client-go into a coordinated one. The elector sees the Lease as held by
// another until the coordinator grants it, and takes up a grant in milliseconds. The example of Lock has such an elector.
//
// [Participant.Context] returns the context of the manager. It ends when the parent ends, and when the lead has to be given up. The
// manager then stops its runnables, and releases the Lease after that. The coordinator knows this copy by a LeaseCandidate, which is
// published when the elector runs. The example of Context has the manager of controller-runtime.
//
// A Participant is for one run of a process, like a manager: when its context has ended, it does not lead again.
package participant
