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
	metadata, spec := declared(version, s)
	metadata["name"] = s.Identity
	spec["leaseName"], spec["renewTime"] = s.Lease, formatTime(wallTime)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version.String(),
		"kind":       "LeaseCandidate",
		"metadata":   metadata,
		"spec":       spec,
	}}
}

// patchOf returns the JSON merge patch of a renewal, which also answers the last ping. It gives a LeaseCandidate of an earlier run
// the fields of a new one. The server refuses it for a re-created object.
func patchOf(p *publication, object *unstructured.Unstructured, s settings, wallTime time.Time) ([]byte, error) {
	metadata, spec := map[string]any{}, map[string]any{}
	if object.GetUID() != p.uid {
		metadata, spec = declared(p.version, s)
		// A priority that a drain or a transfer has set stays: they remove it themselves.
		if _, isSetForAWhile := object.GetAnnotations()[prioritySetByAnnotation]; isSetForAWhile {
			delete(metadata, "annotations")
		}
	}
	metadata["uid"], spec["renewTime"] = object.GetUID(), renewTimeAfter(object, wallTime)
	return json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
}

// declared returns the fields that the options say.
func declared(version schema.GroupVersion, s settings) (metadata, spec map[string]any) {
	metadata = map[string]any{}
	spec = map[string]any{"binaryVersion": s.Version, "emulationVersion": s.Version, "strategy": s.Strategy}
	if version == customVersion {
		spec["priority"] = int64(s.Priority)
	} else if s.Priority != 0 {
		// The native API drops unknown fields.
		metadata["annotations"] = map[string]any{priorityAnnotation: strconv.Itoa(int(s.Priority))}
	}
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
			"apiVersion": "v1", "kind": "Pod", "name": s.owner.name, "uid": s.owner.uid,
		}}
	}
	return metadata, spec
}

// renewTimeAfter returns a time after the ping, also if the local clock is behind, and other than the last renewTime.
func renewTimeAfter(object *unstructured.Unstructured, wallTime time.Time) string {
	at := wallTime.Truncate(time.Microsecond)
	if ping, err := time.Parse(time.RFC3339Nano, pingTimeOf(object)); err == nil && !ping.Before(at) {
		at = ping.Add(time.Microsecond)
	}
	if formatTime(at) == specField(object, "renewTime") {
		at = at.Add(time.Microsecond)
	}
	return formatTime(at)
}

func formatTime(at time.Time) string {
	return at.UTC().Format(metav1.RFC3339Micro)
}

func pingTimeOf(object *unstructured.Unstructured) string {
	return specField(object, "pingTime")
}

// specField returns a field of the spec, or "".
func specField(object *unstructured.Unstructured, name string) string {
	if object == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(object.Object, "spec", name)
	return value
}
