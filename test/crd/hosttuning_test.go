// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mongotuning/mongotuning/internal/hosttune"
)

const host = "spec.hostTuning"

func hostBounds() []bound {
	steering, devices := host+".receivePacketSteering", host+".blockDevices"
	all := fields{steering + ".cpus": fields{"mode": "All"}}
	list := length("MongoTuning", steering+".cpus.list", 1, 128)
	list.accepted, list.refused = []any{"1" + strings.Repeat(",1", 63)}, []any{"11" + strings.Repeat(",1", 64)}
	list.with = fields{steering + ".cpus.mode": "List"}
	mask := length("MongoTuning", steering+".cpus.mask", 1, 290)
	mask.accepted, mask.refused = []any{"fe", "ffffffff" + strings.Repeat(",ffffffff", 31)}, []any{"1" + strings.Repeat(",ffffffff", 33)}
	mask.with = fields{steering + ".cpus.mode": "Mask"}
	names := func(path string, with fields) []bound {
		one := length("MongoTuning", path+"[0]", 0, 32)
		one.accepted, one.refused = []any{[]any{strings.Repeat("x", 32)}}, []any{[]any{strings.Repeat("x", 33)}}
		return []bound{beside(one, with), beside(bound{
			kind: "MongoTuning", path: path, limit: "items", accepted: []any{[]any{"sda"}, numbered("dev", 16)},
			refused: []any{[]any{}, numbered("dev", 17)}, says: "items",
		}, with)}
	}
	sysctls := host + ".sysctls"
	unlisted := fields{"value": "1", "unlisted": "Accept"}
	name := itemLength(sysctls, "name", 0, 128, unlisted)
	name.accepted = []any{[]any{unlisted.with(fields{"name": "vm." + strings.Repeat("x", 125)})}}
	name.refused = []any{[]any{unlisted.with(fields{"name": "vm." + strings.Repeat("x", 126)})}}
	probe := host + ".checks.writeProbe"
	return slices.Concat(names(steering+".nodeInterfaces", all), names(devices+".devices", nil), []bound{
		values("MongoTuning", host+".mode", "Disabled", "InitContainer"),
		values("MongoTuning", host+".onFailure", "Report", "Block"),
		values("MongoTuning", host+".transparentHugePages", "Unmanaged", "Auto", "Always", "Madvise", "Never"),
		beside(values("MongoTuning", host+".transparentHugePagesDefrag", "Always", "Defer", "DeferMadvise", "Madvise", "Never"),
			fields{host + ".transparentHugePages": "Auto"}),
		number("MongoTuning", host+".restoreDeadlineSeconds", 1, 3600, 1),
		items(sysctls, 64, func(i int) any {
			return fields{"name": fmt.Sprint("vm.x", i), "value": "1", "unlisted": "Accept"}
		}),
		name,
		itemLength(sysctls, "value", 0, 256, fields{"name": "vm.x", "unlisted": "Accept"}),
		itemValues(sysctls, "operator", fields{"name": "vm.swappiness", "value": "1"}, "Exact", "OnlyRaise", "OnlyLower"),
		itemValues(sysctls, "unlisted", fields{"name": "vm.swappiness", "value": "1"}, "Refuse", "Accept"),
		beside(number("MongoTuning", steering+".flowEntries", 1, 1048576, 1), all),
		{
			kind: "MongoTuning", path: steering + ".cpus.mode", limit: "values",
			accepted: []any{"All", "AllButFirst"}, refused: []any{"Some"}, says: "supported values",
		},
		beside(values("MongoTuning", steering+".cpus.beyondNode", "Cut", "Refuse"), fields{steering + ".cpus.mode": "All"}),
		list, mask,
		number("MongoTuning", host+".scheduler.minGranularityNanoseconds", 100000, 1000000000, 1),
		number("MongoTuning", host+".scheduler.wakeupGranularityNanoseconds", 0, 1000000000, 1),
		number("MongoTuning", devices+".readAheadKiB", 0, 65536, 1),
		{
			kind: "MongoTuning", path: devices + ".schedulers", limit: "items",
			accepted: []any{[]any{"none"}, []any{"none", "mq-deadline", "kyber", "bfq"}},
			refused:  []any{[]any{}, []any{"none", "mq-deadline", "kyber", "bfq", "none"}}, says: "items",
		},
		{
			kind: "MongoTuning", path: devices + ".schedulers[0]", limit: "values",
			accepted: []any{[]any{"none"}, []any{"mq-deadline"}, []any{"kyber"}, []any{"bfq"}}, refused: []any{[]any{"cfq"}}, says: "supported values",
		},
		{
			kind: "MongoTuning", path: host + ".checks.kinds", limit: "items",
			accepted: []any{[]any{}, []any{"DataVolume", "Limits", "Kernel"}},
			refused:  []any{[]any{"DataVolume", "Limits", "Kernel", "Limits"}}, says: "items",
		},
		{
			kind: "MongoTuning", path: host + ".checks.kinds[0]", limit: "values",
			accepted: []any{[]any{"DataVolume"}, []any{"Limits"}, []any{"Kernel"}}, refused: []any{[]any{"Luck"}}, says: "supported values",
		},
		number("MongoTuning", host+".checks.minFreePercent", 0, 90, 1),
		beside(number("MongoTuning", probe+".sizeMiB", 8, 4096, 1), fields{probe + ".seconds": 5}),
		beside(number("MongoTuning", probe+".seconds", 1, 60, 1), fields{probe + ".sizeMiB": 64}),
		number("MongoTuning", host+".homogeneity.memoryPercent", 0, 100, 1),
		number("MongoTuning", host+".homogeneity.writeThroughputPercent", 0, 100, 1),
	})
}

