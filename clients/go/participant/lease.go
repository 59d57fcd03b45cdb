package participant

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	group = "coordinated-leader-election.dev"
	// The coordinator recognises the renewals and releases of a participant by this field manager.
	fieldManager = "coordinated-leader-election-participant"
	// The note that names the preferred holder where the API server drops the field.
	preferredHolderNote = group + "/preferred-holder"
	// The share of a Lease's duration for which its holder may believe that it leads. The clocks of two machines may run 5 % fast
	// and 5 % slow.
	safePercent    = 90
	maxTransitions = 1<<31 - 1
)

// sight is what this process has seen of the Lease. It is immutable: next returns the following one.
type sight struct {
	// The Lease. It has no uid while it is missing.
	lease coordinationv1.Lease
	// When this process first saw the current record; the zero time before it has seen any. Each renewal changes the record.
	since time.Time
	// The greatest leaseTransitions seen so far; -1 before any.
	maxTransitions int32
	// Whether no leader can have had the current leaseTransitions: they were seen to rise by a grant that is not renewed yet.
	isTokenUnused bool
}

func (s sight) next(lease coordinationv1.Lease, at time.Time) sight {
	if !s.since.IsZero() && isSameRecord(&s.lease, &lease) {
		s.lease = lease
		return s
	}
	transitions := int32(-1)
	if lease.UID != "" {
		transitions = ptr.Deref(lease.Spec.LeaseTransitions, 0)
	}
	// A renewal changes renewTime, and keeps acquireTime.
	isUnrenewed := lease.Spec.AcquireTime != nil && lease.Spec.AcquireTime.Equal(lease.Spec.RenewTime)
	return sight{
		lease:          lease,
		since:          at,
		maxTransitions: max(s.maxTransitions, transitions),
		isTokenUnused:  !s.since.IsZero() && transitions > s.maxTransitions && isUnrenewed,
	}
}

func (s sight) holder() string {
	return ptr.Deref(s.lease.Spec.HolderIdentity, "")
}

// preferredHolder returns the field, or else the note.
func (s sight) preferredHolder() string {
	if preferred := ptr.Deref(s.lease.Spec.PreferredHolder, ""); preferred != "" {
		return preferred
	}
	return s.lease.Annotations[preferredHolderNote]
}

// isExpired returns whether the same record was seen for its whole duration. Its holder must not renew it any more.
func (s sight) isExpired(now time.Time) bool {
	seconds := s.lease.Spec.LeaseDurationSeconds
	return seconds != nil && !now.Before(s.since.Add(time.Duration(*seconds)*time.Second))
}

// nextToken returns the fencing token of a term that begins now. It is never that of an earlier term: the coordinator raises
// leaseTransitions only when it grants the Lease to another holder.
func (s sight) nextToken() int32 {
	if s.isTokenUnused || s.maxTransitions == maxTransitions {
		return s.maxTransitions
	}
	return s.maxTransitions + 1
}

func isSameRecord(a, b *coordinationv1.Lease) bool {
	return a.UID == b.UID && a.Spec.RenewTime.Equal(b.Spec.RenewTime) &&
		ptr.Equal(a.Spec.HolderIdentity, b.Spec.HolderIdentity) &&
		ptr.Equal(a.Spec.LeaseTransitions, b.Spec.LeaseTransitions) &&
		ptr.Equal(a.Spec.LeaseDurationSeconds, b.Spec.LeaseDurationSeconds)
}

// newTime returns the first time from wallTime on that is not in the Lease yet. A changed renewTime shows a renewal; a renewTime
// equal to acquireTime would show a grant.
func newTime(lease *coordinationv1.Lease, wallTime time.Time) metav1.MicroTime {
	at := metav1.NewMicroTime(wallTime.Truncate(time.Microsecond))
	for at.Equal(lease.Spec.RenewTime) || at.Equal(lease.Spec.AcquireTime) {
		at.Time = at.Add(time.Microsecond)
	}
	return at
}

// term is a time of leading. It begins with the answer to the first renewal of a grant.
type term struct {
	// The leaseTransitions of all its renewals.
	token    int32
	duration time.Duration
	// When the last successful renewal was sent.
	renewedAt time.Time
	// The elector does not give up before this time by itself.
	electorLastsUntil time.Time
	// Whether the Lease has, or had in between, another holder.
	isTaken bool
	// Whether the work is known to have ended.
	isOver bool
	// Runs when the time of the term is over.
	overrun *time.Timer
}

// remaining returns for how long no other candidate can lead.
func (t *term) remaining(now time.Time) time.Duration {
	if t == nil || t.isTaken || t.isOver {
		return 0
	}
	return max(0, t.endsAt().Sub(now))
}

// endsAt returns when the last renewal stops to count, by this machine's monotonic clock.
func (t *term) endsAt() time.Time {
	return t.renewedAt.Add(t.duration * safePercent / 100)
}
