// SPDX-License-Identifier: Apache-2.0

package hosttune

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func validSettings() Settings {
	return Settings{Owner: Owner{Namespace: "shop", Name: "orders", UID: "0000-1111", Created: "2026-01-02T03:04:05Z"}}
}

func TestSettingsThatAreRefused(t *testing.T) {
	sysctl := func(name, value string) Settings {
		return Settings{Sysctls: []Sysctl{{Name: name, Value: value}}}
	}
	unlisted := func(name, value string) Settings {
		return Settings{Sysctls: []Sysctl{{Name: name, Value: value, Unlisted: true}}}
	}
	steering := func(change func(*ReceivePacketSteering)) Settings {
		one := &ReceivePacketSteering{Interfaces: []Interface{{Name: "eth0"}}, CPUs: CPUs{Mode: CPUsAll}}
		change(one)
		return Settings{ReceivePacketSteering: one}
	}
	disks := func(name string) Settings { return Settings{BlockDevices: &BlockDevices{Names: []string{name}}} }
	probe := func(mib, seconds int32) Settings {
		return Settings{Checks: &Checks{WriteProbe: &WriteProbe{MiB: mib, Seconds: seconds}}}
	}
	for _, row := range []struct {
		name     string
		settings Settings
		setting  string
		says     string
	}{
		{"a name outside of the list", sysctl("vm.watermark_boost_factor", "1"), "vm.watermark_boost_factor", "docs/host-tuning.md"},
		{"a path for a name", sysctl("vm/swappiness", "1"), "vm/swappiness", "no sysctl name"},
		{"a way up", sysctl("vm.../../etc", "1"), "vm.../../etc", "no sysctl name"},
		{"a way up with the escape", unlisted("kernel...core_pattern", "1"), "kernel...core_pattern", "no sysctl name"},
		{"a name without a part", sysctl("swappiness", "1"), "swappiness", "like vm.swappiness"},
		{"a tree that is not the kernel's", unlisted("etc.passwd", "1"), "etc.passwd", "not below vm, kernel, fs or net"},
		{"a program to run", unlisted("kernel.core_pattern", "|/bin/sh"), "kernel.core_pattern", "never set"},
		{"what cannot be put back", unlisted("kernel.modules_disabled", "1"), "kernel.modules_disabled", "never set"},
		{"a trigger", unlisted("vm.drop_caches", "3"), "vm.drop_caches", "never set"},
		{"a protection", unlisted("fs.protected_symlinks", "0"), "fs.protected_symlinks", "never set"},
		{"a whole subtree", unlisted("fs.binfmt_misc.register", "0"), "fs.binfmt_misc.register", "never set"},
		{"a setting that has a field", unlisted("net.core.rps_sock_flow_entries", "1"), "net.core.rps_sock_flow_entries", "flowEntries"},
		{"a value of two lines", sysctl("vm.swappiness", "1\n2"), "vm.swappiness", "one line"},
		{"a value that ends with a newline", sysctl("vm.swappiness", "1\n"), "vm.swappiness", "no blanks around"},
		{"a value of the wrong type", sysctl("vm.swappiness", "low"), "vm.swappiness", `"low" is no whole number`},
		{"no value", sysctl("vm.swappiness", ""), "vm.swappiness", "1 to 256"},
		{"a value that is too large", sysctl("vm.swappiness", "201"), "vm.swappiness", "201 is outside of 0..200"},
		{"a value beyond any number", sysctl("vm.swappiness", "99999999999999999999"), "vm.swappiness", "no whole number"},
		{"too few numbers", sysctl("net.ipv4.tcp_rmem", "4096 131072"), "net.ipv4.tcp_rmem", "2 values, 3 needed"},
		{"two words", sysctl("net.ipv4.tcp_congestion_control", "cubic bbr"), "net.ipv4.tcp_congestion_control", "no single word"},
		{"a newline where anything goes", unlisted("vm.page-cluster", "1\n0"), "vm.page-cluster", "one line"},
		{"raising what has no order", Settings{Sysctls: []Sysctl{{Name: "net.ipv4.tcp_rmem", Value: "1 2 3", Operator: OperatorOnlyRaise}}}, "net.ipv4.tcp_rmem", "for one whole number"},
		{"an unknown operator", Settings{Sysctls: []Sysctl{{Name: "vm.swappiness", Value: "1", Operator: "AtLeast"}}}, "vm.swappiness", "none of Exact"},
		{"one sysctl twice", Settings{Sysctls: []Sysctl{{Name: "vm.swappiness", Value: "1"}, {Name: "vm.swappiness", Value: "2"}}}, "vm.swappiness", "twice"},
		{"both of a pair", Settings{Sysctls: []Sysctl{{Name: "vm.dirty_ratio", Value: "1"}, {Name: "vm.dirty_bytes", Value: "8192"}}}, "vm.dirty_bytes", "one or the other"},
		{"no interface", steering(func(r *ReceivePacketSteering) { r.Interfaces = nil }), "receivePacketSteering", "no interface"},
		{"an empty selection", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{}} }), "receivePacketSteering", "not 0"},
		{"two selections in one", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{Name: "a", Pattern: "b"}} }), "receivePacketSteering", "not 2"},
		{"an interface with a path", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{Name: "../../../etc"}} }), "receivePacketSteering", `'/' in it`},
		{"the directory above", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{Name: ".."}} }), "receivePacketSteering", "no interface name"},
		{"a name no interface can have", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{Name: "abcdefghijklmnop"}} }), "receivePacketSteering", "longer than 15"},
		{"a pattern with a path", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{Pattern: "*/../*"}} }), "receivePacketSteering", "has no path"},
		{"a pattern that is none", steering(func(r *ReceivePacketSteering) { r.Interfaces = []Interface{{Pattern: "eth[0"}} }), "receivePacketSteering", "syntax error"},
		{"a mask that does not parse", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: CPUsMask, Mask: "0xfe"} }), "receivePacketSteering", "hexadecimal"},
		{"a mask in one long group", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: CPUsMask, Mask: "fffffffff"} }), "receivePacketSteering", "with commas"},
		{"a mask of no CPU", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: CPUsMask, Mask: "0,00000000"} }), "receivePacketSteering", "selects no CPU"},
		{"a list that does not parse", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: CPUsList, List: "1-"} }), "receivePacketSteering", "no CPU number"},
		{"a list that runs backwards", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: CPUsList, List: "3-1"} }), "receivePacketSteering", "backwards"},
		{"a CPU no kernel has", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: CPUsList, List: "0-8192"} }), "receivePacketSteering", "8191"},
		{"an unknown way to choose CPUs", steering(func(r *ReceivePacketSteering) { r.CPUs = CPUs{Mode: "Half"} }), "receivePacketSteering", "none of All"},
		{"an unknown way to cut", steering(func(r *ReceivePacketSteering) { r.WhenMaskTooWide = "Wrap" }), "receivePacketSteering", "none of Cut"},
		{"a table that is too large", steering(func(r *ReceivePacketSteering) { r.FlowEntries = 1<<20 + 1 }), "receivePacketSteering", "0..1048576"},
		{"an unknown mode of huge pages", Settings{TransparentHugePages: &TransparentHugePages{Mode: "Sometimes"}}, "transparentHugePages", "none of Auto"},
		{"Auto for no version", Settings{TransparentHugePages: &TransparentHugePages{Mode: HugePagesAuto}}, "transparentHugePages", "version"},
		{"an unknown word for defrag", Settings{TransparentHugePages: &TransparentHugePages{Mode: HugePagesNever, Defrag: "later"}}, "transparentHugePages", "none of always"},
		{"a granularity that is too small", Settings{Scheduler: &Scheduler{MinGranularityNanoseconds: 99_999}}, "scheduler", "100000..1000000000"},
		{"a negative granularity", Settings{Scheduler: &Scheduler{WakeupGranularityNanoseconds: new(int64(-1))}}, "scheduler", "0..1000000000"},
		{"a disk with a path", disks("../vda"), "blockDevices", "has no path"},
		{"an endless read-ahead", Settings{BlockDevices: &BlockDevices{ReadAheadKiB: new(int32(65537))}}, "blockDevices", "0..65536"},
		{"an I/O scheduler with a newline", Settings{BlockDevices: &BlockDevices{Schedulers: []string{"none\n"}}}, "blockDevices", "scheduler name"},
		{"an endless probe", probe(4097, 1), "checks", "1..4096"},
		{"a probe without time", probe(1, 0), "checks", "1..60"},
		{"more than everything free", Settings{Checks: &Checks{MinFreePercent: 101}}, "checks", "0..100"},
		{"an unknown policy", Settings{OnFailure: "Ignore"}, "onFailure", "none of Report"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.settings.Owner = validSettings().Owner
			problems := row.settings.Problems()
			if len(problems) != 1 {
				t.Fatalf("%d problems: %v", len(problems), problems)
			}
			if problems[0].Setting != row.setting || !strings.Contains(problems[0].Err.Error(), row.says) {
				t.Errorf("%s: %v, wanted %q of %s", problems[0].Setting, problems[0].Err, row.says, row.setting)
			}
		})
	}
}

