// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// scriptsPath is where Argo CD's own tree would have the scripts, snippetPath the object made of them for
	// those who do not wait for that.
	scriptsPath = "config/argocd/resource_customizations/mongotuning.io/MongoTuning"
	snippetPath = "config/argocd/argocd-cm.yaml"
)

// argoActions are the actions in the order of the snippet.
var argoActions = []string{"suspend", "resume", "retry"}

const snippetHead = `# Generated from resource_customizations by "make generate"; do not edit. Teaches Argo CD the health of a
# MongoTuning and three actions on it; a patch, because argocd-cm holds more than this:
#   kubectl -n argocd patch configmap argocd-cm --patch-file config/argocd/argocd-cm.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
data:
`

// argoSnippet puts the scripts into the keys of argocd-cm that Argo CD reads.
func argoSnippet(root string) (string, error) {
	var snippet strings.Builder
	script := func(depth int, key string, path ...string) error {
		content, err := os.ReadFile(filepath.Join(append([]string{root, scriptsPath}, path...)...)) //nolint:gosec // a file of this repository
		if err != nil {
			return fmt.Errorf("read a script of Argo CD: %w", err)
		}
		fmt.Fprintf(&snippet, "%s%s: |\n", strings.Repeat(" ", depth), key)
		for line := range strings.Lines(string(content)) {
			if strings.TrimSpace(line) != "" {
				line = strings.Repeat(" ", depth+2) + line
			}
			snippet.WriteString(line)
		}
		return nil
	}
	snippet.WriteString(snippetHead)
	if err := script(2, "resource.customizations.health.mongotuning.io_MongoTuning", "health.lua"); err != nil {
		return "", err
	}
	snippet.WriteString("  resource.customizations.actions.mongotuning.io_MongoTuning: |\n")
	if err := script(4, "discovery.lua", "actions", "discovery.lua"); err != nil {
		return "", err
	}
	snippet.WriteString("    definitions:\n")
	for _, action := range argoActions {
		fmt.Fprintf(&snippet, "    - name: %s\n", action)
		if err := script(6, "action.lua", "actions", action, "action.lua"); err != nil {
			return "", err
		}
	}
	return snippet.String(), nil
}
