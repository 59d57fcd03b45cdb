package participant

import "k8s.io/client-go/rest"

// ClusterConfig leads to the coordinated cluster.
func ClusterConfig() *rest.Config {
	return coordinated.Config
}
