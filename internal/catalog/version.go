// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a MongoDB server version.
type Version struct {
	Major, Minor, Patch int
}

// ParseVersion reads "6.0.27". It returns an error for anything but three numbers.
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("version %q is not of the form major.minor.patch", text)
	}
	numbers := make([]int, len(parts))
	for i, part := range parts {
		number, err := strconv.Atoi(part)
		if err != nil || number < 0 {
			return Version{}, fmt.Errorf("version %q is not of the form major.minor.patch", text)
		}
		numbers[i] = number
	}
	return Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}, nil
}

// String is the version as the server spells it.
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Line is the release line of a version: major and minor without the patch number.
func (v Version) Line() Line {
	return Line{v.Major, v.Minor}
}

// Line is a release line such as 4.4.
type Line struct {
	Major, Minor int
}

// String is the line as people write it: "4.4".
func (l Line) String() string {
	return fmt.Sprintf("%d.%d", l.Major, l.Minor)
}

// Before tells whether l is an older line than other.
func (l Line) Before(other Line) bool {
	return l.Major < other.Major || l.Major == other.Major && l.Minor < other.Minor
}

// The release lines that the catalogue knows.
var (
	v42 = Line{4, 2}
	v44 = Line{4, 4}
	v50 = Line{5, 0}
	v60 = Line{6, 0}
	v70 = Line{7, 0}
	v80 = Line{8, 0}
)

// Lines are all release lines that the catalogue knows, oldest first.
func Lines() []Line {
	return []Line{v42, v44, v50, v60, v70, v80}
}

// LineRange is the lines a knob exists in, both ends included.
type LineRange struct {
	From, To Line
}

// Includes tells whether a line lies in the range.
func (r LineRange) Includes(l Line) bool {
	return !l.Before(r.From) && !r.To.Before(l)
}

// String is the range as a table shows it: "4.2-4.4", or "5.0+" when it reaches the newest line.
func (r LineRange) String() string {
	switch {
	case r.To == v80 && r.From == v42:
		return "all"
	case r.To == v80:
		return r.From.String() + "+"
	case r.From == r.To:
		return r.From.String()
	default:
		return r.From.String() + "-" + r.To.String()
	}
}
