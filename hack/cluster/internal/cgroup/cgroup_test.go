package cgroup

import (
	"slices"
	"testing"
)

func TestParseMounts(t *testing.T) {
	tests := []struct {
		name      string
		mountinfo string
		want      []hierarchy
	}{
		{"version 1 with the unified tree beside it",
			"30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
				"31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" +
				"32 30 0:28 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n",
			[]hierarchy{{"/sys/fs/cgroup/cpu", false}, {"/sys/fs/cgroup/unified", true}}},
		{"version 2", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", []hierarchy{{"/sys/fs/cgroup", true}}},
		{"a container's own mount is not the machine's", "30 24 0:26 / /var/lib/x/cgroup rw - cgroup2 cgroup2 rw\n", nil},
		{"none", "24 1 8:1 / / rw - ext4 /dev/sda rw\n\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := parseMounts(test.mountinfo); !slices.Equal(got, test.want) {
				t.Errorf("parseMounts() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestRemoveRefusesTheMachinesRoot(t *testing.T) {
	for _, root := range []string{"", "/"} {
		if err := Remove(root); err == nil {
			t.Errorf("Remove(%q) went ahead", root)
		}
	}
}