func TestSettingsWithoutOwnerAreRefused(t *testing.T) {
	if problems := (Settings{}).Problems(); len(problems) != 4 {
		t.Errorf("%v", problems)
	}
	if problems := validSettings().Problems(); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
}

func TestSettingsThatAreTaken(t *testing.T) {
	settings := validSettings()
	settings.Sysctls = []Sysctl{
		{Name: "vm.page-cluster", Value: "0", Unlisted: true}, {Name: "net.ipv4.conf.eth0.rp_filter", Value: "2", Unlisted: true}, {Name: "net.ipv4.tcp_rmem", Value: "4096\t131072\t6291456"},
		{Name: "vm.swappiness", Value: "1", Operator: OperatorOnlyLower},
	}
	settings.BlockDevices = &BlockDevices{Names: []string{"nvme*n1", "cciss!c0d0"}, ReadAheadKiB: new(int32(16)), Schedulers: []string{"none"}}
	settings.ReceivePacketSteering = &ReceivePacketSteering{Interfaces: []Interface{{Name: "bond0.100"}, {Pattern: "eth[0-9]"}, {DefaultRoute: true}}, CPUs: CPUs{Mode: CPUsMask, Mask: "ff,fffffffe"}}
	if problems := settings.Problems(); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
}

func TestUnknownFieldsAreNotPassedOver(t *testing.T) {
	for _, text := range []string{`{"owner":{},"sysctl":[]}`, `{"owner":{}} {}`, `[]`, ``} {
		if _, err := ParseSettings([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	if _, err := ParseSettings([]byte(`{"owner":{"name":"orders"},"sysctls":[{"name":"vm.swappiness","value":"1"}]}`)); err != nil {
		t.Error(err)
	}
}

func TestTheAllowListIsInOrderAndWellFormed(t *testing.T) {
	rows := Sysctls()
	if !slices.IsSortedFunc(rows, func(a, b KnownSysctl) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in order: names would not be found")
	}
	for _, row := range rows {
		if err := (Sysctl{Name: row.Name}).CheckSysctlName(); err != nil {
			t.Error(err)
		}
		if row.Risk == "" || (row.Form == FormNumbers) != (row.Count > 1) || row.Form != FormWord && row.Max <= row.Min {
			t.Errorf("%+v", row)
		}
		if row.Instead != "" {
			if other, known := FindSysctl(row.Instead); !known || other.Instead != row.Name {
				t.Errorf("%s and %s are no pair", row.Name, row.Instead)
			}
		}
	}
}

func TestHugePagesByVersion(t *testing.T) {
	for version, want := range map[string]HugePageWords{
		"4.4.2": {Enabled: "never", Defrag: "never"}, "7.0": {Enabled: "never", Defrag: "never"},
		"8.0": {Enabled: "always", Defrag: "defer+madvise", MaxPtesNone: "0", OvercommitMemory: "1"}, "10.1.0": {Enabled: "always", Defrag: "defer+madvise", MaxPtesNone: "0", OvercommitMemory: "1"},
	} {
		if got, err := (TransparentHugePages{Mode: HugePagesAuto}).Words(version); err != nil || got != want {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
	}
	if got, err := (TransparentHugePages{Mode: HugePagesMadvise, Defrag: "defer"}).Words(""); err != nil || got != (HugePageWords{Enabled: "madvise", Defrag: "defer"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReleasesAreComparedFieldByField(t *testing.T) {
	for _, row := range []struct {
		release string
		slow    bool
	}{
		{"3.10.0-957.5.1.el7.x86_64", true}, {"3.10.0-957.27.1.el7.x86_64", true}, {"3.10.0-957.27.2.el7.x86_64", false}, {"3.10.0-1062.el7.x86_64", false},
		{"3.10.0-229.el7.x86_64", true}, {"3.10.0-957.el7.x86_64", true}, {"6.1.0-18-amd64", false}, {"3.10.0-957.5.1", false}, {"4.18.0-80.el8.x86_64", false}, {"", false},
	} {
		if problem := ReleaseProblem(row.release); (problem != "") != row.slow {
			t.Errorf("%s: %q", row.release, problem)
		}
	}
	if CompareReleases("3.10.0-957.5.1.el7", "3.10.0-957.27.2.el7") >= 0 || CompareReleases("5.10", "5.9.1") <= 0 || CompareReleases("5.4", "5.4.0") != 0 {
		t.Error("compared as text")
	}
}

func TestCPUSets(t *testing.T) {
	for _, row := range []struct{ list, mask string }{
		{"0", "1"}, {"1-7", "fe"}, {"0-31", "ffffffff"}, {"32", "1,00000000"}, {"1-39", "ff,fffffffe"}, {"0,2,4-5,4", "35"}, {"95", "80000000,00000000,00000000"},
	} {
		fromList, errList := ParseCPUList(row.list)
		fromMask, errMask := ParseMask(row.mask)
		if errList != nil || errMask != nil || !fromList.Equal(fromMask) || fromList.String() != row.mask {
			t.Errorf("%s is %s and %s is %s (%v, %v)", row.list, fromList, row.mask, fromMask, errList, errMask)
		}
	}
	// What the kernel prints is padded to its width.
	padded, err := ParseMask("00000000,000000fe")
	if err != nil || padded.String() != "fe" || padded.Len() != 7 || padded.First() != 1 {
		t.Errorf("%s, %v", padded, err)
	}
	if empty := (CPUSet{}); empty.String() != "0" || empty.First() != -1 || empty.Len() != 0 {
		t.Error("an empty set is not empty")
	}
}

func TestCPUsOfANode(t *testing.T) {
	node := CPUSet{0b1111}
	for _, row := range []struct {
		cpus     CPUs
		set, cut string
	}{
		{CPUs{Mode: CPUsAll}, "f", "0"}, {CPUs{Mode: CPUsAllButFirst}, "e", "0"}, {CPUs{Mode: CPUsList, List: "1,3-5"}, "a", "30"},
		{CPUs{Mode: CPUsMask, Mask: "fe"}, "e", "f0"}, {CPUs{Mode: CPUsMask, Mask: "f0"}, "0", "f0"},
	} {
		set, cut, err := row.cpus.On(node)
		if err != nil || set.String() != row.set || cut.String() != row.cut {
			t.Errorf("%+v: %s, cut %s, %v", row.cpus, set, cut, err)
		}
	}
	// The first CPU that is online need not be CPU 0.
	if set, _, _ := (CPUs{Mode: CPUsAllButFirst}).On(CPUSet{0b1100}); set.String() != "8" {
		t.Errorf("all but the first of CPUs 2 and 3 is %s", set)
	}
}

func owner(name, created string) Owner { return Owner{Name: name, UID: name, Created: created} }

func TestTheOlderOwnerWins(t *testing.T) {
	old, young := owner("old", "2026-01-01T00:00:00Z"), owner("young", "2026-01-01T00:00:01Z")
	claim := func(of Owner, operator Operator, value string) Claim {
		return Claim{Owner: of, Operator: operator, Value: value}
	}
	for _, row := range []struct {
		name      string
		claims    []Claim
		want      string
		conflicts map[string]string
	}{
		{"nobody wants anything", nil, "60", nil},
		{"one owner", []Claim{claim(young, "", "1")}, "1", nil},
		{"two who agree", []Claim{claim(young, "", "1"), claim(old, "", "01")}, "01", nil},
		{"two who do not", []Claim{claim(young, "", "1"), claim(old, "", "10")}, "10", map[string]string{"young": "old"}},
		{"the younger raises further", []Claim{claim(old, OperatorOnlyRaise, "100"), claim(young, OperatorOnlyRaise, "200")}, "200", nil},
		{"the younger is satisfied already", []Claim{claim(old, OperatorOnlyRaise, "100"), claim(young, OperatorOnlyLower, "100")}, "100", nil},
		{"raising against lowering", []Claim{claim(old, OperatorOnlyRaise, "100"), claim(young, OperatorOnlyLower, "50")}, "100", map[string]string{"young": "old"}},
		{"an exact value within what the older wants", []Claim{claim(old, OperatorOnlyRaise, "50"), claim(young, "", "70")}, "70", nil},
		{"raising below what there is", []Claim{claim(old, OperatorOnlyRaise, "50")}, "60", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			settled := Settle("60", row.claims)
			if settled.Value != row.want || len(settled.Conflicts) != len(row.conflicts) {
				t.Errorf("%+v", settled)
			}
			for loser, winner := range row.conflicts {
				if settled.Conflicts[loser].Name != winner {
					t.Errorf("%s lost to %+v", loser, settled.Conflicts[loser])
				}
			}
		})
	}
}

func TestAgeOfOwners(t *testing.T) {
	for _, row := range []struct{ older, younger Owner }{
		{owner("b", "2026-01-01T00:00:00Z"), owner("a", "2026-01-01T00:00:01Z")},
		{owner("a", "2026-01-01T00:00:00Z"), owner("b", "2026-01-01T00:00:00Z")},
		{owner("b", "2026-01-01T01:00:00+02:00"), owner("a", "2026-01-01T00:00:00Z")},
		{owner("b", "2026-01-01T00:00:00Z"), owner("a", "")},
		{owner("a", "?"), owner("b", "")},
	} {
		if row.older.Compare(row.younger) >= 0 || row.younger.Compare(row.older) <= 0 {
			t.Errorf("%+v is not older than %+v", row.older, row.younger)
		}
	}
}

// Whoever asks in whatever order, the value is the same, every claim is kept or lost to an older one,
// and the oldest always gets its way.
func TestSettlingDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"1", "5", "9"})
		operator := rapid.SampledFrom([]Operator{"", OperatorExact, OperatorOnlyRaise, OperatorOnlyLower})
		var claims []Claim
		for i := range rapid.IntRange(1, 6).Draw(t, "claims") {
			created := rapid.SampledFrom([]string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", ""}).Draw(t, "created")
			claims = append(claims, Claim{Owner: owner(string(rune('a'+i)), created), Operator: operator.Draw(t, "operator"), Value: value.Draw(t, "value")})
		}
		original := value.Draw(t, "original")
		settled, shuffled := Settle(original, claims), Settle(original, rapid.Permutation(claims).Draw(t, "order"))
		if settled.Value != shuffled.Value || len(settled.Conflicts) != len(shuffled.Conflicts) {
			t.Fatalf("%+v and %+v", settled, shuffled)
		}
		if len(settled.Kept)+len(settled.Conflicts) != len(claims) || !settled.IsKeptBy(settled.Value) {
			t.Fatalf("%+v", settled)
		}
		oldest := slices.MinFunc(claims, func(a, b Claim) int { return a.Owner.Compare(b.Owner) })
		if _, lost := settled.Conflicts[oldest.Owner.UID]; lost {
			t.Fatalf("the oldest lost: %+v", settled)
		}
		for loser, winner := range settled.Conflicts {
			i := slices.IndexFunc(claims, func(claim Claim) bool { return claim.Owner.UID == loser })
			if claims[i].Owner.Compare(winner) <= 0 {
				t.Fatalf("%s lost to a younger one: %+v", loser, settled)
			}
		}
	})
}
