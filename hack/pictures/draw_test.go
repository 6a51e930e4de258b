// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func steady(value float64, from, to int) [][2]float64 {
	var values [][2]float64
	for at := from; at <= to; at += sampleSeconds {
		values = append(values, [2]float64{float64(at), value})
	}
	return values
}

// small is a recording of a minute with one member and one step.
func small() recording {
	member := map[string]string{"member": "a<b-shard-0-0"}
	return recording{Server: "MongoDB 4.4.2", Series: map[string][]series{
		"dirty": {{Labels: member, Values: steady(0.04, 0, 60)}}, "limit": {{Labels: member, Values: steady(0.2, 0, 60)}},
		"lag": {{Labels: member, Values: steady(1, 0, 60)}}, "proved": {{Labels: member, Values: steady(30, 0, 60)}},
		"wanted": {{Labels: member, Values: steady(31, 0, 60)}},
		"step":   {{Labels: map[string]string{"step": "CanarySoak"}, Values: steady(1, 10, 50)}},
		"alerts": {{Labels: map[string]string{"alertname": "MongoTuningRolledBack"}, Values: steady(1, 30, 50)}},
	}}
}

func TestPictureShowsWhatWasRecorded(t *testing.T) {
	picture, err := draw(small(), "A change")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A change", "MongoDB 4.4.2", ">CanarySoak<", ">MongoTuningRolledBack<", ">a&lt;b-shard-0-0<", ">limit<", ">20 %<", ">1:00<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
}

func TestNothingIsDrawnOfNothing(t *testing.T) {
	empty := small()
	delete(empty.Series, "step")
	for name, r := range map[string]recording{"no series": {}, "no change": empty} {
		if _, err := draw(r, name); err == nil {
			t.Errorf("%s makes a picture", name)
		}
	}
}

func TestSpans(t *testing.T) {
	for name, row := range map[string]struct{ values, want [][2]float64 }{
		"never":                 {steady(0, 0, 10), nil},
		"once":                  {steady(1, 4, 8), [][2]float64{{4, 10}}},
		"twice, with samples 0": {[][2]float64{{0, 1}, {2, 0}, {4, 1}}, [][2]float64{{0, 2}, {4, 6}}},
		"twice, with a gap":     {[][2]float64{{0, 1}, {2, 1}, {8, 1}}, [][2]float64{{0, 4}, {8, 10}}},
	} {
		if diff := cmp.Diff(row.want, spans(series{Values: row.values})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRoundNumbers(t *testing.T) {
	for least, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 6: 10, 21: 25, 26: 50} {
		if got := nice(least); got != want {
			t.Errorf("nice(%g) = %g, want %g", least, got, want)
		}
	}
	if roundTime(14) != 15 || roundTime(4000) != 3600 {
		t.Error("times are not round")
	}
}

// TestPicturesAreCurrent proves that the pictures in the tree are what the recordings make.
func TestPicturesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	for name := range pictures {
		want, err := pictureOf(root, name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(fileOf(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if want != string(got) {
			t.Errorf("docs/images/%s.svg is stale; run make generate", name)
		}
	}
}
