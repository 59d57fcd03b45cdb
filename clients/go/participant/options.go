package participant

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// Options say how a program takes part in an election. Lease and Version are required.
type Options struct {
	// Lease is the name of the Lease.
	Lease string
	// Namespace is the namespace of the Lease. Default: POD_NAMESPACE, else the namespace of the service account. Required outside a
	// cluster.
	Namespace string
	// Version is the version of the program in strict semver, such as 1.4.2. A leading "v" is removed.
	Version string
	// Strategy is the strategy of the election, such as coordinated-leader-election.dev/NewestVersion. Default:
	// OldestEmulationVersion.
	Strategy string
	// Priority counts before the version, higher first. A higher one preempts. Default: 0.
	Priority int32
	// Labels are the labels of the LeaseCandidate.
	Labels map[string]string
	// Identity is the name of the LeaseCandidate and of the holder, unique among running programs. Default: the name of the Pod
	// and the first 8 characters of its uid if both are known, else the host's name and a random part.
	Identity string
	// GracefulShutdownTimeout has to be that of the manager. Default: 30 s, as in controller-runtime. A release that comes
	// later than this after the end of the context is refused: the manager has not waited for its runnables.
	GracefulShutdownTimeout *time.Duration
	// OnOverrun is called when the time of the lead is over and the work is not known to have ended. Another copy may lead from
	// then on. Default: log an error, and exit with code 1.
	OnOverrun func()
	// Logger gets structured logs. Default: none.
	Logger logr.Logger
	// Registerer gets the metrics, for example metrics.Registry of controller-runtime. Default: none.
	Registerer prometheus.Registerer
}

const (
	defaultStrategy         = "OldestEmulationVersion"
	defaultGracefulShutdown = 30 * time.Second
	// The holder of a fenced Lease.
	fence         = "fence.coordinated-leader-election.dev"
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// pod is the Pod that the program runs in, as far as the environment says.
type pod struct {
	name, namespace, uid string
}

func podOfEnvironment() pod {
	p := pod{name: os.Getenv("POD_NAME"), namespace: os.Getenv("POD_NAMESPACE"), uid: os.Getenv("POD_UID")}
	if p.namespace == "" {
		// Without the file, there is no Pod.
		namespace, _ := os.ReadFile(namespaceFile)
		p.namespace = strings.TrimSpace(string(namespace))
	}
	return p
}

func (p pod) isKnown() bool {
	return p.name != "" && p.uid != ""
}

// settings are valid options with all defaults.
type settings struct {
	Options
	// The Pod, so that the LeaseCandidate is deleted with it; nil for none.
	owner *metav1.OwnerReference
}

func settingsOf(cfg *rest.Config, options Options) (settings, error) {
	s, p := settings{Options: options}, podOfEnvironment()
	s.Version = strings.TrimPrefix(options.Version, "v")
	s.Strategy = cmp.Or(options.Strategy, defaultStrategy)
	s.Namespace = cmp.Or(options.Namespace, p.namespace)
	s.GracefulShutdownTimeout = cmp.Or(options.GracefulShutdownTimeout, ptr.To(defaultGracefulShutdown))
	if s.Identity == "" {
		s.Identity = defaultIdentity(p)
	}
	if s.Logger.GetSink() == nil {
		s.Logger = logr.Discard()
	}
	// The garbage collector looks for the owner in the namespace of the LeaseCandidate. It would delete a LeaseCandidate whose
	// owner is not there.
	if p.isKnown() && p.namespace == s.Namespace && isClusterOfPod(cfg) {
		s.owner = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.name, UID: types.UID(p.uid)}
	}
	if err := s.validate(); err != nil {
		return s, fmt.Errorf("participant: %w", err)
	}
	return s, nil
}

func (s *settings) validate() error {
	var problems []error
	refuse := func(option, value, reason string) {
		problems = append(problems, fmt.Errorf("option %s: %q %s", option, value, reason))
	}
	if len(validation.IsDNS1123Subdomain(s.Lease)) > 0 {
		refuse("Lease", s.Lease, "is no name of an object; give the name of a Lease, such as tenant-operator")
	}
	if len(validation.IsDNS1123Subdomain(s.Identity)) > 0 {
		refuse("Identity", s.Identity, `is no name of an object; give a DNS subdomain: lowercase letters, digits, "-" and "."`)
	}
	if s.Identity == fence {
		refuse("Identity", s.Identity, "is the holder of fenced Leases; give another")
	}
	if s.Namespace == "" {
		problems = append(problems, errors.New("option Namespace: none is known; give that of the Lease, or set POD_NAMESPACE"))
	}
	parsed, err := version.ParseSemantic(s.Version)
	switch {
	case err != nil:
		refuse("Version", s.Version, "is no semantic version; give one such as 1.4.2")
	case parsed.EqualTo(version.MustParseSemantic("0.0.0")):
		refuse("Version", s.Version, "counts as none for the API server; give 0.0.1 or a higher one")
	}
	return errors.Join(problems...)
}

// defaultIdentity survives a restart of the container in a Pod. Elsewhere each run has its own.
func defaultIdentity(p pod) string {
	if p.isKnown() {
		return p.name + "-" + p.uid[:min(8, len(p.uid))]
	}
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return strings.ToLower(host) + "-" + rand.String(10)
}

// isClusterOfPod returns whether cfg leads to the cluster that this program runs in.
func isClusterOfPod(cfg *rest.Config) bool {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	return host != "" && cfg.Host == "https://"+net.JoinHostPort(host, port)
}
