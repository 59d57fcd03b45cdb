// Package testcluster starts this project's embedded API server and its coordinator, for tests.
package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is an API server, and a coordinator once StartCoordinator has returned.
type Cluster struct {
	Config *rest.Config
	// The path of the administrator's kubeconfig.
	Kubeconfig string
	Server     *exec.Cmd

	folder   string
	programs []*exec.Cmd
	node     string
	main     string
	// What the programs say.
	output *os.File
}

// Start starts an API server with arguments for `serve`. CLE_ROOT is the folder of the project; by default it is the one that this
// module is in. CLE_NODE is the Node that runs it; by default the one in node_modules, else that on the PATH.
func Start(arguments ...string) (*Cluster, error) {
	c := &Cluster{}
	if err := c.find(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "participant-test-")
	if err != nil {
		return nil, err
	}
	c.folder = folder
	if c.output, err = os.Create(filepath.Join(folder, "output")); err != nil {
		return nil, err
	}
	c.Kubeconfig = filepath.Join(folder, "kubeconfig")
	serve := append([]string{"serve", "--listen", "127.0.0.1:0", "--kubeconfig-out", c.Kubeconfig}, arguments...)
	if c.Server, err = c.start(serve...); err != nil {
		return nil, c.failed(err)
	}
	if c.Config, err = awaitConfig(c.Kubeconfig); err != nil {
		return nil, c.failed(err)
	}
	// Tests ask more often than a program does.
	c.Config.QPS = -1
	return c, nil
}

// Restart ends the API server, and starts it at the same address with arguments for `serve`. It has the former objects if both have
// a --data-dir.
func (c *Cluster) Restart(arguments ...string) error {
	_ = c.Server.Process.Signal(syscall.SIGTERM)
	_ = c.Server.Wait()
	address := strings.TrimPrefix(c.Config.Host, "https://")
	var err error
	c.Server, err = c.start(append([]string{"serve", "--listen", address, "--kubeconfig-out", c.Kubeconfig}, arguments...)...)
	return err
}

// StartCoordinator returns a running coordinator. No other may run.
func (c *Cluster) StartCoordinator() (*exec.Cmd, error) {
	coordinator, err := c.start("run", "--kubeconfig", c.Kubeconfig, "--listen", "off", "--log-level", "warn")
	if err != nil {
		return nil, c.failed(err)
	}
	if err := awaitCoordinator(c.Config); err != nil {
		return nil, c.failed(err)
	}
	return coordinator, nil
}

// Command returns a command of the project's program, such as transfer, for this cluster.
func (c *Cluster) Command(ctx context.Context, arguments ...string) *exec.Cmd {
	return exec.CommandContext(ctx, c.node, append([]string{c.main}, append(arguments, "--kubeconfig", c.Kubeconfig)...)...)
}

// Stop ends all programs.
func (c *Cluster) Stop() {
	for _, program := range c.programs {
		_ = program.Process.Signal(syscall.SIGTERM)
	}
	for _, program := range c.programs {
		done := time.AfterFunc(5*time.Second, func() { _ = program.Process.Kill() })
		_ = program.Wait()
		done.Stop()
	}
	_ = c.output.Close()
	_ = os.RemoveAll(c.folder)
}

func (c *Cluster) find() error {
	root := os.Getenv("CLE_ROOT")
	if root == "" {
		// The folder of a package two levels down in clients/go, where `go test` runs it.
		root = "../../.."
	}
	c.main = filepath.Join(root, "src/main.ts")
	if _, err := os.Stat(c.main); err != nil {
		return fmt.Errorf("the tests need the project's sources: set CLE_ROOT to its folder: %w", err)
	}
	c.node = os.Getenv("CLE_NODE")
	if c.node == "" {
		c.node = filepath.Join(root, "node_modules/.bin/node")
		if _, err := os.Stat(c.node); err != nil {
			c.node = "node"
		}
	}
	if _, err := exec.LookPath(c.node); err != nil {
		return fmt.Errorf("the tests need Node: run `npm ci` in %s, or set CLE_NODE to a node of version 24: %w", root, err)
	}
	return nil
}

func (c *Cluster) start(arguments ...string) (*exec.Cmd, error) {
	program := exec.Command(c.node, append([]string{c.main}, arguments...)...)
	program.Stdout, program.Stderr = c.output, c.output
	if err := program.Start(); err != nil {
		return nil, err
	}
	c.programs = append(c.programs, program)
	return program, nil
}

func (c *Cluster) failed(err error) error {
	output, _ := os.ReadFile(c.output.Name())
	c.Stop()
	return fmt.Errorf("%w\n%s", err, output)
}

// awaitCoordinator waits until the coordinator has its lock. A candidate that it finds at its start waits 15 s for its Lease.
func awaitCoordinator(config *rest.Config) error {
	leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("kube-system")
	for range 1200 {
		lock, err := leases.Get(context.Background(), "leader-election-controller", metav1.GetOptions{})
		if err == nil && lock.Spec.HolderIdentity != nil && *lock.Spec.HolderIdentity != "" {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the coordinator has not started within 60 s")
}

// awaitConfig waits for the kubeconfig: the server writes it when it is ready.
func awaitConfig(kubeconfig string) (*rest.Config, error) {
	for range 600 {
		if config, err := clientcmd.BuildConfigFromFlags("", kubeconfig); err == nil {
			return config, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("the embedded API server has not written %s within 30 s", kubeconfig)
}
