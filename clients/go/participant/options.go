package participant

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
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
	// EmulationVersion is the version that the program emulates, not above Version, which is the default.
	EmulationVersion string
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
	// Pod is the Pod that the program runs in. It owns the LeaseCandidate, so that both are deleted together. Default: POD_NAME,
	// POD_UID and POD_NAMESPACE, if the program connects to the cluster that it runs in.
	Pod *Pod
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

// A Pod is the Pod that a program runs in.
type Pod struct {
	Name, Namespace, UID string
}

const (
	defaultStrategy         = "OldestEmulationVersion"
	defaultGracefulShutdown = 30 * time.Second
	// The holder of a fenced Lease.
	fence         = "fence.coordinated-leader-election.dev"
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// The pattern of semver.org.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

// settings are valid options with all defaults.
type settings struct {
	Options
	gracefulShutdown time.Duration
	owner            *Pod
}

func settingsOf(cfg *rest.Config, options Options) (settings, error) {
	s := settings{Options: options, gracefulShutdown: defaultGracefulShutdown}
	s.Version = strings.TrimPrefix(options.Version, "v")
	s.EmulationVersion = cmp.Or(strings.TrimPrefix(options.EmulationVersion, "v"), s.Version)
	s.Strategy = cmp.Or(options.Strategy, defaultStrategy)
	if options.GracefulShutdownTimeout != nil {
		s.gracefulShutdown = *options.GracefulShutdownTimeout
	}
	inCluster := isClusterOfPod(cfg)
	podNamespace := os.Getenv("POD_NAMESPACE")
	if podNamespace == "" && inCluster {
		podNamespace = serviceAccountNamespace()
	}
	pod := options.Pod
	if pod == nil {
		pod = &Pod{Name: os.Getenv("POD_NAME"), Namespace: podNamespace, UID: os.Getenv("POD_UID")}
	}
	s.Namespace = cmp.Or(options.Namespace, podNamespace)
	s.Identity = options.Identity
	if s.Identity == "" {
		s.Identity = defaultIdentity(*pod)
	}
	// The garbage collector looks for the owner in the namespace of the LeaseCandidate. It would delete a LeaseCandidate whose
	// owner is not there.
	isKnown := options.Pod != nil || inCluster
	if isKnown && pod.Name != "" && pod.UID != "" && pod.Namespace == s.Namespace {
		s.owner = pod
	}
	return s, s.validate()
}

func (s *settings) validate() error {
	problems := []error{
		nameProblem("Lease", s.Lease, "give the name of a Lease, such as tenant-operator"),
		nameProblem("Identity", s.Identity, `give a DNS subdomain: lowercase letters, digits, "-" and "."`),
	}
	if s.Namespace == "" {
		problems = append(problems, errors.New("option Namespace: none is known; give that of the Lease, or set POD_NAMESPACE"))
	}
	if s.Identity == fence {
		problems = append(problems, fmt.Errorf("option Identity: %q is the holder of fenced Leases; give another", s.Identity))
	}
	problems = append(problems, s.versionProblem())
	return errors.Join(problems...)
}

func nameProblem(option, value, remedy string) error {
	if len(validation.IsDNS1123Subdomain(value)) == 0 {
		return nil
	}
	return fmt.Errorf("option %s: %q is no name of an object; %s", option, value, remedy)
}

func (s *settings) versionProblem() error {
	// Version first: it is the default of EmulationVersion.
	for _, given := range []struct{ option, value string }{{"Version", s.Version}, {"EmulationVersion", s.EmulationVersion}} {
		if !semver.MatchString(given.value) {
			return fmt.Errorf("option %s: %q is no semantic version; give one such as 1.4.2", given.option, given.value)
		}
	}
	binary, err := version.ParseSemantic(s.Version)
	if err != nil {
		return fmt.Errorf("option Version: %w", err)
	}
	emulation, err := version.ParseSemantic(s.EmulationVersion)
	if err != nil {
		return fmt.Errorf("option EmulationVersion: %w", err)
	}
	if binary.LessThan(emulation) {
		return fmt.Errorf("option EmulationVersion: %q is above Version %q; give that or a lower one", s.EmulationVersion, s.Version)
	}
	if emulation.EqualTo(version.MustParseSemantic("0.0.0")) {
		return errors.New("option EmulationVersion: the API server takes 0.0.0 for none; give 0.0.1 or a higher one")
	}
	return nil
}

// defaultIdentity survives a restart of the container in a Pod. Elsewhere each run has its own.
func defaultIdentity(pod Pod) string {
	if pod.Name != "" && pod.UID != "" {
		return pod.Name + "-" + pod.UID[:min(8, len(pod.UID))]
	}
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	host = regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(strings.ToLower(host), "-")
	host = strings.Trim(host[:min(200, len(host))], "-")
	suffix := make([]byte, 5)
	_, _ = rand.Read(suffix) // It never fails.
	return cmp.Or(host, "host") + "-" + hex.EncodeToString(suffix)
}

// isClusterOfPod returns whether cfg leads to the cluster that this program runs in.
func isClusterOfPod(cfg *rest.Config) bool {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	return host != "" && cfg.Host == "https://"+net.JoinHostPort(host, port)
}

func serviceAccountNamespace() string {
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(namespace))
}
