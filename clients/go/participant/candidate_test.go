package participant

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/internal/testcluster"
)

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
		p, err := New(cfg, Options{Lease: "web", Namespace: "default", Version: "1.0.0", Identity: token})
		if err != nil {
			t.Fatal(err)
		}
		p.Context(context.Background())
		t.Cleanup(p.withdraw)
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
