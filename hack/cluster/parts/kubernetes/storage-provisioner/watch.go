package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// retryInterval bounds how long a failed pass waits for its next attempt when
// nothing changes in the cluster.
const retryInterval = 5 * time.Second

// worker looks at everything on every change. One node has too few claims for
// a queue per object to be worth its code.
type worker struct {
	client  kubernetes.Interface
	volumes volumes
	claims  corelisters.PersistentVolumeClaimLister
	stored  corelisters.PersistentVolumeLister
}

// watch runs until ctx ends.
func watch(ctx context.Context, client kubernetes.Interface, v volumes) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := factory.Core().V1().PersistentVolumeClaims()
	stored := factory.Core().V1().PersistentVolumes()

	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // a pass is already due
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake() },
		UpdateFunc: func(any, any) { wake() },
		DeleteFunc: func(any) { wake() },
	}
	for _, informer := range []cache.SharedIndexInformer{claims.Informer(), stored.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch claims and volumes: %w", err)
		}
	}
	w := worker{client: client, volumes: v, claims: claims.Lister(), stored: stored.Lister()}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	log.Printf("serving claims of provisioner %s in %s", v.provisioner, v.root)

	ticker := time.NewTicker(retryInterval)
	defer ticker.Stop()
	for {
		if err := w.pass(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// pass provides and removes whatever is due; one failure does not stop the rest.
func (w worker) pass(ctx context.Context) error {
	claims, err := w.claims.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	stored, err := w.stored.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	var failures []error
	for _, claim := range claims {
		if w.volumes.isAwaited(claim) {
			failures = append(failures, w.provide(ctx, claim))
		}
	}
	for _, volume := range stored {
		if w.volumes.isReleased(volume) {
			failures = append(failures, w.remove(ctx, volume))
		}
	}
	return errors.Join(failures...)
}

// provide makes the directory first: a volume without one would start a pod
// that cannot mount it.
func (w worker) provide(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if _, err := w.stored.Get(volumeName(claim)); err == nil {
		return nil // waiting for the volume controller to bind it
	}
	volume := w.volumes.build(claim)
	if err := w.volumes.makeDirectory(volume); err != nil {
		return fmt.Errorf("make directory of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	_, err := w.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // our own volume, which the cache does not show yet
	}
	if err != nil {
		return fmt.Errorf("create volume of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	log.Printf("claim %s/%s has volume %s", claim.Namespace, claim.Name, volume.Name)
	return nil
}

// remove deletes the data before the object, so that a crash in between leaves
// an object that is tried again and never a directory that nothing names.
func (w worker) remove(ctx context.Context, volume *corev1.PersistentVolume) error {
	if err := w.volumes.removeDirectory(volume); err != nil {
		return fmt.Errorf("remove data of volume %s: %w", volume.Name, err)
	}
	err := w.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil // removed before, which the cache does not show yet
	}
	if err != nil {
		return fmt.Errorf("delete volume %s: %w", volume.Name, err)
	}
	log.Printf("volume %s is gone with its data", volume.Name)
	return nil
}
