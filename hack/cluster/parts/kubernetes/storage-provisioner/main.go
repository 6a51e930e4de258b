// Command storage-provisioner gives every claim of one storage class a
// directory on this node, as a `local` PersistentVolume.
//
// `local` and not hostPath, because the kubelet honours fsGroup only there and
// the database's pods do not run as root. It deletes only directories that are
// direct children of its own root and that its own volumes name.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of a user that may read claims and write volumes")
	root := flag.String("root", "", "directory that holds one directory per volume")
	node := flag.String("node", "", "name of the only node")
	name := flag.String("provisioner", "", "provisioner name that the storage class carries")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, volumes{root: *root, node: *node, provisioner: *name}); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, v volumes) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(v.root, 0o711); err != nil {
		return err
	}
	return watch(ctx, client, v)
}
