// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func high(member string, number float64) Value {
	return Value{Key: Key{Member: member, Gauge: "DirtyCachePercent"}, Keep: KeepHighest, Number: number}
}

func low(member string, number float64) Value {
	return Value{Key: Key{Member: member, Gauge: "TicketsAvailable"}, Keep: KeepLowest, Number: number}
}

// TestAnyRecordingIsBounded adds samples at random times and holds what must hold of every recording.
func TestAnyRecordingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := New(start)
		at, highest, lowest := start, map[string]float64{}, map[string]float64{}
		latest := map[string]float64{}
		for range rapid.IntRange(1, 600).Draw(t, "samples") {
			at = at.Add(time.Duration(rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 4000)).Draw(t, "seconds")) * time.Second)
			latest = map[string]float64{}
			var values []Value
			for _, member := range []string{"b", "a"} {
				if !rapid.Bool().Draw(t, "measured") {
					continue
				}
				number := float64(rapid.IntRange(-5, 100000).Draw(t, "number"))
				values = append(values, high(member, number), low(member, number))
				highest[member] = max(number, valueOr(highest, member, number))
				lowest[member] = min(number, valueOr(lowest, member, number))
				latest[member] = number
			}
			recorded.Add(at, values)
		}
		if recorded.Points > MaxPoints || recorded.Points < 1 {
			t.Fatalf("%d points", recorded.Points)
		}
		if end := recorded.At(recorded.Points); !end.After(at) || recorded.At(recorded.Points-1).After(at) {
			t.Fatalf("the last of %d points at %s does not cover %s", recorded.Points, recorded.Spacing, at)
		}
		for member, want := range highest {
			expectWorst(t, recorded, Key{Member: member, Gauge: "DirtyCachePercent"}, want, latest)
			expectWorst(t, recorded, Key{Member: member, Gauge: "TicketsAvailable"}, lowest[member], latest)
		}
		encoded, err := recorded.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(recorded, decoded, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read otherwise than written (-written +read):\n%s", diff)
		}
	})
}

func valueOr(values map[string]float64, key string, otherwise float64) float64 {
	if value, known := values[key]; known {
		return value
	}
	return otherwise
}

// expectWorst holds that the worst value is never lost, however coarse the recording became.
func expectWorst(t *rapid.T, recorded *Recording, key Key, want float64, latest map[string]float64) {
	series, found := recorded.Of(key)
	if !found || len(series.Values) != recorded.Points {
		t.Fatalf("%v: found %v with %d of %d values", key, found, len(series.Values), recorded.Points)
	}
	worst := math.NaN()
	for _, value := range series.Values {
		worst = series.Keep.of(worst, value)
	}
	if worst != want {
		t.Fatalf("the worst of %v is %v, want %v", key, worst, want)
	}
	if wantLatest, known := latest[key.Member]; known != !math.IsNaN(series.Latest) || known && wantLatest != series.Latest {
		t.Fatalf("the latest of %v is %v, want %v", key, series.Latest, latest)
	}
}

func TestRecentForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded, at := New(start), start
		for range rapid.IntRange(1, 200).Draw(t, "samples") {
			at = at.Add(time.Duration(rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 4000)).Draw(t, "seconds")) * time.Second)
			recorded.AddRecent(at, []Value{high("a", 1)})
			if recorded.Points > LeadPoints || recorded.Spacing != FirstSpacing {
				t.Fatalf("%d points at %s", recorded.Points, recorded.Spacing)
			}
			if recorded.Began.After(at) || at.Sub(recorded.Began) >= LeadPoints*FirstSpacing {
				t.Fatalf("%s is not within %d points from %s", at, recorded.Points, recorded.Began)
			}
			if series, found := recorded.Of(Key{Member: "a", Gauge: "DirtyCachePercent"}); !found || len(series.Values) != recorded.Points || series.Values[recorded.Points-1] != 1 {
				t.Fatalf("found %v: %v", found, series.Values)
			}
		}
	})
}

func TestASeriesThatEndedIsForgotten(t *testing.T) {
	recorded := New(start)
	recorded.AddRecent(start, []Value{high("gone", 1)})
	recorded.AddRecent(start.Add(time.Hour), []Value{high("here", 1)})
	if _, found := recorded.Of(Key{Member: "gone", Gauge: "DirtyCachePercent"}); found || len(recorded.Series) != 1 {
		t.Errorf("kept: %+v", recorded.Series)
	}
}

