// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// touch finds the settings of this run and puts the owner's claims into the state.
func (r *run) touch() {
	r.touched = map[string]*touch{}
	for i := range r.resolved.wishes {
		one := &r.resolved.wishes[i]
		r.claim(one)
	}
	for key, one := range r.state.Settings {
		if _, wanted := r.touched[key]; wanted {
			continue
		}
		released := r.isReleased(one) && r.giveUp(one)
		if released || one.Pending || len(one.Claims) == 0 {
			found, err := r.read(one.target, "")
			r.touched[key] = &touch{entry: one, found: found, err: err, isOthers: !released && len(one.Claims) > 0}
		}
	}
}

// giveUp takes the claims of the run's owner from a setting.
func (r *run) giveUp(one *entry) (released bool) {
	switch {
	case r.release == nil:
		return one.release(r.owner.UID)
	case r.release.Owner == Everyone:
		one.Claims = nil
		return true
	default:
		return one.release(r.release.Owner)
	}
}

func (r *run) claim(one *wish) {
	key := one.key()
	found, err := r.read(one.target, one.process)
	touched := &touch{wish: one, found: found, err: err, entry: r.state.Settings[key]}
	r.touched[key] = touched
	if err != nil {
		return // what cannot be read cannot be put back: it is not set
	}
	if touched.entry == nil {
		touched.entry = &entry{target: one.target, Original: found}
		r.state.Settings[key] = touched.entry
	}
	touched.entry.claim(hosttune.Claim{Owner: r.owner, Operator: one.operator, Value: one.value})
}

// isReleased says whether a setting of the state that the run has no wish for is to be given back. What
// belongs to pods this run is not about stays, and so does a block that was not understood: a mistake
// in a spec is no reason to change the host.
func (r *run) isReleased(one *entry) bool {
	if r.release != nil {
		return len(r.release.Settings) == 0 || slices.Contains(r.release.Settings, one.Setting)
	}
	if r.resolved.refused[one.Block] {
		return false
	}
	if one.Pod == "" {
		return true
	}
	return slices.ContainsFunc(r.resolved.pods, func(pod pod) bool { return pod.UID == one.Pod })
}

// settle decides what each touched setting becomes, and whether that needs a write.
func (r *run) settle() {
	for _, one := range r.touched {
		if one.entry == nil || one.err != nil {
			continue
		}
		one.settled = hosttune.Settle(one.entry.Original, one.entry.Claims)
		value := one.settled.Value
		switch {
		case hosttune.SameValue(one.found, value):
			one.entry.Pending = false
		case len(one.settled.Kept) > 0 && one.settled.IsKeptBy(one.found) && !hosttune.SameValue(one.found, one.entry.Written):
			// Somebody else has raised it further than OnlyRaise asks for, say. That is theirs.
			one.entry.Pending = false
		case len(one.settled.Kept) == 0 && one.entry.Written == "":
			// It was never written here; whatever it is now is somebody else's.
			one.entry.Pending = false
		default:
			one.writes = true
			one.entry.Written, one.entry.Pending = value, true
		}
	}
}

// write changes the kernel, setting by setting, and tells of each.
func (r *run) write() {
	keys := make([]string, 0, len(r.touched))
	for key := range r.touched {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if line := r.change(r.touched[key]); !r.touched[key].isOthers {
			r.report.Lines = append(r.report.Lines, line)
		}
	}
}

func (r *run) change(one *touch) hosttune.Line {
	about := one.about()
	line := about.line()
	if one.wish != nil {
		line.Wanted, line.Reason = one.wish.declared, one.wish.note
	} else {
		line.Wanted = about.shown(one.settled.Value)
	}
	if one.err != nil {
		return r.unread(one, line)
	}
	line.Found = about.shown(one.found)
	if original := about.shown(one.entry.Original); original != line.Found {
		line.Original = original
	}
	line.Result = r.resultOf(one)
	if one.wish != nil {
		if older, conflict := one.settled.Conflicts[r.owner.UID]; conflict {
			line.Result, line.Other = hosttune.Conflict, &older
			line.Reason = fmt.Sprintf("%s/%s, which is older, wants %s", older.Namespace, older.Name, about.shown(one.settled.Value))
		}
	} else if len(one.settled.Kept) > 0 {
		keeper := one.settled.Kept[0].Owner
		line.Reason = fmt.Sprintf("%s/%s still wants it", keeper.Namespace, keeper.Name)
	}
	if one.writes {
		r.put(one, about, &line)
	}
	return line
}

