// SPDX-License-Identifier: Apache-2.0

// Command pictures draws what Prometheus recorded of real changes, as pictures for the documentation:
//
//	pictures RECORDING.json TITLE PICTURE.svg
//
// The end-to-end test leaves the recordings when RECORDING names a directory. The picture is made of the
// figures alone, so the same recording always makes the same picture.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pictures RECORDING.json TITLE PICTURE.svg")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "draw a picture:", err)
		os.Exit(1)
	}
}

func run(from, title, to string) error {
	content, err := os.ReadFile(from) //nolint:gosec // the file the user names
	if err != nil {
		return err
	}
	var recorded recording
	if err := json.Unmarshal(content, &recorded); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	picture, err := draw(recorded, title)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, []byte(picture), 0o644) //nolint:gosec // a picture for everybody
}

// recording is what the end-to-end test leaves: series by what they show, each with the labels that tell
// them apart and pairs of seconds since the beginning and value.
type recording struct {
	Server string              `json:"server"`
	Series map[string][]series `json:"series"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	Values [][2]float64      `json:"values"`
}

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
