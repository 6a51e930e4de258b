// SPDX-License-Identifier: Apache-2.0

// Package terminal lays text out for people who read it in a terminal: aligned columns, wrapped
// paragraphs, and colours only where they are wanted. It decides nothing about what is said.
package terminal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Paint is how a piece of text is to look. It never carries a meaning of its own: whoever sees no colours
// reads the same words.
type Paint int

// The paints.
const (
	Plain Paint = iota
	Bold
	Faint
	Good
	Warn
	Bad
)

// codes are the SGR parameters of ECMA-48; the eight old colours are the ones every palette can read.
var codes = map[Paint]string{Bold: "1", Faint: "2", Good: "32", Warn: "33", Bad: "31"}

// Cell is a piece of text that is painted as a whole.
type Cell struct {
	Text  string
	Paint Paint
	// Right puts it at the right edge of its column, for numbers.
	Right bool
}

// Text is a cell without paint.
func Text(text string) Cell { return Cell{Text: text} }

// Number is a cell at the right edge of its column.
func Number(text string) Cell { return Cell{Text: text, Right: true} }

// In is the cell with another paint.
func (c Cell) In(paint Paint) Cell {
	c.Paint = paint
	return c
}

// Screen collects what is to be shown.
type Screen struct {
	// Colours tells that whoever reads can see them.
	Colours bool
	// Width to wrap paragraphs at, in columns; 0 for 100.
	Width int

	text strings.Builder
}

// String is everything that was put on the screen.
func (s *Screen) String() string { return s.text.String() }

// Line puts one line.
func (s *Screen) Line(cells ...Cell) {
	var line strings.Builder
	for _, cell := range cells {
		line.WriteString(s.painted(cell.Text, cell.Paint))
	}
	s.text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// Linef puts one line without paint.
func (s *Screen) Linef(format string, args ...any) { s.Line(Text(fmt.Sprintf(format, args...))) }

func (s *Screen) painted(text string, paint Paint) string {
	code, known := codes[paint]
	if !s.Colours || !known || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// gap is the space between two columns, as kubectl has it.
const gap = "   "

// Table puts rows in aligned columns under a header; without rows it puts nothing.
func (s *Screen) Table(header []string, rows [][]Cell) {
	if len(rows) == 0 {
		return
	}
	head := make([]Cell, 0, len(header))
	for column, title := range header {
		head = append(head, Cell{Text: title, Paint: Bold, Right: column < len(rows[0]) && rows[0][column].Right})
	}
	s.columns(append([][]Cell{head}, rows...))
}

// Fields puts names and values in two columns, and wraps the values.
func (s *Screen) Fields(fields ...[2]string) {
	widest := 0
	for _, field := range fields {
		if field[1] != "" {
			widest = max(widest, utf8.RuneCountInString(field[0]))
		}
	}
	for _, field := range fields {
		if field[1] == "" {
			continue
		}
		indent := strings.Repeat(" ", widest) + gap
		for i, line := range strings.Split(Wrap(field[1], s.width()-len(indent)), "\n") {
			name := indent
			if i == 0 {
				name = s.painted(Text(field[0]).padded(widest), Bold) + gap
			}
			s.text.WriteString(strings.TrimRight(name+line, " ") + "\n")
		}
	}
}

func (s *Screen) columns(rows [][]Cell) {
	var widths []int
	for _, row := range rows {
		for column, cell := range row {
			if column == len(widths) {
				widths = append(widths, 0)
			}
			widths[column] = max(widths[column], utf8.RuneCountInString(cell.Text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for column, cell := range row {
			if column > 0 {
				line.WriteString(gap)
			}
			text := cell.Text
			if column < len(row)-1 || cell.Right {
				text = cell.padded(widths[column])
			}
			line.WriteString(s.painted(text, cell.Paint))
		}
		s.text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// padded is the text of a cell, as wide as its column.
func (c Cell) padded(width int) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(c.Text)))
	if c.Right {
		return space + c.Text
	}
	return c.Text + space
}

const defaultWidth = 100

func (s *Screen) width() int {
	if s.Width > 0 {
		return s.Width
	}
	return defaultWidth
}

// Paragraph puts text, wrapped and indented.
func (s *Screen) Paragraph(indent, text string) {
	for line := range strings.SplitSeq(Wrap(text, s.width()-len(indent)), "\n") {
		s.text.WriteString(indent + line + "\n")
	}
}

// Wrap breaks text between words so that no line is wider than width, where a single word allows it.
func Wrap(text string, width int) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
				lines = append(lines, line)
				line = word
			default:
				line += " " + word
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Span is a duration as people read it, in at most two units: "45s", "3m20s", "5h10m", "12d4h".
func Span(span time.Duration) string {
	const day = 24 * time.Hour
	span = max(0, span.Round(time.Second))
	units := []struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, unit := range units {
		if span < unit.size {
			continue
		}
		text := fmt.Sprintf("%d%s", span/unit.size, unit.name)
		if i+1 < len(units) {
			if rest := (span % unit.size) / units[i+1].size; rest > 0 {
				text += fmt.Sprintf("%d%s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0s"
}

// Count is a number with its noun: "1 member", "3 members".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
