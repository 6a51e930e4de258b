// Package hostsettings remembers the machine's kernel settings before the first
// cluster starts and puts them back after the last one is gone.
package hostsettings

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Watched are the settings that a cluster may change, as glob patterns. The
// first group is set by the kubelet, the second by pods that tune their host.
var Watched = []string{
	"proc/sys/vm/overcommit_memory",
	"proc/sys/vm/panic_on_oom",
	"proc/sys/kernel/panic",
	"proc/sys/kernel/panic_on_oops",
	"proc/sys/kernel/keys/root_maxkeys",
	"proc/sys/kernel/keys/root_maxbytes",
	"proc/sys/net/ipv4/ip_forward",
	"proc/sys/net/bridge/bridge-nf-call-iptables",
	"proc/sys/net/netfilter/nf_conntrack_max",
	"sys/module/nf_conntrack/parameters/hashsize",

	"proc/sys/vm/swappiness",
	"proc/sys/vm/dirty_*", // see isHalfOfPair
	"proc/sys/vm/max_map_count",
	"proc/sys/vm/zone_reclaim_mode",
	"proc/sys/vm/min_free_kbytes",
	"proc/sys/vm/vfs_cache_pressure",
	"proc/sys/fs/file-max",
	"proc/sys/fs/aio-max-nr",
	"proc/sys/kernel/pid_max",
	"proc/sys/kernel/threads-max",
	"proc/sys/kernel/numa_balancing",
	"proc/sys/kernel/sched_autogroup_enabled",
	"proc/sys/net/core/somaxconn",
	"proc/sys/net/core/netdev_max_backlog",
	"proc/sys/net/core/netdev_budget*",
	"proc/sys/net/core/rmem_*",
	"proc/sys/net/core/wmem_*",
	"proc/sys/net/core/rps_sock_flow_entries",
	"proc/sys/net/core/default_qdisc",
	"proc/sys/net/ipv4/ip_local_port_range",
	"proc/sys/net/ipv4/tcp_*mem",
	"proc/sys/net/ipv4/tcp_fin_timeout",
	"proc/sys/net/ipv4/tcp_keepalive_*",
	"proc/sys/net/ipv4/tcp_max_syn_backlog",
	"proc/sys/net/ipv4/tcp_max_tw_buckets",
	"proc/sys/net/ipv4/tcp_slow_start_after_idle",
	"proc/sys/net/ipv4/tcp_tw_reuse",
	"proc/sys/net/ipv4/tcp_congestion_control",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/transparent_hugepage/defrag",
	"sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
	"sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
	"sys/kernel/debug/sched/*_ns",
	"sys/block/*/queue/read_ahead_kb",
	"sys/block/*/queue/scheduler",
	"sys/block/*/queue/nr_requests",
	"sys/block/*/queue/rq_affinity",
	"sys/class/net/*/queues/rx-*/rps_cpus",
	"sys/class/net/*/queues/rx-*/rps_flow_cnt",
	"sys/class/net/*/queues/tx-*/xps_cpus",
}

// Record is what is kept on disk.
type Record struct {
	// Boot is the boot the values belong to; a later boot has its own.
	Boot string `json:"boot"`
	// Clusters use the machine now; the last one to leave restores.
	Clusters []string          `json:"clusters"`
	Values   map[string]string `json:"values"`
}

// Host reads and writes settings below Root, which is / outside tests.
type Host struct {
	Root string
	File string
	Boot string
}

// Join notes that a cluster uses the machine, and takes the snapshot if it is
// the first one. Call it before anything of the cluster starts, under the
// machine's lock.
func (h Host) Join(cluster string) error {
	record, err := h.load()
	if err != nil {
		return err
	}
	if record.Boot != h.Boot || len(record.Clusters) == 0 {
		record = Record{Boot: h.Boot, Values: h.snapshot()}
	}
	if !slices.Contains(record.Clusters, cluster) {
		record.Clusters = append(record.Clusters, cluster)
	}
	return h.save(record)
}

// Leave forgets the cluster; the last one puts back what differs and returns
// the settings that it changed. On an error the record stays for another try.
func (h Host) Leave(cluster string) ([]string, error) {
	record, err := h.load()
	if err != nil {
		return nil, err
	}
	record.Clusters = slices.DeleteFunc(record.Clusters, func(name string) bool { return name == cluster })
	if len(record.Clusters) > 0 {
		return nil, h.save(record)
	}
	var restored []string
	if record.Boot == h.Boot {
		if restored, err = h.restore(record.Values); err != nil {
			return restored, err
		}
	}
	if err := os.Remove(h.File); err != nil && !errors.Is(err, os.ErrNotExist) {
		return restored, fmt.Errorf("forget host settings: %w", err)
	}
	return restored, nil
}

func (h Host) snapshot() map[string]string {
	values := map[string]string{}
	for _, pattern := range Watched {
		paths, _ := filepath.Glob(filepath.Join(h.Root, pattern))
		for _, path := range paths {
			if value, err := read(path); err == nil {
				relative, _ := filepath.Rel(h.Root, path)
				values[relative] = value
			}
		}
	}
	return values
}

func (h Host) restore(values map[string]string) ([]string, error) {
	var restored []string
	var failures []error
	for relative, want := range values {
		path := filepath.Join(h.Root, relative)
		have, err := read(path)
		if err != nil || have == want || isHalfOfPair(relative, want) {
			continue // gone with its device, or as it was
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			failures = append(failures, fmt.Errorf("restore %s to %q: %w", path, want, err))
			continue
		}
		restored = append(restored, fmt.Sprintf("%s %s -> %s", relative, have, want))
	}
	slices.Sort(restored)
	return restored, errors.Join(failures...)
}

// isHalfOfPair says whether the value is the unused half of a pair such as
// dirty_bytes and dirty_ratio: the kernel zeroes one when the other is set, and
// writing the zero back is refused or would unset the good half.
func isHalfOfPair(path, value string) bool {
	return value == "0" && strings.HasPrefix(filepath.Base(path), "dirty_")
}

// read returns a setting; of a list of choices, the chosen one.
func read(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(content))
	if open := strings.IndexByte(value, '['); open >= 0 {
		if size := strings.IndexByte(value[open:], ']'); size > 0 {
			value = value[open+1 : open+size]
		}
	}
	return value, nil
}

func (h Host) load() (Record, error) {
	content, err := os.ReadFile(h.File)
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("read host settings: %w", err)
	}
	var record Record
	if err := json.Unmarshal(content, &record); err != nil {
		return Record{}, fmt.Errorf("parse host settings %s: %w", h.File, err)
	}
	return record, nil
}

func (h Host) save(record Record) error {
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.File), 0o700); err != nil {
		return fmt.Errorf("make directory for host settings: %w", err)
	}
	if err := os.WriteFile(h.File+".new", append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write host settings: %w", err)
	}
	return os.Rename(h.File+".new", h.File)
}
