package participant

import (
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/coordinated-leader-election/coordinated-leader-election/clients/go/internal/testcluster"
)

// ClusterConfig leads to the coordinated cluster.
func ClusterConfig() *rest.Config {
	return coordinated.Config
}

// Clusters returns the coordinated clusters, by whose LeaseCandidates they serve.
func Clusters() map[string]*testcluster.Cluster {
	return map[string]*testcluster.Cluster{"native": coordinated, "custom": gateless}
}

// PauseSignal has the operator pause like SIGSTOP, but not between its last look at the time and its write: no process can exclude that.
const PauseSignal = syscall.SIGUSR1

// OperatorProgram returns the path of the operator.
func OperatorProgram() string {
	return operator
}
