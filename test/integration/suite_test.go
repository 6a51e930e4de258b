// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package integration runs the reconciler against a real kube-apiserver and etcd, as the ServiceAccount
// and with the rights that are shipped, beside scripted servers. What no control plane alone does (pods
// of StatefulSets, Deployments and Jobs, the kubelet, budgets) is played by the tests.
package integration

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

const (
	assetsVariable    = "KUBEBUILDER_ASSETS"
	operatorNamespace = "mongotuning-system"
	operatorAccount   = "mongotuning-operator"
)

// shared is the control plane that all tests use, each in a namespace of its own.
var shared struct {
	config *rest.Config
	scheme *runtime.Scheme
	role   *rbacv1.ClusterRole
	rights *rights
}

func TestMain(m *testing.M) {
	code, err := runWithControlPlane(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration tests:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithControlPlane(m *testing.M) (int, error) {
	if os.Getenv(assetsVariable) == "" {
		return 1, fmt.Errorf("%s is not set: run make integration, or set it to what `go run -C hack/cluster . assets` prints", assetsVariable)
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(logs())))
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		return 1, fmt.Errorf("start kube-apiserver and etcd: %w", err)
	}
	defer func() { _ = environment.Stop() }()
	// Tests wait for nobody.
	config.QPS = -1
	shared.config, shared.rights = config, newRights()
	if shared.scheme, err = newScheme(); err != nil {
		return 1, err
	}
	if err := install(context.Background()); err != nil {
		return 1, err
	}
	code := m.Run()
	if code != 0 || isPartial() {
		return code, nil
	}
	return code, shared.rights.check(shared.role)
}

// isPartial tells that not every test was asked for.
func isPartial() bool {
	return flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" || testing.Short()
}

// logs are shown when VERBOSE is set; failures are told by the tests.
func logs() io.Writer {
	if os.Getenv("VERBOSE") != "" {
		return os.Stderr
	}
	return io.Discard
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// install gives the operator's account the shipped role.
func install(ctx context.Context) error {
	admin, err := client.New(shared.config, client.Options{Scheme: shared.scheme})
	if err != nil {
		return err
	}
	shared.role = &rbacv1.ClusterRole{}
	binding := &rbacv1.ClusterRoleBinding{}
	for file, object := range map[string]client.Object{"role.yaml": shared.role, "role_binding.yaml": binding} {
		content, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", file))
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(content, object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}
	for _, object := range []client.Object{namespace, shared.role, binding} {
		if err := admin.Create(ctx, object); err != nil {
			return fmt.Errorf("install %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// asOperator is the way to the API server of the operator's account, watched by the record of rights.
func asOperator() *rest.Config {
	config := rest.CopyConfig(shared.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"},
	}
	config.Wrap(shared.rights.watch)
	return config
}
