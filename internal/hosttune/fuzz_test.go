// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"path"
	"strings"
	"testing"
)

// FuzzParseMask looks for masks that change on their second way, and for ones that would not be taken
// by a kernel.
func FuzzParseMask(f *testing.F) {
	for _, seed := range []string{"fe", "ff,fffffffe", "0", "", ",", "0x1", "1,0", "00000000,00000001", strings.Repeat("f", 9), strings.Repeat("f,", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, mask string) {
		set, err := ParseMask(mask)
		if err != nil {
			return
		}
		again, err := ParseMask(set.String())
		if err != nil || !again.Equal(set) || set.Len() == 0 || set.First() < 0 || len(set) > MaxCPUs/bitsPerGroup {
			t.Errorf("%q is %s, then %s: %v", mask, set, again, err)
		}
		if strings.ContainsFunc(set.String(), func(r rune) bool { return !strings.ContainsRune("0123456789abcdef,", r) }) {
			t.Errorf("%q is written as %q", mask, set)
		}
	})
}

// FuzzParseCPUList looks for lists that select nothing or more CPUs than there can be.
func FuzzParseCPUList(f *testing.F) {
	for _, seed := range []string{"0", "1-7", "0,2,4-6", "", "-", "7-1", "8191", "8192", "1,,2", " 1", "0-8191"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		set, err := ParseCPUList(list)
		if err != nil {
			return
		}
		if set.Len() == 0 || set.Len() > MaxCPUs {
			t.Errorf("%q selects %d CPUs", list, set.Len())
		}
		again, err := ParseMask(set.String())
		if err != nil || !again.Equal(set) {
			t.Errorf("%q is %s, then %s: %v", list, set, again, err)
		}
	})
}

// FuzzSysctl looks for names that lead out of /proc/sys, and for values of more than one line.
func FuzzSysctl(f *testing.F) {
	f.Add("vm.swappiness", "1", false)
	f.Add("kernel...core_pattern", "|/bin/sh", true)
	f.Add("net.ipv4.tcp_rmem", "1 2 3", false)
	f.Add("vm./etc/passwd", "a\nb", true)
	f.Fuzz(func(t *testing.T, name, value string, unlisted bool) {
		sysctl := Sysctl{Name: name, Value: value, Unlisted: unlisted}
		if sysctl.CheckSysctlName() == nil {
			file := SysctlPath(name)
			if path.Clean(file) != file || !strings.HasPrefix(file, "proc/sys/") || strings.ContainsAny(file, "\x00\n ") {
				t.Errorf("%q leads to %q", name, file)
			}
			for _, forbidden := range []string{"proc/sys/kernel/core_pattern", "proc/sys/kernel/modprobe", "proc/sys/fs/binfmt_misc/"} {
				if strings.HasPrefix(file, forbidden) {
					t.Errorf("%q was taken", name)
				}
			}
		}
		if sysctl.CheckValue() == nil && (value == "" || strings.ContainsAny(value, "\n\r\x00") || len(value) > longestValue) {
			t.Errorf("the value %q was taken", value)
		}
	})
}

// FuzzInterface looks for names and patterns that are more than one element of a path.
func FuzzInterface(f *testing.F) {
	for _, seed := range []string{"eth0", "..", "a/b", "bond0.100", "eth*", "[", "\x00", "cciss!c0d0", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckInterface(name) == nil || CheckDevice(name) == nil {
			joined := path.Join("sys/class/net", name)
			if path.Dir(joined) != "sys/class/net" || strings.ContainsAny(name, "/\x00\n") {
				t.Errorf("%q leads to %q", name, joined)
			}
		}
		if CheckPattern(name) == nil && (strings.ContainsAny(name, "/\x00\n") || Matches(name, "a/b")) {
			t.Errorf("the pattern %q was taken", name)
		}
	})
}

// FuzzParseSettings looks for settings that end the program, or that say less on their second reading.
func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`{"owner":{"namespace":"a","name":"b","uid":"c","created":"2026-01-01T00:00:00Z"},"sysctls":[{"name":"vm.swappiness","value":"1"}]}`))
	f.Add([]byte(`{"receivePacketSteering":{"interfaces":[{"name":"eth0"}],"cpus":{"mode":"Mask","mask":"fe"}},"checks":{"writeProbe":{"mib":1,"seconds":1}}}`))
	f.Fuzz(func(_ *testing.T, content []byte) {
		settings, err := ParseSettings(content)
		if err == nil {
			_ = settings.Problems() // any answer is fine as long as there is one
		}
	})
}
