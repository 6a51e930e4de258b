// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// Read looks at what is declared and changes nothing; it needs no state, no lock and no right. What it
// is not allowed to see it calls Unreadable. It does not know of other owners: a setting that an older
// owner holds at another value differs.
func Read(kernel Kernel, settings hosttune.Settings, place Place) hosttune.Reading {
	if problems := settings.Problems(); len(problems) > 0 {
		return hosttune.Reading{Lines: refusal(problems).Lines}
	}
	if err := present(kernel); err != nil {
		return hosttune.Reading{Lines: []hosttune.Line{unreadable("host paths", hosttune.ScopeNode, err)}}
	}
	resolved := resolve(kernel, settings, place)
	reading := hosttune.Reading{Facts: resolved.facts(), Writers: writersOf(kernel)}
	for _, line := range resolved.lines {
		if line.Result == hosttune.Refused && isForbidden(line.Errno) {
			line.Result = hosttune.Unreadable
		}
		reading.Lines = append(reading.Lines, line)
	}
	for _, one := range resolved.wishes {
		reading.Lines = append(reading.Lines, resolved.readWish(one))
	}
	reading.Lines = merge(append(reading.Lines, resolved.checks()...))
	return reading
}

func isForbidden(errno string) bool { return errno == "EACCES" || errno == "EPERM" }

func (r *resolution) readWish(one wish) hosttune.Line {
	line := one.line()
	line.Wanted = one.shown(one.value)
	process := one.process
	if one.Network == networkNode {
		process = r.node
	}
	var found string
	err := inNetwork(r.kernel, process, func() error {
		var err error
		found, err = one.read(r.kernel)
		return err
	})
	claim := hosttune.Claim{Operator: one.operator, Value: one.value}
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EPERM):
		line.Result, line.Errno, line.Reason = hosttune.Unreadable, errnoOf(err), err.Error()
	case isMissing(err):
		line.Result, line.Reason = hosttune.Unsupported, "gone since a moment ago"
	case err != nil:
		line.Result, line.Errno, line.Reason = hosttune.Unreadable, errnoOf(err), err.Error()
	case claim.SatisfiedBy(found) || one.Form == formMask && found != "0" && isSubset(found, one.value):
		line.Result, line.Found = hosttune.AlreadySet, one.shown(found)
	default:
		line.Result, line.Found = hosttune.Differs, one.shown(found)
	}
	return line
}
