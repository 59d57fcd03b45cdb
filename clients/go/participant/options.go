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
	// and the first 8 characters of its uid if both are known, else the host's name and a random part. Two participants in one
	// namespace need two identities, also in one program: otherwise each deletes the LeaseCandidate of the other.
	Identity string
	// GracefulShutdownTimeout has to be that of the manager. Default: 30 s, as in controller-runtime. A release that comes
	// later than this after the end of the context is refused: the manager has not waited for its runnables.
	GracefulShutdownTimeout *time.Duration
	// OnOverrun is called when the time of the lead is over and the work is not known to have ended. Another copy may lead from
	// then on. The LeaseCandidate is deleted at the same time, unless the program exits at once. Default: exit with code 1.
	OnOverrun func()
	// Logger gets structured logs. Default: none.
	Logger logr.Logger
	// Registerer gets the metrics, for example metrics.Registry of controller-runtime. Default: none.
	Registerer prometheus.Registerer
}

const (
	defaultStrategy         = "OldestEmulationVersion"
	defaultGracefulShutdown = 30 * time.Second
	namespaceFile           = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// settings are valid options with all defaults.
type settings struct {
	Options
	// The Pod, so that the LeaseCandidate is deleted with it; nil for none.
	owner *metav1.OwnerReference
}

func settingsOf(cfg *rest.Config, options Options) (settings, error) {
	s := settings{Options: options}
	podName, podUID := os.Getenv("POD_NAME"), os.Getenv("POD_UID")
	podNamespace := cmp.Or(os.Getenv("POD_NAMESPACE"), serviceAccountNamespace())
	s.Version = strings.TrimPrefix(options.Version, "v")
	s.Strategy = cmp.Or(options.Strategy, defaultStrategy)
	s.Namespace = cmp.Or(options.Namespace, podNamespace)
	s.GracefulShutdownTimeout = cmp.Or(options.GracefulShutdownTimeout, ptr.To(defaultGracefulShutdown))
	s.Identity = cmp.Or(options.Identity, defaultIdentity(podName, podUID))
	if s.OnOverrun == nil {
		s.OnOverrun = func() { os.Exit(1) }
	}
	if s.Logger.GetSink() == nil {
		s.Logger = logr.Discard()
	}
	// The garbage collector looks for the owner in the namespace of the LeaseCandidate. It would delete a LeaseCandidate whose
	// owner is not there.
	if podName != "" && podUID != "" && podNamespace == s.Namespace && isClusterOfPod(cfg) {
		s.owner = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: podName, UID: types.UID(podUID)}
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
	if s.Namespace == "" {
		problems = append(problems, errors.New("option Namespace: unknown; give the namespace of the Lease, or set POD_NAMESPACE"))
	}
	parsed, err := version.ParseSemantic(s.Version)
	switch {
	case err != nil:
		refuse("Version", s.Version, "is no semantic version; give one such as 1.4.2")
	case parsed.EqualTo(version.MustParseSemantic("0.0.0")):
		refuse("Version", s.Version, "counts as no version for the API server; give 0.0.1 or a higher one")
	}
	return errors.Join(problems...)
}

// defaultIdentity survives a restart of the container in a Pod. Elsewhere each run has its own.
func defaultIdentity(podName, podUID string) string {
	if podName != "" && podUID != "" {
		return podName + "-" + podUID[:min(8, len(podUID))]
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

// serviceAccountNamespace returns "" outside a Pod.
func serviceAccountNamespace() string {
	namespace, _ := os.ReadFile(namespaceFile)
	return strings.TrimSpace(string(namespace))
}
