package main

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testVolumes(t *testing.T) volumes {
	t.Helper()
	return volumes{root: t.TempDir(), node: "node", provisioner: "ours"}
}

func TestIsAwaited(t *testing.T) {
	now := metav1.Now()
	claim := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{claimProvisionerAnnotation: "ours"}}}
		change(c)
		return c
	}
	tests := []struct {
		name  string
		claim *corev1.PersistentVolumeClaim
		want  bool
	}{
		{"asked of us", claim(func(*corev1.PersistentVolumeClaim) {}), true},
		{"has no consumer yet", claim(func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }), false},
		{"asked of another", claim(func(c *corev1.PersistentVolumeClaim) { c.Annotations[claimProvisionerAnnotation] = "x" }), false},
		{"has a volume", claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }), false},
		{"is being deleted", claim(func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &now }), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := testVolumes(t).isAwaited(test.claim); got != test.want {
				t.Errorf("isAwaited() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestIsReleased(t *testing.T) {
	volume := func(by string, policy corev1.PersistentVolumeReclaimPolicy, phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{volumeProvisionerAnnotation: by}},
			Spec:       corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: policy},
			Status:     corev1.PersistentVolumeStatus{Phase: phase},
		}
	}
	tests := []struct {
		name   string
		volume *corev1.PersistentVolume
		want   bool
	}{
		{"claim is gone", volume("ours", corev1.PersistentVolumeReclaimDelete, corev1.VolumeReleased), true},
		{"still bound", volume("ours", corev1.PersistentVolumeReclaimDelete, corev1.VolumeBound), false},
		{"not bound yet", volume("ours", corev1.PersistentVolumeReclaimDelete, corev1.VolumeAvailable), false},
		{"to be kept", volume("ours", corev1.PersistentVolumeReclaimRetain, corev1.VolumeReleased), false},
		{"of another provisioner", volume("x", corev1.PersistentVolumeReclaimDelete, corev1.VolumeReleased), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := testVolumes(t).isReleased(test.volume); got != test.want {
				t.Errorf("isReleased() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestDirectoryComesAndGoes(t *testing.T) {
	v := testVolumes(t)
	volume := v.build(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c", UID: "1"}})
	for range 2 { // a second attempt after a crash
		if err := v.makeDirectory(volume); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(volume.Spec.Local.Path)
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Fatalf("directory: %v, %v", info, err)
	}
	if err := v.removeDirectory(volume); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(volume.Spec.Local.Path); !os.IsNotExist(err) {
		t.Errorf("directory is still there: %v", err)
	}
}

func TestRemoveDirectoryRefusesForeignPaths(t *testing.T) {
	v := testVolumes(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Mkdir(victim, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{victim, v.root, v.root + "/..", v.root + "/a/b", v.root + "/../" + filepath.Base(v.root), "", "/"} {
		volume := &corev1.PersistentVolume{}
		volume.Spec.Local = &corev1.LocalVolumeSource{Path: path}
		if err := v.removeDirectory(volume); err == nil {
			t.Errorf("removeDirectory(%q) went ahead", path)
		}
	}
	if err := v.removeDirectory(&corev1.PersistentVolume{}); err == nil {
		t.Error("removeDirectory of a volume that is not local went ahead")
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}
