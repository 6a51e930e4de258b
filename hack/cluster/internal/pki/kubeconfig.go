package pki

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// WriteKubeconfig writes a kubeconfig with everything inside, readable by its
// owner only, and replaces an old one in one step. JSON is valid YAML, and the
// library for the latter is not worth a dependency.
func WriteKubeconfig(path, directory, cluster, server, user string) error {
	read := func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(directory, file)) }
	ca, err := read("ca.crt")
	if err != nil {
		return fmt.Errorf("read certificate authority: %w", err)
	}
	certificate, err := read(user + ".crt")
	if err != nil {
		return fmt.Errorf("read certificate of %s: %w", user, err)
	}
	key, err := read(user + ".key")
	if err != nil {
		return fmt.Errorf("read key of %s: %w", user, err)
	}
	type object = map[string]any
	content, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": cluster,
		"clusters": []object{{"name": cluster, "cluster": object{"server": server, "certificate-authority-data": ca}}},
		"users":    []object{{"name": user, "user": object{"client-certificate-data": certificate, "client-key-data": key}}},
		"contexts": []object{{"name": cluster, "context": object{"cluster": cluster, "user": user}}},
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make directory of kubeconfig: %w", err)
	}
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return os.Rename(temporary, path)
}
