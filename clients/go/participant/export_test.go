package participant

import (
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

// OperatorProgram returns the path of the operator.
func OperatorProgram() string {
	return operator
}
