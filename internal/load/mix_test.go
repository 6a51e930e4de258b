// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMixes(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"the six operations of the stress test come alike", "six", "find_first=1,find_in=1,find=1,find_update=1,find_insert=1,find_delete=1"},
		{"YCSB's A reads and updates alike", "ycsb-a", "find_first=50,update=50"},
		{"YCSB's B reads 95 of 100", "ycsb-b", "find_first=95,update=5"},
		{"YCSB's C only reads", "ycsb-c", "find_first=1"},
		{"an operation alone is a mix", "bulk_update", "bulk_update=1"},
		{"parts are listed in the order of reports", "update=2, find_first=3", "find_first=3,update=2"},
		{"a part of 0 does not occur", "find=0,update=1", "update=1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			mix, err := ParseMix(row.text)
			if err != nil {
				t.Fatal(err)
			}
			if mix.String() != row.want {
				t.Errorf("%s, wanted %s", mix, row.want)
			}
		})
	}
}

func TestRefusedMixes(t *testing.T) {
	for _, row := range []struct{ name, text, says string }{
		{"nothing", "", "unknown operation"},
		{"an operation that does not exist", "find_last", `"find_last": six, ycsb-a, ycsb-b, ycsb-c, or one or more of find_first`},
		{"a part below 0", "find=-1", "0 to 1000000"},
		{"a part over a million", "find=1000001", "0 to 1000000"},
		{"a part that is no number", "find=much", `"much"`},
		{"an operation twice", "find=1,find=2", "twice"},
		{"parts of nothing", "find=0", "nothing"},
		{"a preset within a list", "ycsb-a,find=1", "ycsb-a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := ParseMix(row.text); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, wanted %q in it", err, row.says)
			}
		})
	}
}

func TestOperationsComeInTheirParts(t *testing.T) {
	mix, err := ParseMix("find_first=95,update=5")
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	random, counts := rand.New(rand.NewPCG(1, 2)), map[Operation]int{}
	for range draws {
		counts[mix.pick(random)]++
	}
	if share := float64(counts[Update]) / draws; math.Abs(share-0.05) > 0.005 || len(counts) != 2 {
		t.Errorf("%v of %d draws", counts, draws)
	}
}

func TestMixesThatWrite(t *testing.T) {
	for text, want := range map[string]bool{
		"find_first": false, "find_in": false, "find": false, "ycsb-c": false,
		"find_update": true, "find_insert": true, "find_delete": true, "update": true, "bulk_update": true, "six": true,
	} {
		mix, err := ParseMix(text)
		if err != nil {
			t.Fatal(err)
		}
		if mix.Writes() != want {
			t.Errorf("%s writes: %v, wanted %v", text, mix.Writes(), want)
		}
	}
}