func numbered(name string, count int) (all []any) {
	for i := range count {
		all = append(all, fmt.Sprint(name, i))
	}
	return all
}

func hostRules() []rule {
	return slices.Concat(sysctlRules(), dirtyRules(), steeringRules(), []rule{{
		kind: "MongoTuning", path: host + ".transparentHugePagesDefrag", message: "must be left out while transparentHugePages is unmanaged",
		accepted: []change{{name: "beside Auto it is taken", after: fields{host + ".transparentHugePages": "Auto", host + ".transparentHugePagesDefrag": "Never"}}},
		refused: []change{
			{name: "alone it is refused", after: fields{host + ".transparentHugePagesDefrag": "Never"}},
			{name: "beside Unmanaged it is refused", after: fields{host + ".transparentHugePages": "Unmanaged", host + ".transparentHugePagesDefrag": "Never"}},
		},
	}, {
		kind: "MongoTuning", path: host + ".blockDevices.devices",
		message: "must hold names of devices: letters, digits, the signs _ . ! - and * and ? for patterns",
		accepted: []change{
			{name: "a name is taken", after: fields{host + ".blockDevices.devices": []any{"nvme0n1"}}},
			{name: "a pattern is taken", after: fields{host + ".blockDevices.devices": []any{"nvme*n1", "sd?", "cciss!c0d0"}}},
		},
		refused: []change{
			{name: "a path is refused", after: fields{host + ".blockDevices.devices": []any{"/dev/sda"}}},
			{name: "the directory above is refused", after: fields{host + ".blockDevices.devices": []any{".."}}},
			{name: "an empty name is refused", after: fields{host + ".blockDevices.devices": []any{""}}},
		},
	}})
}

// withSysctl declares vm.swappiness 1 with the given fields in their place.
func withSysctl(changed fields) fields {
	return fields{host + ".sysctls": []any{fields{"name": "vm.swappiness", "value": "1"}.with(changed)}}
}

