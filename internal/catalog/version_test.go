// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

func TestParseVersion(t *testing.T) {
	version, err := ParseVersion("6.0.27")
	if err != nil || version != (Version{6, 0, 27}) || version.String() != "6.0.27" || version.Line() != v60 {
		t.Errorf("ParseVersion = %v, %v", version, err)
	}
	for _, text := range []string{"", "6", "6.0", "6.0.27.1", "6.0.x", "6.0.-1", "v6.0.27", "6.0.27-rc0"} {
		if version, err := ParseVersion(text); err == nil {
			t.Errorf("%q is read as %v, want an error", text, version)
		}
	}
}

func TestLineRange(t *testing.T) {
	tests := []struct {
		lines LineRange
		text  string
		holds []Line
	}{
		{always, "all", Lines()},
		{until44, "4.2-4.4", []Line{v42, v44}},
		{from44, "4.4+", []Line{v44, v50, v60, v70, v80}},
		{LineRange{v50, v50}, "5.0", []Line{v50}},
	}
	for _, test := range tests {
		if test.lines.String() != test.text {
			t.Errorf("%v is written %q, want %q", test.lines, test.lines.String(), test.text)
		}
		var holds []Line
		for _, line := range Lines() {
			if test.lines.Includes(line) {
				holds = append(holds, line)
			}
		}
		if len(holds) != len(test.holds) || holds[0] != test.holds[0] {
			t.Errorf("%s includes %v, want %v", test.text, holds, test.holds)
		}
	}
}

// TestRowsAreComplete proves that no row leaves a question open which the reference answers.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range All() {
		if seen[row.Name] {
			t.Errorf("%s is there twice", row.Name)
		}
		seen[row.Name] = true
		texts := []string{row.MongoDBName, row.Source, row.TooHigh, row.TooLow}
		if slices.Contains(texts, "") || row.Online == 0 || row.Kind == 0 || len(row.Components) == 0 {
			t.Errorf("%s lacks a name, source, hazard, way, kind or component", row.Name)
		}
		if row.Versions != always && row.Nearest == "" {
			t.Errorf("%s does not say what to use where it does not exist", row.Name)
		}
		if row.HasEffect() && row.DerivedInto == "" && row.read == nil {
			t.Errorf("%s cannot be read back", row.Name)
		}
		if row.NeedsRestart() && row.startPath() == "" {
			t.Errorf("%s cannot be told from what the process was started with", row.Name)
		}
	}
}

// TestDefaultsAreAccepted proves that declaring every default at once is taken on every line.
func TestDefaultsAreAccepted(t *testing.T) {
	for _, component := range []v1alpha1.Component{v1alpha1.ComponentShardMember, v1alpha1.ComponentConfigServer, v1alpha1.ComponentMongos} {
		for _, line := range Lines() {
			settings := Settings{}
			for _, row := range KnobsOn(component, line) {
				if row.Default != "" && !row.Fixed {
					settings[row.Name] = row.Default
				}
			}
			if problems := Check(component, line, settings, 0); len(problems) > 0 {
				t.Errorf("%s on %s: %v", component, line, problems)
			}
		}
	}
}

var privateWords = regexp.MustCompile(`\b(facts|report [a-z]|issue|todo)\b`)

// TestRowsSpeakForThemselves proves that texts for users name their sources.
func TestRowsSpeakForThemselves(t *testing.T) {
	for _, row := range All() {
		text := strings.ToLower(strings.Join([]string{row.TooHigh, row.TooLow, row.Source, row.Nearest, row.Note}, " "))
		if word := privateWords.FindString(text); word != "" {
			t.Errorf("%s says %q, which nobody else understands", row.Name, word)
		}
	}
}
