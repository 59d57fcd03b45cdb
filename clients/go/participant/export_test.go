package participant

import "k8s.io/client-go/rest"

// ClusterConfig leads to the cluster of the tests.
func ClusterConfig() *rest.Config {
	return cluster.Config
}
