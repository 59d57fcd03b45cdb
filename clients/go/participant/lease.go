package participant

import (
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
	// Whether the Lease was read. Without a Lease it is missing.
	isSynced bool
	lease    *coordinationv1.Lease
	// When this process first saw the current record. Each renewal changes the record.
	since time.Time
	// The greatest leaseTransitions seen so far; -1 before any.
	maxTransitions int32
	// Whether no leader can have had the current leaseTransitions: they were seen to rise by a grant that is not renewed yet.
	isTokenUnused bool
}

func (s sight) next(lease *coordinationv1.Lease, at time.Time) sight {
	if s.isSynced && isSameRecord(s.lease, lease) {
		s.lease = lease
		return s
	}
	former := int32(-1)
	if s.isSynced {
		former = s.maxTransitions
	}
	transitions := transitionsOf(lease)
	return sight{
		isSynced:       true,
		lease:          lease,
		since:          at,
		maxTransitions: max(former, transitions),
		isTokenUnused:  s.isSynced && transitions > former && isUnrenewedGrant(lease),
	}
}

// isExpired returns whether the same record was seen for its whole duration. Its holder must not renew it any more.
func (s sight) isExpired(now time.Time) bool {
	if s.lease == nil || s.lease.Spec.LeaseDurationSeconds == nil {
		return false
	}
	return !now.Before(s.since.Add(time.Duration(*s.lease.Spec.LeaseDurationSeconds) * time.Second))
}

// nextToken returns the fencing token of a term that begins now. It is never that of an earlier term: the coordinator raises
// leaseTransitions only when it grants the Lease to another holder.
func (s sight) nextToken() int32 {
	if s.isTokenUnused {
		return s.maxTransitions
	}
	if s.maxTransitions == maxTransitions {
		return maxTransitions
	}
	return s.maxTransitions + 1
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func transitionsOf(lease *coordinationv1.Lease) int32 {
	if lease == nil {
		return -1
	}
	if lease.Spec.LeaseTransitions == nil {
		return 0
	}
	return *lease.Spec.LeaseTransitions
}

// preferredHolderOf returns the field, or else the note.
func preferredHolderOf(lease *coordinationv1.Lease) string {
	if lease == nil {
		return ""
	}
	if lease.Spec.PreferredHolder != nil && *lease.Spec.PreferredHolder != "" {
		return *lease.Spec.PreferredHolder
	}
	return lease.Annotations[preferredHolderNote]
}

// isUnrenewedGrant returns whether the Lease was granted and not renewed since: a renewal changes renewTime, and keeps
// acquireTime.
func isUnrenewedGrant(lease *coordinationv1.Lease) bool {
	if lease == nil || lease.Spec.AcquireTime == nil || lease.Spec.RenewTime == nil {
		return false
	}
	return lease.Spec.AcquireTime.Time.Equal(lease.Spec.RenewTime.Time)
}

func isSameRecord(a, b *coordinationv1.Lease) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && holderOf(a) == holderOf(b) && transitionsOf(a) == transitionsOf(b) &&
		a.Spec.RenewTime.Equal(b.Spec.RenewTime) && isSame(a.Spec.LeaseDurationSeconds, b.Spec.LeaseDurationSeconds)
}

func isSame[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// renewalPatch returns a JSON merge patch, so that all other fields stay, also unknown ones.
func renewalPatch(lease *coordinationv1.Lease, wallTime time.Time, durationSeconds int, token int32) ([]byte, error) {
	return leasePatch(lease, map[string]any{
		"leaseDurationSeconds": durationSeconds,
		"leaseTransitions":     token,
		"renewTime":            newTime(lease, wallTime),
	})
}

// releasePatch changes the same fields as client-go's elector, except for acquireTime: a release is no grant.
func releasePatch(lease *coordinationv1.Lease, wallTime time.Time) ([]byte, error) {
	return leasePatch(lease, map[string]any{
		"holderIdentity":       "",
		"leaseDurationSeconds": 1,
		"renewTime":            newTime(lease, wallTime),
	})
}

// leasePatch names the state that it was decided on: the server refuses it for any other.
func leasePatch(lease *coordinationv1.Lease, spec map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": lease.UID, "resourceVersion": lease.ResourceVersion},
		"spec":     spec,
	})
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

func leaseFrom(object *unstructured.Unstructured) (*coordinationv1.Lease, error) {
	if object == nil {
		return nil, nil
	}
	lease := &coordinationv1.Lease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, lease); err != nil {
		return nil, fmt.Errorf("the Lease cannot be read: %w", err)
	}
	return lease, nil
}
