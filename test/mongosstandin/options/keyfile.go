// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The bounds of a key, in characters without white space. Source: the manual's page on key files.
const (
	minKeyLength = 6
	maxKeyLength = 1024
)

// ReadKey returns the key a server with this key file authenticates with: the whole content without white space or,
// when the file is a YAML list, its first key. The file must be readable by its owner alone.
func ReadKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read key file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("read key file: permissions on %s are too open", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read key file: %w", err)
	}
	text := string(content)
	var keys []string
	if yaml.Unmarshal(content, &keys) == nil && len(keys) > 0 {
		text = keys[0]
	}
	key := strings.Join(strings.Fields(text), "")
	if len(key) < minKeyLength || len(key) > maxKeyLength {
		return "", fmt.Errorf("read key file: key has %d characters, want %d to %d", len(key), minKeyLength, maxKeyLength)
	}
	return key, nil
}
