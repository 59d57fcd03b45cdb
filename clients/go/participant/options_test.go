package participant

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

type pod struct {
	name, namespace, uid string
}

func inPod(t *testing.T, p pod) *rest.Config {
	t.Helper()
	t.Setenv("POD_NAME", p.name)
	t.Setenv("POD_NAMESPACE", p.namespace)
	t.Setenv("POD_UID", p.uid)
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	return &rest.Config{Host: "https://10.0.0.1:443"}
}

func TestOptionsThatAreRefused(t *testing.T) {
	valid := Options{Lease: "tenant-operator", Namespace: "apps", Version: "1.4.2", Identity: self}
	cases := map[string]struct {
		change func(*Options)
		says   string
	}{
		"no Lease":               {func(o *Options) { o.Lease = "" }, `option Lease: "" is no name`},
		"a Lease of no name":     {func(o *Options) { o.Lease = "Tenant" }, `option Lease: "Tenant" is no name`},
		"no namespace":           {func(o *Options) { o.Namespace = "" }, "option Namespace: unknown"},
		"an identity of no name": {func(o *Options) { o.Identity = "a_b" }, `option Identity: "a_b" is no name`},
		"no version":             {func(o *Options) { o.Version = "" }, `option Version: "" is no semantic version`},
		"a version of two parts": {func(o *Options) { o.Version = "1.4" }, `option Version: "1.4" is no semantic version`},
		"a leading zero":         {func(o *Options) { o.Version = "1.04.2" }, `"1.04.2" is no semantic version`},
		"the version 0.0.0":      {func(o *Options) { o.Version = "0.0.0" }, "counts as no version for the API server"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			options := valid
			test.change(&options)
			_, err := New(inPod(t, pod{}), options)
			if err == nil || !strings.HasPrefix(err.Error(), "participant: ") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("New says %v", err)
			}
		})
	}
	if _, err := New(inPod(t, pod{}), Options{Lease: "-", Version: "1"}); err == nil || strings.Count(err.Error(), "option ") < 3 {
		t.Errorf("not all problems are named: %v", err)
	}
}

func TestDefaultsOfOptions(t *testing.T) {
	owner := pod{name: "web-1", namespace: "apps", uid: "0123456789"}
	s, err := settingsOf(inPod(t, owner), Options{Lease: "web", Version: "v1.4.2"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Identity != "web-1-01234567" || s.Namespace != "apps" || s.Version != "1.4.2" ||
		s.Strategy != defaultStrategy || *s.GracefulShutdownTimeout != 30*time.Second || s.owner == nil || s.owner.Name != owner.name || string(s.owner.UID) != owner.uid {
		t.Errorf("the defaults are %+v", s)
	}
	s, err = settingsOf(inPod(t, owner), Options{
		Lease: "web", Version: "1.4.2", Namespace: "elections", GracefulShutdownTimeout: ptr.To(time.Minute),
	})
	if err != nil || s.owner != nil || *s.GracefulShutdownTimeout != time.Minute {
		t.Errorf("a Pod of another namespace cannot own the LeaseCandidate: %+v, %v", s, err)
	}
	elsewhere := inPod(t, owner)
	elsewhere.Host = "https://elsewhere"
	if s, err = settingsOf(elsewhere, Options{Lease: "web", Version: "1.4.2"}); err != nil || s.owner != nil {
		t.Errorf("a Pod of another cluster cannot own the LeaseCandidate: %+v, %v", s, err)
	}
	one, _ := settingsOf(inPod(t, pod{}), Options{Lease: "web", Version: "1.4.2", Namespace: "apps"})
	other, err := settingsOf(inPod(t, pod{}), Options{Lease: "web", Version: "1.4.2", Namespace: "apps"})
	if err != nil || one.Identity == other.Identity {
		t.Errorf("two runs outside of Pods are both %q, %v", one.Identity, err)
	}
}