func sysctlRules() []rule {
	one := host + ".sysctls[0]"
	return []rule{
		{
			kind: "MongoTuning", path: one + ".name",
			message: "must be one of the parameters listed in docs/host-tuning.md; set unlisted to Accept for another one at your own risk",
			accepted: []change{
				{name: "a parameter of the list is taken", after: withSysctl(nil)},
				{name: "a parameter of the network is taken", after: withSysctl(fields{"name": "net.core.somaxconn", "value": "4096"})},
				{name: "another one is taken with the escape", after: withSysctl(fields{"name": "vm.laptop_mode", "value": "0", "unlisted": "Accept"})},
			},
			refused: []change{
				{name: "another one is refused", after: withSysctl(fields{"name": "kernel.core_pattern", "value": "1"})},
				{name: "a longer name that begins like one of the list is refused", after: withSysctl(fields{"name": "vm.swappiness2"})},
				{name: "an escape that refuses is none", after: withSysctl(fields{"name": "vm.laptop_mode", "unlisted": "Refuse"})},
			},
		},
		{
			kind: "MongoTuning", path: one + ".name",
			message: "must be parts of letters, digits, hyphens and underscores with dots between them",
			accepted: []change{
				{name: "a name of many parts is taken", after: withSysctl(fields{"name": "net.ipv4.conf.eth0.rp_filter", "unlisted": "Accept"})},
			},
			refused: []change{
				{name: "a path is refused", after: withSysctl(fields{"name": "vm/swappiness", "unlisted": "Accept"})},
				{name: "a way up is refused", after: withSysctl(fields{"name": "vm...swappiness", "unlisted": "Accept"})},
				{name: "a name without a dot is refused", after: withSysctl(fields{"name": "swappiness", "unlisted": "Accept"})},
				{name: "a newline is refused", after: withSysctl(fields{"name": "vm.swappiness\n", "unlisted": "Accept"})},
				{name: "an empty name is refused", after: withSysctl(fields{"name": "", "unlisted": "Accept"})},
			},
		},
		{
			kind: "MongoTuning", path: one + ".value",
			message: "must be one line of words of letters, digits and the signs _ . , : + - with blanks between them",
			accepted: []change{
				{name: "a word is taken", after: withSysctl(fields{"name": "net.core.default_qdisc", "value": "fq_codel"})},
				{name: "numbers with tabs are taken", after: withSysctl(fields{"name": "net.ipv4.tcp_rmem", "value": "4096\t87380\t6291456"})},
			},
			refused: []change{
				{name: "a newline is refused", after: withSysctl(fields{"value": "1\n2", "unlisted": "Accept"})},
				{name: "nothing is refused", after: withSysctl(fields{"value": "", "unlisted": "Accept"})},
				{name: "a blank at the end is refused", after: withSysctl(fields{"value": "1 ", "unlisted": "Accept"})},
			},
		},
		{
			kind: "MongoTuning", path: one + ".value",
			message: "must be a whole number, or several with blanks between them",
			accepted: []change{
				{name: "a negative number is taken", after: withSysctl(fields{"name": "kernel.numa_balancing", "value": "-1"})},
				{name: "several numbers are taken", after: withSysctl(fields{"name": "net.ipv4.ip_local_port_range", "value": "1024 65000"})},
				{name: "a word is taken where words are meant", after: withSysctl(fields{"name": "net.ipv4.tcp_congestion_control", "value": "bbr"})},
			},
			refused: []change{
				{name: "a word is refused", after: withSysctl(fields{"value": "low"})},
				{name: "a fraction is refused", after: withSysctl(fields{"value": "1.5"})},
			},
		},
		{
			kind: "MongoTuning", path: one + ".operator", message: "must be Exact unless the value is one whole number",
			accepted: []change{
				{name: "a number can be a floor", after: withSysctl(fields{"name": "vm.max_map_count", "value": "262144", "operator": "OnlyRaise"})},
				{name: "several numbers can be set", after: withSysctl(fields{"name": "net.ipv4.tcp_rmem", "value": "4096 87380 6291456", "operator": "Exact"})},
			},
			refused: []change{
				{name: "several numbers are no floor", after: withSysctl(fields{"name": "net.ipv4.tcp_rmem", "value": "4096 87380 6291456", "operator": "OnlyRaise"})},
				{name: "a word is no ceiling", after: withSysctl(fields{"name": "net.core.default_qdisc", "value": "fq", "operator": "OnlyLower"})},
			},
		},
	}
}

func dirtyRules() (rules []rule) {
	for _, pair := range []string{"vm.dirty", "vm.dirty_background"} {
		ratio, amount := fields{"name": pair + "_ratio", "value": "15"}, fields{"name": pair + "_bytes", "value": "268435456"}
		rules = append(rules, rule{
			kind: "MongoTuning", path: host + ".sysctls",
			message: fmt.Sprintf("must name %[1]s_ratio or %[1]s_bytes, not both: the kernel zeroes one when the other is written", pair),
			accepted: []change{
				{name: "the ratio alone is taken", after: fields{host + ".sysctls": []any{ratio}}},
				{name: "the bytes alone are taken", after: fields{host + ".sysctls": []any{amount}}},
			},
			refused: []change{{name: "both are refused", after: fields{host + ".sysctls": []any{ratio, amount}}}},
		})
	}
	return rules
}

