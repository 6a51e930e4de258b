package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mongotuning/mongotuning/hack/cluster/internal/layout"
	"github.com/mongotuning/mongotuning/hack/cluster/internal/pki"
)

// writeAdminKubeconfig puts the administrator's kubeconfig into the clone. The
// directory ignores itself: it holds a key, which must never be committed.
func writeAdminKubeconfig(l layout.Layout) error {
	if err := writeFile(ignoreFile(l), "*\n", 0o644); err != nil {
		return err
	}
	return pki.WriteKubeconfig(l.AdminKubeconfig, l.State("pki"), l.Name, l.APIServerURL(), userAdmin)
}

// removeAdminKubeconfig leaves a directory alone that holds anything else.
func removeAdminKubeconfig(l layout.Layout) error {
	if err := os.Remove(l.AdminKubeconfig); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove kubeconfig: %w", err)
	}
	directory := filepath.Dir(l.AdminKubeconfig)
	if entries, err := os.ReadDir(directory); err == nil && len(entries) == 1 && entries[0].Name() == filepath.Base(ignoreFile(l)) {
		return os.RemoveAll(directory)
	}
	return nil
}

func ignoreFile(l layout.Layout) string {
	return filepath.Join(filepath.Dir(l.AdminKubeconfig), ".gitignore")
}
