// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

const (
	// MaxBytes is how large an encoded recording becomes at most. With everything else the object stays
	// below 256 KiB; etcd takes 1.5 MiB in a request.
	MaxBytes = 200 << 10
	// maxDecoded bounds what an encoded recording may grow to when it is read.
	maxDecoded = 32 << 20
	// scale is how many parts of one are kept: three digits after the point.
	scale = 1000
	// formatVersion of what is written.
	formatVersion = 1
)

// header is what comes before the figures.
type header struct {
	Version  int            `json:"version"`
	Revision string         `json:"revision"`
	From     string         `json:"from,omitempty"`
	Began    time.Time      `json:"began"`
	Ended    *time.Time     `json:"ended,omitempty"`
	LastAt   time.Time      `json:"lastAt"`
	Spacing  time.Duration  `json:"spacing"`
	Points   int            `json:"points"`
	Series   []seriesHeader `json:"series"`
	Marks    []Mark         `json:"marks"`
}

type seriesHeader struct {
	Key
	Keep  Keep `json:"k"`
	IsMin bool `json:"min,omitempty"`
}

// Encode writes a recording in few bytes: a header as JSON, then the figures of each series as differences
// to the one before, all of it compressed. When that is more than MaxBytes the recording is made coarser.
func (r *Recording) Encode() ([]byte, error) {
	for {
		encoded, err := r.encode()
		if err != nil {
			return nil, err
		}
		if len(encoded) <= MaxBytes {
			return encoded, nil
		}
		if r.Points <= 2 {
			return nil, fmt.Errorf("a recording of %d series takes %d bytes with two points each, at most %d can be kept", len(r.Series), len(encoded), MaxBytes)
		}
		r.coarsen()
	}
}

func (r *Recording) encode() ([]byte, error) {
	head := header{
		Version: formatVersion, Revision: r.Revision, From: r.From, Began: r.Began, LastAt: r.LastAt,
		Spacing: r.Spacing, Points: r.Points, Marks: r.Marks,
	}
	if !r.Ended.IsZero() {
		head.Ended = &r.Ended
	}
	for _, series := range r.Series {
		head.Series = append(head.Series, seriesHeader{Key: series.Key, Keep: series.Keep, IsMin: series.IsMin})
	}
	var written bytes.Buffer
	compressed := gzip.NewWriter(&written)
	if err := json.NewEncoder(compressed).Encode(head); err != nil {
		return nil, fmt.Errorf("encode recording: %w", err)
	}
	var figures []byte
	for _, series := range r.Series {
		before := int64(0)
		for _, value := range append(slices.Clip(series.Values), series.Latest) {
			figures, before = appendFigure(figures, value, before)
		}
	}
	if _, err := compressed.Write(figures); err != nil {
		return nil, fmt.Errorf("encode recording: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("encode recording: %w", err)
	}
	return written.Bytes(), nil
}

// appendFigure writes the difference to the last known figure, moved by one: 0 stands for nothing measured.
func appendFigure(figures []byte, value float64, before int64) ([]byte, int64) {
	if math.IsNaN(value) {
		return binary.AppendUvarint(figures, 0), before
	}
	const largest = 1 << 50
	scaled := int64(math.Round(math.Max(-largest, math.Min(largest, value*scale))))
	difference := scaled - before
	zigzag := uint64(difference<<1) ^ uint64(difference>>63) //nolint:gosec // the bits are meant
	return binary.AppendUvarint(figures, zigzag+1), scaled
}

// errDamaged tells that what was read is no recording.
var errDamaged = errors.New("the recording is damaged")

// Decode reads what Encode wrote. It returns an error for anything else: people may have written into the
// object.
func Decode(encoded []byte) (*Recording, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	reader := bufio.NewReader(io.LimitReader(compressed, maxDecoded))
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%w: read header: %w", errDamaged, err)
	}
	var head header
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("%w: read header: %w", errDamaged, err)
	}
	switch {
	case head.Version != formatVersion:
		return nil, fmt.Errorf("the recording has format %d, this program reads %d; is it older than the operator?", head.Version, formatVersion)
	case head.Points < 0 || head.Points > MaxPoints || head.Spacing <= 0 || len(head.Marks) > MaxMarks:
		return nil, fmt.Errorf("%w: %d points at %s with %d marks", errDamaged, head.Points, head.Spacing, len(head.Marks))
	}
	return head.recording(reader)
}

func (h header) recording(figures io.ByteReader) (*Recording, error) {
	read := &Recording{
		Revision: h.Revision, From: h.From, Began: h.Began, LastAt: h.LastAt, Spacing: h.Spacing, Points: h.Points, Marks: h.Marks,
	}
	if h.Ended != nil {
		read.Ended = *h.Ended
	}
	for i, head := range h.Series {
		if i > 0 && compare(h.Series[i-1].Key, head.Key) >= 0 {
			return nil, fmt.Errorf("%w: series %d is out of order", errDamaged, i)
		}
		series := Series{Key: head.Key, Keep: head.Keep, IsMin: head.IsMin, Values: make([]float64, h.Points)}
		before := int64(0)
		for point := range h.Points + 1 {
			value := math.NaN()
			written, err := binary.ReadUvarint(figures)
			if err != nil {
				return nil, fmt.Errorf("%w: figure %d of series %d: %w", errDamaged, point, i, err)
			}
			if written > 0 {
				zigzag := written - 1
				before += int64(zigzag>>1) ^ -int64(zigzag&1)
				value = float64(before) / scale
			}
			if point == h.Points {
				series.Latest = value
			} else {
				series.Values[point] = value
			}
		}
		read.Series = append(read.Series, series)
	}
	return read, nil
}

// EncodeHistory writes the history as JSON, for people to read.
func EncodeHistory(history []Entry) (string, error) {
	encoded, err := json.MarshalIndent(history, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode history: %w", err)
	}
	return string(encoded), nil
}

// DecodeHistory reads what EncodeHistory wrote; nothing is no history.
func DecodeHistory(text string) ([]Entry, error) {
	if text == "" {
		return nil, nil
	}
	var history []Entry
	if err := json.Unmarshal([]byte(text), &history); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	if len(history) > MaxEntries {
		history = history[len(history)-MaxEntries:]
	}
	return history, nil
}
