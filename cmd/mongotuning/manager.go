// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/controllers"
	"github.com/mongotuning/mongotuning/internal/metrics"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// managerFlags are the settings of the operator.
type managerFlags struct {
	metricsAddress, probeAddress string
	leaderElect                  bool
	operatorImage, namespace     string
	clusterDomain                string
	concurrency, maxRollouts     int
	zap                          zap.Options
}

func parseManagerFlags(args []string) (managerFlags, error) {
	var parsed managerFlags
	flags := flag.NewFlagSet("mongotuning manager", flag.ContinueOnError)
	flags.StringVar(&parsed.metricsAddress, "metrics-bind-address", ":8443", "address of the HTTPS metrics endpoint; 0 turns it off")
	flags.StringVar(&parsed.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&parsed.leaderElect, "leader-elect", false, "let only one of several operators act")
	flags.StringVar(&parsed.operatorImage, "operator-image", os.Getenv("OPERATOR_IMAGE"), "image of this operator, which also prepares the database pods (default $OPERATOR_IMAGE)")
	flags.StringVar(&parsed.namespace, "operator-namespace", os.Getenv("POD_NAMESPACE"), "namespace of this operator (default $POD_NAMESPACE)")
	flags.StringVar(&parsed.clusterDomain, "cluster-domain", "cluster.local", "DNS suffix of the Kubernetes cluster")
	flags.IntVar(&parsed.concurrency, "concurrent-reconciles", 16, "how many MongoTunings are looked at at once")
	flags.IntVar(&parsed.maxRollouts, "max-rollouts", 1, "how many MongoTunings roll out a change at once, so that what breaks one cluster does not meet the next; 0 for no bound")
	parsed.zap.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		return parsed, err
	}
	if parsed.operatorImage == "" || parsed.namespace == "" {
		return parsed, fmt.Errorf("--operator-image and --operator-namespace are needed (or OPERATOR_IMAGE and POD_NAMESPACE)")
	}
	if parsed.maxRollouts < 0 {
		return parsed, fmt.Errorf("--max-rollouts is %d: it must be 0 for no bound, or how many may roll out at once", parsed.maxRollouts)
	}
	return parsed, nil
}

func runManager(args []string) error {
	flags, err := parseManagerFlags(args)
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&flags.zap)))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register Kubernetes types: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register our types: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the Kubernetes API: %w", err)
	}
	mgr, err := ctrl.NewManager(config, managerOptions(scheme, flags))
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client for logs: %w", err)
	}
	recorder := metrics.New(version())
	if err := recorder.Register(ctrlmetrics.Registry); err != nil {
		return err
	}
	recorder.HasSlots(flags.maxRollouts)
	reconciler := &controllers.MongoTuningReconciler{
		Client:            mgr.GetClient(),
		Uncached:          mgr.GetAPIReader(),
		Recorder:          mgr.GetEventRecorder(naming.FieldOwner),
		Databases:         &controllers.DriverDatabases{Answered: recorder.Commanded},
		Metrics:           recorder,
		ExitLogs:          &controllers.ExitLogs{Pods: clients.CoreV1()},
		HostReaders:       &controllers.HTTPHostReaders{Client: &http.Client{Timeout: readerTimeout}},
		Clock:             clock.RealClock{},
		OperatorImage:     flags.operatorImage,
		OperatorNamespace: flags.namespace,
		ClusterDomain:     flags.clusterDomain,
		Concurrency:       flags.concurrency,
		MaxRollouts:       flags.maxRollouts,
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up reconciler: %w", err)
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ready", healthz.Ping); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// readerTimeout bounds one question to a reader of host settings; a look has a deadline of its own.
const readerTimeout = 3 * time.Second

// shutdownTimeout is how long acts under way may take to end when the operator is stopped.
const shutdownTimeout = 25 * time.Second

func managerOptions(scheme *runtime.Scheme, flags managerFlags) ctrl.Options {
	timeout := shutdownTimeout
	return ctrl.Options{
		Scheme: scheme,
		Metrics: metricsserver.Options{
			BindAddress:   flags.metricsAddress,
			SecureServing: true,
			// HTTP/2 is left off: its stream resets have let clients exhaust servers more than once.
			TLSOpts:        []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
			FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		HealthProbeBindAddress: flags.probeAddress,
		LeaderElection:         flags.leaderElect,
		LeaderElectionID:       "operator.mongotuning.io",
		// The process ends when the lease is given up, so nothing acts without it.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &timeout,
		Cache:                         cacheOptions(),
	}
}

// cacheOptions keep only our own objects in memory: the operator shares the cluster with many others.
func cacheOptions() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{naming.LabelManagedBy: naming.ManagedBy})}
	byObject := map[client.Object]cache.ByObject{}
	for _, object := range []client.Object{
		&batchv1.Job{},
		&appsv1.StatefulSet{}, &appsv1.Deployment{}, &appsv1.ControllerRevision{},
		&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Service{}, &corev1.ServiceAccount{},
		&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
	} {
		byObject[object] = ours
	}
	return cache.Options{ByObject: byObject}
}
