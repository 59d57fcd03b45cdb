package participant

import (
	"encoding/json"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	priorityAnnotation = group + "/priority"
	// Names what has set the priority for a while: a transfer or a drain.
	prioritySetByAnnotation = group + "/priority-set-by"
)

// newLeaseCandidate returns a new LeaseCandidate.
func newLeaseCandidate(version schema.GroupVersion, s settings, wallTime time.Time) *unstructured.Unstructured {
	metadata := declaredMetadata(s)
	metadata["namespace"], metadata["name"] = s.Namespace, s.Identity
	if version != customVersion && s.Priority != 0 {
		metadata["annotations"] = map[string]any{priorityAnnotation: strconv.Itoa(int(s.Priority))}
	}
	spec := declaredSpec(version, s)
	spec["leaseName"] = s.Lease
	spec["renewTime"] = formatTime(wallTime)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version.String(),
		"kind":       "LeaseCandidate",
		"metadata":   metadata,
		"spec":       spec,
	}}
}

// renewalOf returns the JSON merge patch of a renewal, which also answers the last ping. It fails on a re-created object.
func renewalOf(object *unstructured.Unstructured, wallTime time.Time) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.GetUID()},
		"spec":     map[string]any{"renewTime": renewTimeAfter(object, wallTime)},
	})
}

// adoptionOf returns the JSON merge patch that renews a LeaseCandidate of an earlier run, and gives it the fields of a new one.
func adoptionOf(object *unstructured.Unstructured, version schema.GroupVersion, s settings, wallTime time.Time) ([]byte, error) {
	metadata := declaredMetadata(s)
	metadata["uid"] = object.GetUID()
	// A priority that a drain or a transfer has set stays: they remove it themselves.
	_, isSetForAWhile := object.GetAnnotations()[prioritySetByAnnotation]
	if version != customVersion && s.Priority != 0 && !isSetForAWhile {
		metadata["annotations"] = map[string]any{priorityAnnotation: strconv.Itoa(int(s.Priority))}
	}
	spec := declaredSpec(version, s)
	spec["renewTime"] = renewTimeAfter(object, wallTime)
	return json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
}

func declaredMetadata(s settings) map[string]any {
	metadata := map[string]any{}
	if len(s.Labels) > 0 {
		labels := map[string]any{}
		for key, value := range s.Labels {
			labels[key] = value
		}
		metadata["labels"] = labels
	}
	if s.owner != nil {
		// The garbage collector deletes the LeaseCandidate with its Pod.
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": "v1", "kind": "Pod", "name": s.owner.Name, "uid": s.owner.UID,
		}}
	}
	return metadata
}

func declaredSpec(version schema.GroupVersion, s settings) map[string]any {
	spec := map[string]any{
		"binaryVersion":    s.Version,
		"emulationVersion": s.EmulationVersion,
		"strategy":         s.Strategy,
	}
	// The native API drops unknown fields, so that the priority is an annotation there.
	if version == customVersion {
		spec["priority"] = int64(s.Priority)
	}
	return spec
}

// renewTimeAfter returns a time after the ping, also if the local clock is behind, and other than the last renewTime.
func renewTimeAfter(object *unstructured.Unstructured, wallTime time.Time) string {
	at := wallTime.Truncate(time.Microsecond)
	if ping, err := time.Parse(time.RFC3339Nano, pingTimeOf(object)); err == nil && !ping.Before(at) {
		at = ping.Add(time.Microsecond)
	}
	last, _, _ := unstructured.NestedString(object.Object, "spec", "renewTime")
	if formatTime(at) == last {
		at = at.Add(time.Microsecond)
	}
	return formatTime(at)
}

func formatTime(at time.Time) string {
	return at.UTC().Format(metav1.RFC3339Micro)
}

func pingTimeOf(object *unstructured.Unstructured) string {
	ping, _, _ := unstructured.NestedString(object.Object, "spec", "pingTime")
	return ping
}

func leaseNameOf(object *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(object.Object, "spec", "leaseName")
	return name
}
