// SPDX-License-Identifier: Apache-2.0

package hosttune

// sysctls is the allow-list, ordered by name. Ranges and meanings are those of the kernel's
// Documentation/admin-guide/sysctl (vm.rst, kernel.rst, fs.rst, net.rst) and Documentation/networking/
// ip-sysctl.rst; where a range has no documented end it is that of the C type. Which of them a network
// namespace has of its own was read from a fresh namespace of kernel 6.18.
var sysctls = []KnownSysctl{
	{Name: "fs.aio-max-nr", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: mostLong, Risk: "Too low: storage tools that use asynchronous I/O fail.", Note: "MongoDB does not use it."},
	{Name: "fs.file-max", Scope: ScopeNode, Form: FormNumber, Min: 8192, Max: mostLong, Risk: "Too low: no process of the node can open a file.", Note: "Use OnlyRaise. systemd sets the largest number at boot."},
	{Name: "fs.nr_open", Scope: ScopeNode, Form: FormNumber, Min: 1024, Max: 2147483584, Risk: "Too low: containers whose limit is higher do not start.", Note: "The highest nofile limit a process can have. Use OnlyRaise."},
	{Name: "kernel.numa_balancing", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 3, Risk: "On: the kernel moves memory of a large cache between NUMA nodes, and faults for it.", Note: "0 for databases that interleave."},
	{Name: "kernel.pid_max", Scope: ScopeNode, Form: FormNumber, Min: 301, Max: 4194304, Risk: "Too low: no thread for a new connection.", Note: "Use OnlyRaise."},
	{Name: "kernel.sched_autogroup_enabled", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 1, Risk: "Changes who gets CPU on nodes with logins; nothing for pods.", Note: ""},
	{Name: "kernel.sched_migration_cost_ns", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: mostInt, Risk: "Too high: idle CPUs beside busy ones.", Note: "Kernels up to 5.12; later ones have it in debugfs only."},
	{Name: "kernel.threads-max", Scope: ScopeNode, Form: FormNumber, Min: 20, Max: mostInt, Risk: "Too low: no thread for a new connection.", Note: "Use OnlyRaise."},
	{Name: "net.core.default_qdisc", Scope: ScopeNode, Form: FormWord, Risk: "Holds for interfaces that are made later, those of pods among them.", Note: "fq, fq_codel, pfifo_fast."},
	{Name: "net.core.netdev_budget", Scope: ScopeNode, Form: FormNumber, Min: 1, Max: mostInt, Risk: "Too high: other work of the CPU waits for packets.", Note: "Packets in one round."},
	{Name: "net.core.netdev_max_backlog", Scope: ScopeNode, Form: FormNumber, Min: 1, Max: mostInt, Risk: "Too low: packets are dropped in bursts, more so with packet steering.", Note: "Packets for each CPU; default 1000."},
	{Name: "net.core.rmem_default", Scope: ScopeNode, Form: FormNumber, Min: 2048, Max: mostInt, Risk: "Memory for each socket of the node.", Note: "Seen read-only in pods."},
	{Name: "net.core.rmem_max", Scope: ScopeNode, Form: FormNumber, Min: 2048, Max: mostInt, Risk: "Memory for each socket of the node that asks for it.", Note: "Seen read-only in pods. TCP sizes itself by net.ipv4.tcp_rmem."},
	{Name: "net.core.somaxconn", Scope: ScopePod, Form: FormNumber, Min: 1, Max: mostInt, Risk: "Too low: connections are lost in a storm.", Note: "Read when the server begins to listen, so before it starts. Default 4096, before 5.4 128."},
	{Name: "net.core.wmem_default", Scope: ScopeNode, Form: FormNumber, Min: 4608, Max: mostInt, Risk: "Memory for each socket of the node.", Note: "Seen read-only in pods."},
	{Name: "net.core.wmem_max", Scope: ScopeNode, Form: FormNumber, Min: 4608, Max: mostInt, Risk: "Memory for each socket of the node that asks for it.", Note: "Seen read-only in pods."},
	{Name: "net.ipv4.ip_local_port_range", Scope: ScopePod, Form: FormNumbers, Count: 2, Min: 1, Max: 65535, Risk: "Too narrow: no port for another outgoing connection. May not cover 27017.", Note: "Lowest and highest; default 32768 60999."},
	{Name: "net.ipv4.tcp_congestion_control", Scope: ScopePod, Form: FormWord, Risk: "Other flows of the link get more or less.", Note: "One of net.ipv4.tcp_available_congestion_control."},
	{Name: "net.ipv4.tcp_fin_timeout", Scope: ScopePod, Form: FormNumber, Min: 1, Max: 3600, Risk: "Too low: data of slow peers is lost at the end.", Note: "Seconds; default 60."},
	{Name: "net.ipv4.tcp_keepalive_intvl", Scope: ScopePod, Form: FormNumber, Min: 1, Max: 32767, Risk: "Too high: dead peers are noticed late.", Note: "Seconds; default 75."},
	{Name: "net.ipv4.tcp_keepalive_probes", Scope: ScopePod, Form: FormNumber, Min: 1, Max: 127, Risk: "Too low: one lost packet ends a connection.", Note: "Default 9."},
	{Name: "net.ipv4.tcp_keepalive_time", Scope: ScopePod, Form: FormNumber, Min: 1, Max: 32767, Risk: "Too high: firewalls forget idle connections first.", Note: "Seconds; default 7200. 120 is common; the server caps its own sockets at 300."},
	{Name: "net.ipv4.tcp_max_syn_backlog", Scope: ScopePod, Form: FormNumber, Min: 1, Max: mostInt, Risk: "Too low: connections are lost in a storm.", Note: ""},
	{Name: "net.ipv4.tcp_max_tw_buckets", Scope: ScopePod, Form: FormNumber, Min: 0, Max: mostInt, Risk: "Too low: sockets are reused too early.", Note: ""},
	{Name: "net.ipv4.tcp_mem", Scope: ScopeNode, Form: FormNumbers, Count: 3, Min: 0, Max: mostLong, Risk: "Too low: all TCP of the node is slowed down.", Note: "Pages."},
	{Name: "net.ipv4.tcp_retries2", Scope: ScopePod, Form: FormNumber, Min: 0, Max: 255, Risk: "Too low: connections end in short outages.", Note: "Default 15, some 15 minutes; 8 is common for clusters."},
	{Name: "net.ipv4.tcp_rmem", Scope: ScopePod, Form: FormNumbers, Count: 3, Min: 1, Max: mostInt, Risk: "Memory for each connection.", Note: "Least, first, most."},
	{Name: "net.ipv4.tcp_slow_start_after_idle", Scope: ScopePod, Form: FormNumber, Min: 0, Max: 1, Risk: "Off: bursts after a pause.", Note: "0 keeps pooled connections fast."},
	{Name: "net.ipv4.tcp_tw_reuse", Scope: ScopePod, Form: FormNumber, Min: 0, Max: 2, Risk: "Off: routers run out of ports under churn.", Note: "For outgoing connections only."},
	{Name: "net.ipv4.tcp_wmem", Scope: ScopePod, Form: FormNumbers, Count: 3, Min: 1, Max: mostInt, Risk: "Memory for each connection.", Note: "Least, first, most."},
	{Name: "vm.dirty_background_bytes", Scope: ScopeNode, Form: FormNumber, Min: 1, Max: mostLong, Instead: "vm.dirty_background_ratio", Risk: "Too high: writing back begins late and comes in waves.", Note: "The kernel sets vm.dirty_background_ratio to 0."},
	{Name: "vm.dirty_background_ratio", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 100, Instead: "vm.dirty_background_bytes", Risk: "Too high: writing back begins late and comes in waves.", Note: "5 is common. The kernel sets vm.dirty_background_bytes to 0."},
	{Name: "vm.dirty_bytes", Scope: ScopeNode, Form: FormNumber, Min: 8192, Max: mostLong, Instead: "vm.dirty_ratio", Risk: "Too low: every writer of the node waits for the disk.", Note: "The kernel sets vm.dirty_ratio to 0."},
	{Name: "vm.dirty_expire_centisecs", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: mostInt, Risk: "Too high: more is lost when the node dies.", Note: "Default 3000."},
	{Name: "vm.dirty_ratio", Scope: ScopeNode, Form: FormNumber, Min: 1, Max: 100, Instead: "vm.dirty_bytes", Risk: "Too low: every writer of the node waits for the disk. Too high: long stalls.", Note: "15 is common. The kernel sets vm.dirty_bytes to 0."},
	{Name: "vm.dirty_writeback_centisecs", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: mostInt, Risk: "0 stops writing back by time.", Note: "Default 500."},
	{Name: "vm.max_map_count", Scope: ScopeNode, Form: FormNumber, Min: 65530, Max: mostInt, Risk: "Too low: the server ends when a connection needs a stack.", Note: "Default 65530; servers warn below 128000 (twice the connections). Use OnlyRaise."},
	{Name: "vm.min_free_kbytes", Scope: ScopeNode, Form: FormNumber, Min: 128, Max: mostInt, Risk: "Too high: the node runs out of memory at once.", Note: "Use OnlyRaise."},
	{Name: "vm.overcommit_memory", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 2, Risk: "2: programs of other pods fail to get memory.", Note: "The kubelet wants 1, and so does MongoDB 8.0."},
	{Name: "vm.overcommit_ratio", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 1000, Risk: "Only with vm.overcommit_memory 2; then too low fails programs.", Note: ""},
	{Name: "vm.swappiness", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 200, Risk: "Too high: memory of the server is swapped out. 0: killed rather than swapped.", Note: "1 for databases. With cgroup v1 each group has its own besides. Above 100 from 5.8."},
	{Name: "vm.vfs_cache_pressure", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: mostInt, Risk: "0: the node runs out of memory.", Note: "Default 100."},
	{Name: "vm.zone_reclaim_mode", Scope: ScopeNode, Form: FormNumber, Min: 0, Max: 7, Risk: "Other than 0: the server waits for memory of its own NUMA node while others have some.", Note: "0 for databases."},
}
