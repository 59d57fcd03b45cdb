package participant

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/internal/testcluster"
)

// stand takes part without an elector.
func stand(t *testing.T, cfg *rest.Config, options Options) *Participant {
	t.Helper()
	p, err := New(cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	p.Context(context.Background())
	t.Cleanup(p.withdraw)
	return p
}

// elect reads the lock, as an elector does first.
func elect(t *testing.T, p *Participant) {
	go func() { _, _, _ = p.Lock().Get(t.Context()) }()
}

// published returns the LeaseCandidate, once it is published.
func published(t *testing.T, p *Participant) *unstructured.Unstructured {
	t.Helper()
	eventually(t, "the LeaseCandidate is published", func() bool { return p.Ready(nil) == nil })
	object, err := stored(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// stored reads the LeaseCandidate from the server.
func stored(t *testing.T, p *Participant) (*unstructured.Unstructured, error) {
	return dynamic.NewForConfigOrDie(cluster.Config).Resource(sources[0].WithResource("leasecandidates")).Namespace("default").
		Get(t.Context(), p.Identity(), metav1.GetOptions{})
}

// A copy without an elector cannot take up a grant: a manager fills its caches before.
func TestCandidateWaitsForTheElector(t *testing.T) {
	t.Parallel()
	p := stand(t, cluster.Config, Options{Lease: nameOf(t), Namespace: "default", Version: "1.0.0", Identity: nameOf(t)})
	time.Sleep(500 * time.Millisecond)
	if p.Ready(nil) == nil {
		t.Error("the LeaseCandidate is published before the elector runs")
	}
	elect(t, p)
	published(t, p)
}

func TestCandidateLeavesWhenTheWorkGoesOnAfterItsTime(t *testing.T) {
	t.Parallel()
	name := nameOf(t)
	create(t, granted(name, name))
	overrun := make(chan struct{})
	p := stand(t, cluster.Config, Options{
		Lease: name, Namespace: "default", Version: "1.0.0", Identity: name, OnOverrun: func() { close(overrun) },
	})
	elect(t, p)
	published(t, p)
	if err := p.Lock().Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: name, LeaseDurationSeconds: 6}); err != nil {
		t.Fatal(err)
	}
	<-overrun
	eventually(t, "the LeaseCandidate is deleted", func() bool {
		_, err := stored(t, p)
		return apierrors.IsNotFound(err)
	})
}

// The native API has the priority in an annotation. It stays after a crash, under the same identity.
func TestPriorityOfAnEarlierRun(t *testing.T) {
	cases := map[string]struct {
		// Annotations that another client sets in between.
		set map[string]any
		// The priority of the second run.
		priority int32
		wanted   string
	}{
		"is removed":                     {nil, 0, ""},
		"is replaced":                    {nil, 7, "7"},
		"is another client's":            {map[string]any{priorityAnnotation: "9"}, 0, "9"},
		"has an end":                     {map[string]any{priorityUntilAnnotation: "2100-01-01T00:00:00Z"}, 0, "5"},
		"is set by a drain":              {map[string]any{prioritySetByAnnotation: "drain"}, 0, "5"},
		"is set by a drain, and differs": {map[string]any{prioritySetByAnnotation: "drain"}, 7, "5"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := nameOf(t)
			options := Options{Lease: name, Namespace: "default", Version: "1.0.0", Identity: name, Priority: 5}
			former := stand(t, cluster.Config, options)
			elect(t, former)
			object := published(t, former)
			// It crashes.
			former.candidate.stop()
			former.candidate.work.Wait()
			if test.set != nil {
				body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": test.set}})
				_, err := dynamic.NewForConfigOrDie(cluster.Config).Resource(sources[0].WithResource("leasecandidates")).
					Namespace("default").Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "test"})
				if err != nil {
					t.Fatal(err)
				}
			}
			options.Priority = test.priority
			next := stand(t, cluster.Config, options)
			elect(t, next)
			after := published(t, next)
			if after.GetUID() != object.GetUID() || after.GetAnnotations()[priorityAnnotation] != test.wanted {
				t.Errorf("the LeaseCandidate has the annotations %v", after.GetAnnotations())
			}
		})
	}
}

// Who may use LeaseCandidates of this project only, and who may use all.
const tokens = `
- name: all
  token: token-of-all
  access: admin
- name: custom
  token: token-of-custom
  access:
    - {verbs: [get, list, watch, patch], groups: [coordination.k8s.io], resources: [leases]}
    - verbs: [get, list, watch, create, patch, delete]
      groups: [coordinated-leader-election.dev]
      resources: [leasecandidates]
`

// The server is restarted with other versions of LeaseCandidate. Each program has one object, in the best version that it may use.
func TestCandidateMovesToTheBestVersion(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tokens.yaml"), []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	serving := func(versions string) []string {
		return []string{
			"--data-dir", filepath.Join(folder, "data"), "--tokens", filepath.Join(folder, "tokens.yaml"),
			"--leasecandidate-versions", versions,
		}
	}
	custom, both := customVersion.String(), "v1beta1,"+customVersion.String()
	server, err := testcluster.Start(serving(both)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	admin := rest.CopyConfig(server.Config)
	admin.BearerToken = "token-of-all"
	for _, token := range []string{"token-of-all", "token-of-custom"} {
		cfg := rest.CopyConfig(server.Config)
		cfg.BearerToken = token
		elect(t, stand(t, cfg, Options{Lease: "web", Namespace: "default", Version: "1.0.0", Identity: token}))
	}
	client := dynamic.NewForConfigOrDie(admin)
	isIn := func(version schema.GroupVersion, name string) bool {
		_, err := client.Resource(version.WithResource("leasecandidates")).Namespace("default").
			Get(t.Context(), name, metav1.GetOptions{})
		return err == nil
	}
	native := sources[0]
	eachIsIn := func(ofAll, former schema.GroupVersion) {
		t.Helper()
		eventually(t, "the one that may use all is in "+ofAll.String()+" only", func() bool {
			return isIn(ofAll, "token-of-all") && !isIn(former, "token-of-all")
		})
		eventually(t, "the other is in "+customVersion.String()+" only", func() bool {
			return isIn(customVersion, "token-of-custom") && !isIn(native, "token-of-custom")
		})
	}
	eachIsIn(native, customVersion)
	if err := server.Restart(serving(custom)...); err != nil {
		t.Fatal(err)
	}
	eachIsIn(customVersion, native)
	// The server still has the former LeaseCandidate.
	if err := server.Restart(serving(both)...); err != nil {
		t.Fatal(err)
	}
	eachIsIn(native, customVersion)
}
