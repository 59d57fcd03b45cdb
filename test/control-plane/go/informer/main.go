// Command informer watches Leases, LeaseCandidates and Events with client-go's shared informers and reports what they
// see as JSON lines on standard output: first everything that exists, then "synced", then every change.
//
// It ends as soon as standard input closes: whoever started it cannot leave it behind.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// line is one line of standard output.
type line struct {
	Event           string `json:"event"`
	Resource        string `json:"resource,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig to use (required)")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil || *kubeconfig == "" {
		fail(fmt.Errorf("--kubeconfig must name a readable kubeconfig: %v", err))
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		fail(err)
	}

	var mutex sync.Mutex
	output := json.NewEncoder(os.Stdout)
	report := func(l line) {
		mutex.Lock()
		defer mutex.Unlock()
		// Whoever reads this has gone: then standard input closes too.
		_ = output.Encode(l)
	}

	factory := informers.NewSharedInformerFactory(clientset, 0)
	watched := map[string]cache.SharedIndexInformer{
		"leases":          factory.Coordination().V1().Leases().Informer(),
		"leasecandidates": factory.Coordination().V1beta1().LeaseCandidates().Informer(),
		"events":          factory.Core().V1().Events().Informer(),
	}
	for resource, informer := range watched {
		if _, err := informer.AddEventHandler(handlerFor(resource, report)); err != nil {
			fail(err)
		}
	}
	stop := make(chan struct{})
	factory.Start(stop)
	go func() {
		factory.WaitForCacheSync(stop)
		report(line{Event: "synced"})
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(stop)
}

func handlerFor(resource string, report func(line)) cache.ResourceEventHandler {
	tell := func(event string, object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if meta, ok := object.(metav1.Object); ok {
			report(line{event, resource, meta.GetNamespace(), meta.GetName(), meta.GetResourceVersion()})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("modified", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "informer: %v\n", err)
	os.Exit(2)
}
