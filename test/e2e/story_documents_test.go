// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

var (
	// lookingCommand is a command that changes nothing, as the pages write it.
	lookingCommand = regexp.MustCompile(`^kubectl (-n \S+ )?(get|describe|logs|events|wait|mongotuning( -n \S+)? (status|diff|explain|history|profiles)) `)
	// changingCommand is one that the API server can be asked to check and not to carry out.
	changingCommand = regexp.MustCompile(`^kubectl (-n \S+ )?(annotate|apply|create|delete|label|patch) `)
	// inlinedCommand stands in the middle of a sentence.
	inlinedCommand = regexp.MustCompile("`(kubectl [^`]+)`")
)

// untried are the commands that cannot be tried here, by a part of them.
var untried = map[string]string{
	"--watch":           "it does not end",
	"put-node-back":     "its pod is made only where an operator was removed before its nodes were put back",
	"cacheSizeGB\":5":   "it is there to be refused",
	"config/prometheus": "it takes the Prometheus operator",
	"config/argocd":     "it takes Argo CD",
	"apply -f - ":       "what it applies follows on lines of its own",
	"| kubectl":         "what it applies comes from a program that is not here",
	"namespace data":    "the namespace is made for it",
	"delete -f":         "it removes what everything else stands on",
	"metrics=enabled":   "the namespace is that of a Prometheus",
	"config/grafana":    "the namespace is that of a Grafana",
	"token":             "it follows from the command before it",
	`"op":"remove"`:     "it takes back what the command before it did",
}

// documentedCommands are commands that look and that change, by the pages on which they stand.
func documentedCommands(t *testing.T) map[string][]string {
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
			for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
				lines = append(lines, strings.TrimPrefix(line, "$ "))
			}
			for _, match := range inlinedCommand.FindAllStringSubmatch(string(text), -1) {
				lines = append(lines, match[1])
			}
			for _, line := range lines {
				// With a verb alone a sentence only names the command.
				isWhole := len(strings.Fields(line)) > 2
				if isWhole && (lookingCommand.MatchString(line+" ") || changingCommand.MatchString(line+" ")) {
					found[line] = append(found[line], strings.TrimPrefix(page, root+"/"))
				}
			}
		}
	}
	return found
}

// tryable is the command as it can be tried, with the names filled in; empty when it cannot.
func tryable(line string, names *strings.Replacer) string {
	for part := range untried {
		if strings.Contains(line+" ", part) {
			return ""
		}
	}
	full := names.Replace(line)
	if changingCommand.MatchString(line + " ") {
		full += " --dry-run=server"
	}
	if strings.Contains(full, "dist/install.yaml") {
		// Here the operator was installed from its sources, with another image.
		full += " --force-conflicts"
	}
	return full
}

// runsWhatTheDocumentsSay runs every command of the pages as somebody would who copies it and fills in the names.
// What changes something is only checked by the API server.
func (c *cluster) runsWhatTheDocumentsSay(t *testing.T) {
	g := gomega.NewWithT(t)
	programs := filepath.Dir(buildPlugin(t))
	g.Expect(os.Symlink(kubectlPath(t), filepath.Join(programs, "kubectl"))).To(gomega.Succeed())
	member := c.primary(t, c.shards(t)[0])
	names := strings.NewReplacer(
		"NAMESPACE", c.namespace, "-n mongotuning-demo", "-n "+c.namespace, "-n data", "-n "+c.namespace,
		"NAME", c.name, "mtune/minimal", "mtune/"+c.name, "mtune demo", "mtune "+c.name, "mtune/demo", "mtune/"+c.name, "demo-app", c.name+"-app",
		"status demo", "status "+c.name, "diff demo", "diff "+c.name, "history demo", "history "+c.name, "pod demo-shard-0-0", "pod "+member,
		"MEMBER", member, "POD", member,
	)
	environment := append(os.Environ(), fmt.Sprintf("PATH=%s:%s", programs, os.Getenv("PATH")), "KUBECONFIG="+c.kubeconfigInNamespace(t))
	commands := documentedCommands(t)
	directory := t.TempDir()
	for _, name := range []string{"config", "dist", "profiles"} {
		path, err := filepath.Abs(filepath.Join("..", "..", name))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(os.Symlink(path, filepath.Join(directory, name))).To(gomega.Succeed())
	}
	tried := 0
	for _, line := range slices.Sorted(maps.Keys(commands)) {
		full := tryable(line, names)
		if full == "" {
			continue
		}
		if strings.ContainsAny(strings.ReplaceAll(full, "| base64 -d", ""), "|;&") {
			t.Errorf("%s: more than one command in a line is not tried: %s", strings.Join(commands[line], ", "), line)
			continue
		}
		tried++
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := exec.CommandContext(ctx, "bash", "-c", "set -e -o pipefail; "+full)
		command.Dir, command.Env = directory, environment
		output, err := command.CombinedOutput()
		cancel()
		if strings.Contains(line, "--previous") && strings.Contains(string(output), "previous terminated container") {
			continue // it has not ended yet
		}
		if err != nil {
			t.Errorf("%s says: %s\n%v: %s", strings.Join(commands[line], ", "), full, err, output)
		}
	}
	g.Expect(tried).To(gomega.BeNumerically(">", 60), "commands that were tried")
	t.Logf("%d of %d commands", tried, len(commands))
}

// kubeconfigInNamespace is a copy of the kubeconfig in use for somebody who works in the namespace of the test.
func (c *cluster) kubeconfigInNamespace(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), kubectlPath(t), "--kubeconfig", path, "config", "set-context", "--current", "--namespace", c.namespace)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("work in the namespace: %v\n%s", err, output)
	}
	return path
}
