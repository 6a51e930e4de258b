// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package matrix

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/verify"
	"github.com/mongotuning/mongotuning/test/servers"
)

// member is the kind of process that the matrix runs. No mongos can be had, so rows that only mongos has
// are not tried at all, and rows of both are tried on a shard member alone.
const member = v1alpha1.ComponentShardMember

// TestMatrix takes every row through its life on every version: its first value from the file, its
// second value online or by a restart, back to nothing, and a wrong value that must not be called
// proved. What was seen becomes docs/knob-matrix.md.
func TestMatrix(t *testing.T) {
	table := newReport()
	for _, version := range servers.Versions() {
		t.Run(version, func(t *testing.T) {
			parsed, err := catalog.ParseVersion(version)
			if err != nil {
				t.Fatal(err)
			}
			line := parsed.Line()
			first, second := samples(t, line, 0), samples(t, line, 1)
			subject := newSubject(t, version, line, first)
			t.Run("from the file", func(t *testing.T) { table.add(line, "file", subject.allProved(t, first)) })
			t.Run("another value is no proof", func(t *testing.T) { subject.wantDifference(t, second) })
			t.Run("changed", func(t *testing.T) { table.add(line, "change", subject.change(t, second)) })
			t.Run("taken back", func(t *testing.T) { table.add(line, "undo", subject.change(t, samples(t, line, -1))) })
		})
	}
	if !t.Failed() {
		compareOrUpdate(t, "../../docs/knob-matrix.md", table.markdown())
	}
}

// subject is the server that the rows are tried on.
type subject struct {
	line   catalog.Line
	server *servers.Server
	client *mongo.Client
	// settings that the file holds.
	settings catalog.Settings
}

func newSubject(t *testing.T, version string, line catalog.Line, settings catalog.Settings) *subject {
	t.Helper()
	options := servers.Options{Version: version, Role: "shardsvr", Config: configOf(t, line, settings)}
	server := servers.StartReplicaSet(t, options, 1).Servers[0]
	return &subject{line: line, settings: settings, server: server, client: connect(t, server)}
}

// configOf is the file as the operator renders it.
func configOf(t *testing.T, line catalog.Line, settings catalog.Settings) string {
	t.Helper()
	text, err := yaml.Marshal(catalog.ConfigDocument(member, line, settings))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// judge looks at the server and judges every row.
func (s *subject) judge(t *testing.T, settings catalog.Settings) map[string]verify.Knob {
	t.Helper()
	judged := map[string]verify.Knob{}
	fileIsCurrent := fmt.Sprint(settings) == fmt.Sprint(s.settings)
	for _, knob := range verify.Knobs(member, settings, fileIsCurrent, s.look(t)) {
		judged[knob.Name] = knob
	}
	return judged
}

// allProved expects every declared value to be in force, and nothing undeclared to differ.
func (s *subject) allProved(t *testing.T, settings catalog.Settings) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for name, knob := range s.judge(t, settings) {
		switch knob.Verdict {
		case v1alpha1.KnobProved:
			seen[name] = "proved by " + knob.Evidence
		case v1alpha1.KnobNotApplicable:
			seen[name] = "no effect"
		default:
			t.Errorf("%s is %s: wanted %q, found %q (%s)", name, knob.Verdict, knob.Wanted, knob.Found, knob.Evidence)
		}
	}
	return seen
}

// wantDifference expects that no value of another declaration is called proved.
func (s *subject) wantDifference(t *testing.T, other catalog.Settings) {
	t.Helper()
	for name, knob := range s.judge(t, other) {
		if knob.Declared && other[name] != s.settings[name] && knob.Verdict != v1alpha1.KnobMismatched && knob.Verdict != v1alpha1.KnobNotApplicable {
			t.Errorf("%s is %s although %q is declared and %q in force", name, knob.Verdict, knob.Wanted, s.settings[name])
		}
	}
}

// change brings other settings into force as the operator does: the file, then what can be sent to the
// running process, then a restart for the rest. It returns how each row was changed.
func (s *subject) change(t *testing.T, settings catalog.Settings) map[string]string {
	t.Helper()
	s.settings = settings
	s.server.Options.Config = configOf(t, s.line, settings)
	how := map[string]string{}
	pending := verify.Member{Knobs: s.knobs(t, settings)}
	for _, name := range pending.Settable() {
		how[name] = "online"
	}
	s.send(t, catalog.ChangesFor(member, s.line, settings, pending.Settable()))
	s.awaitSet(t, settings)
	pending = verify.Member{Knobs: s.knobs(t, settings)}
	for _, knob := range pending.Knobs {
		if knob.Cure == verify.Restarting {
			how[knob.Name] = "restart"
		}
	}
	if pending.NeedsRestart() {
		s.server.Stop()
		s.server.Start()
		s.awaitPrimary(t)
	}
	for name := range s.allProved(t, settings) {
		if how[name] == "" {
			how[name] = "unchanged"
		}
	}
	return how
}

func (s *subject) knobs(t *testing.T, settings catalog.Settings) []verify.Knob {
	t.Helper()
	return verify.Knobs(member, settings, true, s.look(t))
}

// report collects what was seen.
type report struct {
	rows map[string]map[catalog.Line]map[string]string
}

func newReport() *report { return &report{rows: map[string]map[catalog.Line]map[string]string{}} }

func (r *report) add(line catalog.Line, stage string, seen map[string]string) {
	for name, what := range seen {
		if r.rows[name] == nil {
			r.rows[name] = map[catalog.Line]map[string]string{}
		}
		if r.rows[name][line] == nil {
			r.rows[name][line] = map[string]string{}
		}
		r.rows[name][line][stage] = what
	}
}

const matrixHead = `# What was proved of each knob

Written by the tests in test/matrix, which take every row of the catalogue through its life on real
servers: a value from the configuration file, another one online or by a restart, then none at all. At
each step the value in force is read back from the process, and a value that is not in force must not be
called proved. The rows of mongos (` + "`connectionPool`, `taskExecutorPoolSize`" + `) were not tried: no
mongos could be had. ` + "`cacheSizePercent` becomes a `cacheSizeGB`" + ` before anything is rendered, and is tried as that.

"online" and "restart" say how the change came into force; the last column says where the value was read.

`

// markdown is the table, one row per knob.
func (r *report) markdown() []byte {
	var text bytes.Buffer
	text.WriteString(matrixHead)
	text.WriteString("| knob |")
	for _, version := range servers.Versions() {
		text.WriteString(" " + version + " |")
	}
	text.WriteString(" read back from |\n|---" + strings.Repeat("|---", len(servers.Versions())+1) + "|\n")
	for _, knob := range catalog.All() {
		seen, tried := r.rows[knob.Name]
		if !tried || strings.HasPrefix(knob.Name, "wiredTiger.") {
			continue
		}
		text.WriteString("| `" + knob.Name + "` |")
		evidence := ""
		for _, version := range servers.Versions() {
			parsed, _ := catalog.ParseVersion(version) // the versions of the tests are well formed
			text.WriteString(" " + cell(knob, parsed.Line(), seen[parsed.Line()]) + " |")
			if proof, ok := strings.CutPrefix(seen[parsed.Line()]["file"], "proved by "); ok {
				evidence = proof
			}
		}
		text.WriteString(" " + evidence + " |\n")
	}
	return text.Bytes()
}

func cell(knob catalog.Knob, line catalog.Line, stages map[string]string) string {
	switch {
	case !knob.Versions.Includes(line):
		return "not there"
	case stages["file"] == "no effect":
		return "no effect"
	case stages["file"] == "":
		return "not tried"
	default:
		return stages["change"]
	}
}
