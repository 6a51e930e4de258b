// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// parameter is one server parameter of mongos. Its default gives the type: int32, int64, bool or string.
type parameter struct {
	name string
	// standard is the default in the versions from (inclusive) to before (exclusive).
	standard any
	from     []int32
	before   []int32
	// isRuntime says that setParameter may change it in a running process.
	isRuntime bool
}

var (
	version44 = []int32{4, 4}
	version50 = []int32{5, 0}
	version60 = []int32{6, 0}
)

// parameters are those a tuned mongos is started with. mongod 4.2.6, 4.4.2, 5.0.4 and 6.0.27 have all of them too and
// answered these types and defaults, except that mongos' default for ShardingTaskExecutorPoolMaxSize is in the manual.
var parameters = []parameter{
	{name: "ShardingTaskExecutorPoolHostTimeoutMS", standard: int32(300000), isRuntime: true},
	{name: "ShardingTaskExecutorPoolMaxConnecting", standard: int32(2), isRuntime: true},
	{name: "ShardingTaskExecutorPoolMaxSize", standard: int32(32767), isRuntime: true},
	{name: "ShardingTaskExecutorPoolMaxSizeForConfigServers", standard: int32(-1), from: version60, isRuntime: true},
	{name: "ShardingTaskExecutorPoolMinSize", standard: int32(1), isRuntime: true},
	{name: "ShardingTaskExecutorPoolMinSizeForConfigServers", standard: int32(-1), from: version60, isRuntime: true},
	{name: "ShardingTaskExecutorPoolRefreshRequirementMS", standard: int32(60000), isRuntime: true},
	{name: "ShardingTaskExecutorPoolRefreshTimeoutMS", standard: int32(20000), isRuntime: true},
	{name: "ShardingTaskExecutorPoolReplicaSetMatching", standard: "matchPrimaryNode", before: version50, isRuntime: true},
	{name: "ShardingTaskExecutorPoolReplicaSetMatching", standard: "automatic", from: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorIdlePctThreshold", standard: int32(60), before: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorMaxQueueLatencyMicros", standard: int32(500), before: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorRecursionLimit", standard: int32(8), before: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorReservedThreads", standard: int32(-1), before: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorRunTimeJitterMillis", standard: int32(500), before: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorRunTimeMillis", standard: int32(5000), before: version50, isRuntime: true},
	{name: "adaptiveServiceExecutorStuckThreadTimeoutMillis", standard: int32(250), before: version50, isRuntime: true},
	{name: "connPoolMaxConnsPerHost", standard: int32(200)},
	{name: "connPoolMaxShardedConnsPerHost", standard: int32(200), before: version50},
	{name: "cursorTimeoutMillis", standard: int64(600000), isRuntime: true},
	{name: "enableTestCommands", standard: false},
	{name: "initialServiceExecutorThreadingModel", standard: "dedicated", from: version50},
	{name: "loadRoutingTableOnStartup", standard: true, from: version44},
	{name: "localLogicalSessionTimeoutMinutes", standard: int32(30)},
	{name: "logLevel", standard: int32(0), isRuntime: true},
	{name: "maxTimeMSForHedgedReads", standard: int32(150), from: version44, isRuntime: true},
	{name: "mongosShutdownTimeoutMillisForSignaledShutdown", standard: int32(15000), from: version50, isRuntime: true},
	{name: "quiet", standard: false, isRuntime: true},
	{name: "readHedgingMode", standard: "on", from: version44, isRuntime: true},
	{name: "taskExecutorPoolSize", standard: int32(1), isRuntime: true},
	{name: "warmMinConnectionsInShardingTaskExecutorPoolOnStartup", standard: true, from: version44},
	{name: "warmMinConnectionsInShardingTaskExecutorPoolOnStartupWaitMS", standard: int32(2000), from: version44},
}

