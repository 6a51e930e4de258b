// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// looking is a command that changes nothing, as the pages write it.
var looking = regexp.MustCompile(`^kubectl (-n \S+ )?(get|describe|logs|events|wait|mongotuning( -n \S+)? (status|diff|explain|history|profiles)) `)

// inlined is a command in the middle of a sentence.
var inlined = regexp.MustCompile("`(kubectl [^`]+)`")

// written are commands that look, by the pages on which they stand. What follows other commands of the
// page (something is watched, or was made for the purpose) is left out.
func written(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/runbooks/*.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(string(text)) {
				lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
			}
			for _, match := range inlined.FindAllStringSubmatch(string(text), -1) {
				lines = append(lines, match[1])
			}
			for _, line := range lines {
				if looking.MatchString(line+" ") && !strings.Contains(line, "--watch") && !strings.Contains(line, "put-node-back") {
					found[line] = append(found[line], strings.TrimPrefix(page, root+"/"))
				}
			}
		}
	}
	return found
}

// runsWhatTheDocumentsSay runs every command of the pages that looks and changes nothing, as somebody would who
// copies it and fills in the names.
func (c *cluster) runsWhatTheDocumentsSay(t *testing.T) {
	g := gomega.NewWithT(t)
	programs := filepath.Dir(buildPlugin(t))
	kubectl, err := exec.LookPath(kubectlPath(t))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(os.Symlink(kubectl, filepath.Join(programs, "kubectl"))).To(gomega.Succeed())
	member := c.primary(t, c.shards(t)[0])
	fill := strings.NewReplacer(
		"NAMESPACE", c.namespace, "-n mongotuning-demo", "-n "+c.namespace, "-n data", "-n "+c.namespace,
		"NAME", c.name, "mtune/minimal", "mtune/"+c.name, "mtune demo", "mtune "+c.name, "mtune/demo", "mtune/"+c.name, "demo-app", c.name+"-app",
		"status demo", "status "+c.name, "diff demo", "diff "+c.name, "history demo", "history "+c.name,
		"MEMBER", member, "POD", member,
	)
	commands := written(t)
	g.Expect(len(commands)).To(gomega.BeNumerically(">", 40), "commands in the documents")
	for _, line := range slices.Sorted(maps.Keys(commands)) {
		full := fill.Replace(line)
		if !strings.Contains(full, " -n ") && !strings.Contains(full, "--all-namespaces") {
			// People who leave the namespace out are in it.
			full = strings.Replace(full, "kubectl ", "kubectl -n "+c.namespace+" ", 1)
			full = strings.Replace(full, "kubectl -n "+c.namespace+" mongotuning", "kubectl mongotuning -n "+c.namespace, 1)
		}
		command := exec.CommandContext(t.Context(), "bash", "-c", "set -e -o pipefail; "+full)
		command.Dir = t.TempDir()
		command.Env = append(os.Environ(), fmt.Sprintf("PATH=%s:%s", programs, os.Getenv("PATH")))
		output, err := command.CombinedOutput()
		if strings.Contains(line, "--previous") && strings.Contains(string(output), "previous terminated container") {
			continue // it has not ended yet
		}
		if err != nil {
			t.Errorf("%s says: %s\n%v: %s", strings.Join(commands[line], ", "), full, err, output)
		}
	}
	t.Logf("%d commands", len(commands))
}