func steeringRules() []rule {
	steering := host + ".receivePacketSteering"
	cpus := func(chosen fields) fields { return fields{steering + ".cpus": chosen} }
	interfaces := func(names ...any) fields {
		return fields{steering + ".cpus": fields{"mode": "All"}, steering + ".nodeInterfaces": names}
	}
	return []rule{
		{
			kind: "MongoTuning", path: steering + ".nodeInterfaces",
			message: "must hold names of devices: letters, digits, the signs _ . : @ - and * and ? for patterns",
			accepted: []change{
				{name: "a name is taken", after: interfaces("eth0")},
				{name: "patterns are taken", after: interfaces("ens*", "bond?", "eth0.100")},
			},
			refused: []change{
				{name: "a path is refused", after: interfaces("../net")},
				{name: "the directory above is refused", after: interfaces("..")},
				{name: "a newline is refused", after: interfaces("eth0\n")},
				{name: "an empty name is refused", after: interfaces("")},
			},
		},
		{
			kind: "MongoTuning", path: steering + ".cpus.list", message: "must be set with mode List, and only then",
			accepted: []change{{name: "with mode List it is taken", after: cpus(fields{"mode": "List", "list": "1-3"})}},
			refused: []change{
				{name: "mode List without it is refused", after: cpus(fields{"mode": "List"})},
				{name: "with another mode it is refused", after: cpus(fields{"mode": "All", "list": "1-3"})},
			},
		},
		{
			kind: "MongoTuning", path: steering + ".cpus.mask", message: "must be set with mode Mask, and only then",
			accepted: []change{{name: "with mode Mask it is taken", after: cpus(fields{"mode": "Mask", "mask": "fe"})}},
			refused: []change{
				{name: "mode Mask without it is refused", after: cpus(fields{"mode": "Mask"})},
				{name: "with another mode it is refused", after: cpus(fields{"mode": "AllButFirst", "mask": "fe"})},
			},
		},
		{
			kind: "MongoTuning", path: steering + ".cpus.list", message: "must be numbers and ranges with commas between them, for example 0,2,4-6",
			accepted: []change{{name: "numbers and ranges are taken", after: cpus(fields{"mode": "List", "list": "0,2,4-6"})}},
			refused: []change{
				{name: "an open range is refused", after: cpus(fields{"mode": "List", "list": "1-"})},
				{name: "a blank is refused", after: cpus(fields{"mode": "List", "list": "1, 2"})},
				{name: "a word is refused", after: cpus(fields{"mode": "List", "list": "all"})},
			},
		},
		{
			kind: "MongoTuning", path: steering + ".cpus.mask", message: "must be hexadecimal in groups of eight with commas between them, and choose a CPU at least",
			accepted: []change{
				{name: "a short mask is taken", after: cpus(fields{"mode": "Mask", "mask": "fe"})},
				{name: "groups are taken", after: cpus(fields{"mode": "Mask", "mask": "ff,00000000"})},
			},
			refused: []change{
				{name: "a mask without a CPU is refused", after: cpus(fields{"mode": "Mask", "mask": "0,00000000"})},
				{name: "what is not hexadecimal is refused", after: cpus(fields{"mode": "Mask", "mask": "fg"})},
				{name: "a short second group is refused", after: cpus(fields{"mode": "Mask", "mask": "ff,0"})},
				{name: "a prefix is refused", after: cpus(fields{"mode": "Mask", "mask": "0xfe"})},
			},
		},
	}
}

// TestSysctlsOfTheListAreTaken holds the list in the rule to the one that host-tune goes by: what one lets
// through the other must not refuse.
func TestSysctlsOfTheListAreTaken(t *testing.T) {
	example := map[hosttune.Form]string{hosttune.FormWord: "word"}
	for _, known := range hosttune.Sysctls() {
		value, isWord := example[known.Form]
		if !isWord {
			value = strings.TrimSpace(strings.Repeat(fmt.Sprint(known.Min, " "), max(1, known.Count)))
		}
		if errs := answer(t, "MongoTuning", change{after: withSysctl(fields{"name": known.Name, "value": value})}); len(errs) > 0 {
			t.Errorf("%s=%s is refused: %v", known.Name, value, errs)
		}
	}
	names := 0
	walk(definitionOf(t, "MongoTuning").crd, func(path string, node *apiextensionsv1.JSONSchemaProps) {
		for _, rule := range node.XValidations {
			if path == host+".sysctls[0]" && strings.Contains(rule.Message, "must be one of the parameters") {
				_, list, _ := strings.Cut(rule.Rule, "matches(")
				for _, group := range strings.Split(list, "(")[2:] {
					group, _, _ = strings.Cut(group, ")")
					names += len(strings.Split(group, "|"))
				}
			}
		}
	})
	if names != len(hosttune.Sysctls()) {
		t.Errorf("the rule lists %d parameters, host-tune knows %d", names, len(hosttune.Sysctls()))
	}
}