// about is the setting as the run's owner knows it, or as the one who set it did.
func (t *touch) about() target {
	if t.wish != nil {
		return t.wish.target
	}
	return t.entry.target
}

func (r *run) resultOf(one *touch) hosttune.Result {
	switch {
	case one.wish == nil:
		return hosttune.Restored
	case one.writes:
		return hosttune.Applied
	default:
		return hosttune.AlreadySet
	}
}

// unread tells of a setting that could not be read. One that is gone with its device or its pod needs
// no restoring.
func (r *run) unread(one *touch, line hosttune.Line) hosttune.Line {
	line.Errno = errnoOf(one.err)
	switch {
	case one.wish == nil && isMissing(one.err):
		line.Result, line.Errno, line.Reason = hosttune.NotNeeded, "", "gone, with its device or its kernel"
		one.entry.Claims, one.entry.Written, one.entry.Pending = nil, "", false
		one.err = nil
		one.found = one.entry.Original
	default:
		line.Result, line.Reason = hosttune.Refused, cmp.Or(line.Reason, one.err.Error())
	}
	return line
}

// put writes a value and reads it back; the kernel's word is what counts.
func (r *run) put(one *touch, about target, line *hosttune.Line) {
	value, process := one.settled.Value, ""
	if one.wish != nil {
		process = one.wish.process
	}
	line.Set = about.shown(value)
	err := r.inNetwork(about, process, func() error {
		if err := about.write(r.host.Kernel, value); err != nil {
			return err
		}
		found, err := about.read(r.host.Kernel)
		if err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		one.found, line.ReadBack = found, about.shown(found)
		return nil
	})
	switch {
	case isMissing(err) && about.Network == networkPod:
		line.Result, line.Set, line.Reason = hosttune.NotNeeded, "", "the pod has ended"
	case err != nil:
		line.Result, line.Errno, line.Reason = hosttune.Refused, errnoOf(err), err.Error()
	case hosttune.SameValue(one.found, value):
		one.entry.Pending = false
	case about.Form == formMask && isSubset(one.found, value):
		one.entry.Pending = false
		line.Reason = strings.TrimPrefix(line.Reason+"; the kernel leaves out isolated CPUs", "; ")
	default:
		line.Result, line.Reason = hosttune.Refused, fmt.Sprintf("the kernel says %s after %s was written", about.shown(one.found), line.Set)
	}
}

func isSubset(mask, of string) bool {
	inner, errInner := hosttune.ParseMask(mask)
	outer, errOuter := hosttune.ParseMask(of)
	return errInner == nil && errOuter == nil && len(inner.Without(outer)) == 0
}

// forget drops settings that nobody wants and that are as they were found.
func (r *run) forget() {
	for key, one := range r.touched {
		if one.entry == nil || len(one.entry.Claims) > 0 || one.err != nil {
			continue
		}
		if one.entry.Written == "" || hosttune.SameValue(one.found, one.entry.Original) {
			delete(r.state.Settings, key)
		}
	}
}

// merge makes one line of the lines that agree but for the queue they are about. The worst result is
// told, of several that are as bad the first.
func merge(lines []hosttune.Line) []hosttune.Line {
	type about struct {
		setting, on string
		scope       hosttune.Scope
	}
	merged := make([]hosttune.Line, 0, len(lines))
	at := map[about]int{}
	for _, line := range lines {
		key := about{line.Setting, line.On, line.Scope}
		i, seen := at[key]
		if !seen || line.Scope != hosttune.ScopeInterface {
			at[key] = len(merged)
			merged = append(merged, line)
			continue
		}
		if line.Result.IsWorseThan(merged[i].Result) {
			merged[i] = line
		}
	}
	hosttune.Sort(merged)
	return merged
}
