// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseWiredTiger(t *testing.T) {
	tests := []struct {
		name, text string
		want       WiredTigerConfig
	}{
		{"nothing is nothing", "", WiredTigerConfig{}},
		{"keys and values are taken apart", "cache_size=1G,eviction_target=75", WiredTigerConfig{"cache_size": "1G", "eviction_target": "75"}},
		{"nested keys are dotted", "eviction=(threads_min=4,threads_max=8)", WiredTigerConfig{"eviction.threads_min": "4", "eviction.threads_max": "8"}},
		{"empty parts are passed over, as WiredTiger does", "eviction_target=75,,eviction_trigger=97,", WiredTigerConfig{"eviction_target": "75", "eviction_trigger": "97"}},
		{"the last of equal keys wins", "cache_size=1G,cache_size=300M", WiredTigerConfig{"cache_size": "300M"}},
		{"spaces do not matter", " eviction = ( threads_min = 4 ) ", WiredTigerConfig{"eviction.threads_min": "4"}},
		{"a key without a value is true", "create,cache_size=1G", WiredTigerConfig{"create": "true", "cache_size": "1G"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseWiredTiger(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseWiredTigerRefusesBrackets(t *testing.T) {
	for _, text := range []string{"eviction=(threads_min=4", "eviction=threads_min=4)", ")(", "a=((b=1)", "a=(b=1))"} {
		if config, err := ParseWiredTiger(text); err == nil {
			t.Errorf("%q is read as %v, want an error", text, config)
		}
	}
}

// TestWiredTigerTextIsReadBack proves for any keys and values that what is written says the same when it
// is read.
func TestWiredTigerTextIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z_]{1,8}`)
		plain := rapid.MapOf(word, rapid.StringMatching(`[0-9]{1,3}[MG]?`)).Draw(t, "plain")
		nested := rapid.MapOf(rapid.StringMatching(`[A-Z]{1,4}\.[a-z]{1,4}`), rapid.StringMatching(`[0-9]{1,3}`)).Draw(t, "nested")
		config := WiredTigerConfig{}
		var keys []string
		for _, values := range []map[string]string{plain, nested} {
			for key, value := range values {
				config[key] = value
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		text := wiredTigerText(keys, config)
		read, err := ParseWiredTiger(text)
		if err != nil {
			t.Fatalf("%q cannot be read: %v", text, err)
		}
		if diff := cmp.Diff(config, read); diff != "" {
			t.Errorf("%q (-written +read):\n%s", text, diff)
		}
	})
}

// FuzzParseWiredTiger proves that no text makes the parser panic, and that brackets are always counted.
func FuzzParseWiredTiger(f *testing.F) {
	for _, seed := range []string{"", "a=1", "a=(b=1,c=(d=2))", "((", "a=)", ",,,", "eviction=(threads_min=4,threads_max=8),cache_size=1G"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		config, err := ParseWiredTiger(text)
		if err != nil {
			return
		}
		if strings.Count(text, "(") != strings.Count(text, ")") {
			t.Errorf("%q is read as %v although its brackets do not match", text, config)
		}
		for key := range config {
			if strings.TrimSpace(key) != key || strings.Contains(key, ",") && !strings.Contains(text, "(") {
				t.Errorf("%q gives the key %q", text, key)
			}
		}
	})
}
