package layout

import (
	"net/netip"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	tests := []struct {
		name    string
		wantErr bool
	}{
		{"mongotuning", false},
		{"a", false},
		{"a-1", false},
		{strings.Repeat("a", 20), false},
		{strings.Repeat("a", 21), true},
		{"", true},
		{"1a", true},
		{"a-", true},
		{"A", true},
		{"a/b", true},
		{"..", true},
	}
	for _, test := range tests {
		if err := CheckName(test.name); (err != nil) != test.wantErr {
			t.Errorf("CheckName(%q) = %v, want error: %v", test.name, err, test.wantErr)
		}
	}
}

func TestNextSlot(t *testing.T) {
	preferred := PreferredSlot("mongotuning")
	tests := []struct {
		name    string
		isFree  func(int) bool
		want    int
		wantErr bool
	}{
		{"preferred slot when all are free", func(int) bool { return true }, preferred, false},
		{"following slot when the preferred one is taken", func(slot int) bool { return slot != preferred }, (preferred + 1) % Slots, false},
		{"wraps around at the end", func(slot int) bool { return slot == 0 }, 0, false},
		{"error when none is free", func(int) bool { return false }, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := NextSlot("mongotuning", test.isFree)
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("NextSlot() = %d, %v, want %d, error: %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

// Every pair of slots must be able to run side by side.
func TestSlotsDoNotClash(t *testing.T) {
	seen := map[string]int{}
	claim := func(what string, slot int) {
		t.Helper()
		if other, taken := seen[what]; taken {
			t.Errorf("%s belongs to slot %d and to slot %d", what, other, slot)
		}
		seen[what] = slot
	}
	for slot := range Slots {
		l := Layout{Name: "x", Slot: slot}
		for _, value := range append(l.CIDRs(), l.HostAddress(), l.NodeAddress(), l.LoopbackAddress(), l.HostLink(), l.ShimSockets()) {
			claim(value, slot)
		}
		if len(l.HostLink()) > 15 {
			t.Errorf("link name %q is longer than Linux allows", l.HostLink())
		}
	}
}

func TestAddressesAreInsideTheirRanges(t *testing.T) {
	for _, slot := range []int{0, 1, Slots - 1} {
		l := Layout{Name: "x", Slot: slot}
		for _, test := range []struct{ cidr, address string }{
			{l.ServiceCIDR(), l.ServiceAddress()},
			{l.LinkCIDR(), l.HostAddress()},
			{l.LinkCIDR(), l.NodeAddress()},
			{"127.0.0.0/8", l.LoopbackAddress()},
		} {
			if !netip.MustParsePrefix(test.cidr).Contains(netip.MustParseAddr(test.address)) {
				t.Errorf("slot %d: %s is not in %s", slot, test.address, test.cidr)
			}
		}
	}
}

func TestPathsCarryTheName(t *testing.T) {
	a := Layout{Name: "a", Roots: HostRoots()}
	b := Layout{Name: "b", Roots: HostRoots()}
	for _, pair := range [][2]string{
		{a.StateDir(), b.StateDir()}, {a.RunDir(), b.RunDir()}, {a.CgroupRoot(), b.CgroupRoot()},
		{a.ContainerdSocket(), b.ContainerdSocket()}, {a.Netns(), b.Netns()}, {a.LogFile("etcd"), b.LogFile("etcd")},
	} {
		if pair[0] == pair[1] {
			t.Errorf("two names share %s", pair[0])
		}
	}
}

// A unix socket's path ends at 107 bytes; the kubelet's deepest one counts.
func TestSocketPathsFit(t *testing.T) {
	l := Layout{Name: strings.Repeat("a", 20), Roots: HostRoots()}
	deepest := l.State("kubelet", "pod-resources", "1234567890.sock")
	if l.Slot = Slots - 1; len(l.ShimSockets()) > 42 {
		t.Errorf("%s is %d bytes long", l.ShimSockets(), len(l.ShimSockets()))
	}
	if len(deepest) > 107 || len(l.ContainerdSocket()+".ttrpc") > 107 {
		t.Errorf("%s is %d bytes long", deepest, len(deepest))
	}
}