func TestWhatIsNoNumberIsLeftOut(t *testing.T) {
	recorded := New(start)
	recorded.Add(start, []Value{high("a", math.NaN()), high("b", math.Inf(1)), high("c", 1)})
	recorded.Add(start.Add(-time.Second), []Value{high("d", 1)})
	if len(recorded.Series) != 1 {
		t.Errorf("kept: %+v", recorded.Series)
	}
}

// TestTheLargestClusterFits records the 512 members that a status can list, for a month.
func TestTheLargestClusterFits(t *testing.T) {
	recorded := New(start)
	for sample := range 150 {
		var values []Value
		for member := range 512 {
			name := fmt.Sprintf("a-cluster-with-quite-a-long-name-shard-%d-%d", member/7, member%7)
			for gauge := range 17 {
				key := Key{Member: name, Gauge: fmt.Sprintf("SomeGaugeOfTheMember%dPerSecond", gauge)}
				values = append(values, Value{Key: key, Keep: KeepHighest, Number: float64((sample*7919+member*104729+gauge*1299709)%100000) / 1000})
				key.Limit = "limit-of-the-gauge"
				values = append(values, Value{Key: key, Keep: KeepLatest, Number: 20})
			}
		}
		recorded.Add(start.Add(time.Duration(sample)*5*time.Hour), values)
		recorded.Mark(Mark{At: start, Kind: MarkAct, Name: "Restart", Member: "some-member-of-the-cluster", Text: "restarting some-member-of-the-cluster"})
	}
	encoded, err := recorded.Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes with %d points of %d series", len(encoded), recorded.Points, len(recorded.Series))
	if len(encoded) > MaxBytes || recorded.Points < 5 {
		t.Errorf("%d bytes with %d points", len(encoded), recorded.Points)
	}
}

func TestMarksAreBounded(t *testing.T) {
	recorded := New(start)
	recorded.Mark(Mark{Kind: MarkStep, Name: "Canary"})
	for i := range 2 * MaxMarks {
		recorded.Mark(Mark{Kind: MarkAct, Name: fmt.Sprint(i)})
	}
	if len(recorded.Marks) != MaxMarks || recorded.Step() != "Canary" || recorded.Marks[MaxMarks-1].Name != fmt.Sprint(2*MaxMarks-1) {
		t.Errorf("%d marks, step %q, the last is %+v", len(recorded.Marks), recorded.Step(), recorded.Marks[len(recorded.Marks)-1])
	}
}

func TestDamagedRecordingsAreRefused(t *testing.T) {
	recorded := New(start)
	recorded.Add(start, []Value{high("a", 1), high("b", 2)})
	good, err := recorded.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() []byte{
		"nothing":         func() []byte { return nil },
		"no gzip":         func() []byte { return []byte("hello") },
		"cut short":       func() []byte { return good[:len(good)-20] },
		"too many points": func() []byte { r := *recorded; r.Points = MaxPoints + 1; return encodedAs(t, r) },
		"missing figures": func() []byte { r := *recorded; r.Points = 50; return encodedAs(t, r) },
		"no spacing":      func() []byte { r := *recorded; r.Spacing = 0; return encodedAs(t, r) },
		"twice the same": func() []byte {
			r := *recorded
			r.Series = append(r.Series[:1:1], r.Series[0])
			return encodedAs(t, r)
		},
	} {
		if _, err := Decode(damage()); err == nil {
			t.Errorf("%s is taken for a recording", name)
		}
	}
}

func encodedAs(t *testing.T, recorded Recording) []byte {
	t.Helper()
	encoded, err := recorded.encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func FuzzDecode(f *testing.F) {
	recorded := New(start)
	recorded.Add(start, []Value{high("a", 1), low("a", 2)})
	good, err := recorded.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(_ *testing.T, encoded []byte) {
		if decoded, err := Decode(encoded); err == nil {
			decoded.Add(decoded.Began.Add(time.Hour), []Value{high("z", 1)})
		}
	})
}

func TestHistoryIsReadable(t *testing.T) {
	ended := start
	history := []Entry{{Revision: "demo-1", Outcome: Verified, Ended: &ended}}
	text, err := EncodeHistory(history)
	if err != nil || !strings.Contains(text, `"outcome": "Verified"`) {
		t.Fatalf("%v: %s", err, text)
	}
	read, err := DecodeHistory(text)
	if diff := cmp.Diff(history, read); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if read, err := DecodeHistory(""); read != nil || err != nil {
		t.Errorf("nothing is read as %v, %v", read, err)
	}
	if _, err := DecodeHistory("{"); err == nil {
		t.Error("damaged history is read")
	}
}
