// SPDX-License-Identifier: Apache-2.0

// Command pictures draws what was recorded of real changes, docs/images/data/*.json, as pictures for the
// documentation. Its only argument is the directory of the repository, "." when there is none.
//
// A recording is made of what the operator keeps of a change in the ConfigMap NAME-recording, or of what Prometheus has
// scraped; the end-to-end test leaves the latter when RECORDING names a directory. The picture is made of
// the figures alone, so the same recording always makes the same picture.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// pictures are the titles of the pictures by the names of their recordings.
var pictures = map[string]string{
	"rollout": "A change that restarts members, from its canary to every shard",
	"return":  "A limit breaks, and the change is taken back",
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	for name := range pictures {
		picture, err := pictureOf(root, name)
		if err == nil {
			err = os.WriteFile(fileOf(root, name), []byte(picture), 0o644) //nolint:gosec // a picture for everybody
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "draw a picture:", err)
			os.Exit(1)
		}
	}
}

func fileOf(root, name string) string { return filepath.Join(root, "docs", "images", name+".svg") }

func pictureOf(root, name string) (string, error) {
	from := filepath.Join(root, "docs", "images", "data", name+".json")
	content, err := os.ReadFile(from) //nolint:gosec // a file of this repository
	if err != nil {
		return "", err
	}
	var recorded recording
	if err := json.Unmarshal(content, &recorded); err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	picture, err := draw(recorded, pictures[name])
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	return picture, nil
}

// recording is what was recorded of one change: series by what they show, each with the labels that tell
// them apart and pairs of seconds since the beginning and value.
type recording struct {
	Server string              `json:"server"`
	Series map[string][]series `json:"series"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	// Spacing is the time between two samples in seconds; two when it is not given, as Prometheus is asked.
	Spacing float64      `json:"spacing,omitempty"`
	Values  [][2]float64 `json:"values"`
}

func (s series) spacing() float64 { return cmp.Or(s.Spacing, sampleSeconds) }

// lasts is the time of the last sample of all.
func (r recording) lasts() float64 {
	last := 0.0
	for _, all := range r.Series {
		for _, one := range all {
			if len(one.Values) > 0 {
				last = max(last, one.Values[len(one.Values)-1][0])
			}
		}
	}
	return last
}
