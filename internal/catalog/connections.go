// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
)

var connectionRows = []Knob{
	{
		Name: ServiceExecutor, MongoDBName: "net.serviceExecutor",
		Components: everyProcess, Versions: until44,
		Kind: KindEnum, Enum: []Value{"synchronous", "adaptive"}, Default: "synchronous", Inert: "synchronous",
		ConfigKey: "net.serviceExecutor", Online: RestartOnly,
		read:    fromServerStatus("network/serviceExecutorTaskStats/executor", executorName),
		Nearest: "it has one thread per connection: use initialServiceExecutorThreadingModel borrowed (5.0 and 6.0, not the same thing), maxIncomingConnections, and smaller pools in the application",
		TooHigh: "adaptive: deprecated since 4.4, few others run it",
		TooLow:  "synchronous: ten thousand connections are ten thousand threads",
		Source:  "MongoDB manual of 4.4, net.serviceExecutor; " + oppo + ": 200 -> 80 ms; Alibaba's report on the network thread model; " + measured,
	},
	{
		Name: ThreadingModel, MongoDBName: "initialServiceExecutorThreadingModel",
		Components: shardsAndRouters, Versions: LineRange{v50, v60},
		Kind: KindEnum, Enum: []Value{"dedicated", "borrowed"}, Default: "dedicated", Inert: "dedicated",
		Parameter: true, Online: RestartOnly, read: fromParameter,
		Nearest: "use serviceExecutor on 4.2 and 4.4; newer servers have one thread per connection only",
		TooHigh: "borrowed: an internal setting that few others run; it is not the adaptive executor",
		TooLow:  "dedicated: one thread per connection",
		Source:  "MongoDB source; " + measured,
	},
	{
		Name: MaxIncomingConnections, MongoDBName: "net.maxIncomingConnections",
		Components: everyProcess, Versions: always,
		Kind: KindInteger, Unit: "connections", Min: 5, Max: 1000000,
		ConfigKey: "net.maxIncomingConnections", Online: RestartOnly, read: allConnections,
		TooHigh: "each connection takes a thread and up to 1 MiB; the limit of open files cuts it to 80 % of itself",
		TooLow:  "applications, other members and the operator itself are turned away",
		Source:  "MongoDB manual, net.maxIncomingConnections; " + measured,
	},
	{
		Name: NetworkCompressors, MongoDBName: "net.compression.compressors",
		Components: shardsAndRouters, Versions: always,
		Kind: KindList, Enum: []Value{"snappy", "zstd", "zlib", Disabled}, Default: "snappy,zstd,zlib",
		ConfigKey: "net.compression.compressors", Online: RestartOnly, read: fromCommandLine,
		TooHigh: "zstd and zlib first: more CPU per message",
		TooLow:  "disabled: more bytes between members and to applications",
		Source:  "MongoDB manual, net.compression.compressors; " + measured,
	},
}

// executorName turns the name in serverStatus into the name of the option.
func executorName(raw any) (Value, bool) {
	switch raw {
	case "passthrough":
		return "synchronous", true
	case "adaptive":
		return "adaptive", true
	default:
		return "", false
	}
}

// allConnections reads how many connections the process takes: those it has and those it still would.
func allConnections(_ Knob, process Process) Reading {
	const current, available = "connections/current", "connections/available"
	first := answered(process.ServerStatus, current, "serverStatus connections . current + available", process.Version, valueOf)
	rest := answered(process.ServerStatus, available, first.Evidence, process.Version, valueOf)
	if !first.Found {
		return first
	}
	if !rest.Found {
		return rest
	}
	a, okFirst := first.Value.AsFloat()
	b, okRest := rest.Value.AsFloat()
	if !okFirst || !okRest {
		return Reading{Evidence: fmt.Sprintf("%s is %s + %s, which cannot be read", first.Evidence, first.Value, rest.Value)}
	}
	first.Value = Decimal(a + b)
	return first
}

// list takes a KindList value apart.
func (v Value) list() []string {
	return strings.Split(string(v), ",")
}
