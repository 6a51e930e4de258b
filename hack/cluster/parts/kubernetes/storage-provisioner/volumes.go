package main

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations by which the volume controller and provisioners speak.
const (
	claimProvisionerAnnotation  = "volume.kubernetes.io/storage-provisioner"
	volumeProvisionerAnnotation = "pv.kubernetes.io/provisioned-by"
)

// volumes decides which objects are ours and what they look like.
type volumes struct {
	root        string
	node        string
	provisioner string
}

// isAwaited says whether the volume controller has asked us for a volume. It
// asks only once the claim has a consumer, when the class says so.
func (v volumes) isAwaited(claim *corev1.PersistentVolumeClaim) bool {
	return claim.DeletionTimestamp == nil &&
		claim.Spec.VolumeName == "" &&
		claim.Annotations[claimProvisionerAnnotation] == v.provisioner
}

// isReleased says whether the claim of one of our volumes is gone. The
// directory may only go then: until that moment a pod may still write to it.
func (v volumes) isReleased(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[volumeProvisionerAnnotation] == v.provisioner &&
		volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
		volume.Status.Phase == corev1.VolumeReleased
}

// volumeName is derived from the claim's uid, so that a second attempt after a
// crash finds the first one's volume and a new claim of the same name does not.
func volumeName(claim *corev1.PersistentVolumeClaim) string {
	return "pvc-" + string(claim.UID)
}

// build returns the volume for a claim, already promised to that claim.
func (v volumes) build(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	name := volumeName(claim)
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{volumeProvisionerAnnotation: v.provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              class,
			VolumeMode:                    claim.Spec.VolumeMode,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: filepath.Join(v.root, name)},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{v.node},
					}},
				}},
			}},
		},
	}
}

// makeDirectory is open to every user because a pod without fsGroup runs as
// whom it likes; the state directory above it is closed to everyone but root.
func (v volumes) makeDirectory(volume *corev1.PersistentVolume) error {
	path := volume.Spec.Local.Path
	if err := os.Mkdir(path, 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	return os.Chmod(path, 0o777) // Mkdir's mode went through the umask
}

// removeDirectory refuses any path that is not a direct child of the root: a
// volume object is writable by every administrator of the cluster, and this
// runs as root on the host.
func (v volumes) removeDirectory(volume *corev1.PersistentVolume) error {
	if volume.Spec.Local == nil {
		return fmt.Errorf("volume %s is not a local one", volume.Name)
	}
	path := filepath.Clean(volume.Spec.Local.Path)
	if filepath.Dir(path) != filepath.Clean(v.root) {
		return fmt.Errorf("volume %s names %s, which is not directly below %s", volume.Name, path, v.root)
	}
	return os.RemoveAll(path)
}