func (p parameter) isIn(version []int32) bool {
	return slices.Compare(version, p.from) >= 0 && (p.before == nil || slices.Compare(version, p.before) < 0)
}

// parse reads a value given at the start, as text.
func (p parameter) parse(text string) (any, error) {
	bad := func(err error) error { return refusef("BadValue: Bad value for parameter %q: %v", p.name, err) }
	switch p.standard.(type) {
	case int32:
		number, err := strconv.ParseInt(text, 0, 32)
		if err != nil {
			return nil, bad(err)
		}
		return int32(number), nil
	case int64:
		number, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return nil, bad(err)
		}
		return number, nil
	case bool:
		switch text {
		case "1", "true":
			return true, nil
		case "0", "false":
			return false, nil
		}
		return nil, bad(fmt.Errorf("%q is no bool", text))
	default:
		return text, nil
	}
}

// coerce reads a value given to setParameter. Like the server it takes a number for a number of any width and for a
// bool, and never text for a number.
func (p parameter) coerce(value bson.RawValue) (any, error) {
	number, isNumber := value.AsInt64OK()
	truth, isBool := value.BooleanOK()
	switch p.standard.(type) {
	case int32:
		if isNumber && int64(int32(number)) == number {
			return int32(number), nil
		}
	case int64:
		if isNumber {
			return number, nil
		}
	case bool:
		if isBool || isNumber {
			return truth || number != 0, nil
		}
	case string:
		if text, isText := value.StringValueOK(); isText {
			return text, nil
		}
	}
	return nil, fmt.Errorf("Failed setting %s: Unable to coerce value", p.name) //nolint:staticcheck // The server's words.
}

// Parameters are the server parameters of one process: what it was started with, changed by setParameter since. The
// stand-in stores them and acts on none.
type Parameters struct {
	mutex   sync.Mutex
	rows    map[string]parameter
	current map[string]any
}

// NewParameters takes the parameters of a version with the values given at the start.
func NewParameters(version []int32, given map[string]string) (*Parameters, error) {
	p := &Parameters{rows: map[string]parameter{}, current: map[string]any{}}
	for _, row := range parameters {
		if row.isIn(version) {
			p.rows[row.name] = row
			p.current[row.name] = row.standard
		}
	}
	for name, text := range given {
		row, isKnown := p.rows[name]
		if !isKnown {
			return nil, &UnknownParameter{Name: name}
		}
		value, err := row.parse(text)
		if err != nil {
			return nil, err
		}
		p.current[name] = value
	}
	return p, nil
}

// UnknownParameter says that this version of mongos has no such parameter. It ends the process with exit code 1.
type UnknownParameter struct{ Name string }

// Error is what the server prints.
func (u *UnknownParameter) Error() string {
	return fmt.Sprintf("BadValue: Unknown --setParameter '%s'", u.Name)
}

// Names returns all names in order.
func (p *Parameters) Names() []string {
	names := make([]string, 0, len(p.rows))
	for name := range p.rows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Get returns the value in force.
func (p *Parameters) Get(name string) (any, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	value, isKnown := p.current[name]
	return value, isKnown
}

// Set changes a parameter and returns the value it had.
func (p *Parameters) Set(name string, value bson.RawValue) (any, error) {
	row, isKnown := p.rows[name]
	if !isKnown {
		return nil, fmt.Errorf("attempted to set unrecognized parameter [%s], use help:true to see options ", name)
	}
	if !row.isRuntime {
		return nil, fmt.Errorf("not allowed to change [%s] at runtime", name)
	}
	coerced, err := row.coerce(value)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	was := p.current[name]
	p.current[name] = coerced
	return was, nil
}

// CheckVersion refuses options that this version of mongos no longer has.
func (o *Options) CheckVersion(version []int32) error {
	if _, isSet := o.values["net.serviceExecutor"]; isSet && slices.Compare(version, version50) >= 0 {
		return refusef("Unrecognized option: net.serviceExecutor")
	}
	return nil
}
