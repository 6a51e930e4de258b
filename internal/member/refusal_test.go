// SPDX-License-Identifier: Apache-2.0

package member

import (
	"strings"
	"testing"
)

// What real servers wrote when they refused to start; times, threads and what comes between are cut.
const (
	wiredTiger42 = `2026-01-01T12:00:00.000+0000 I  CONTROL  [initandlisten] MongoDB starting : pid=1 port=27017
2026-01-01T12:00:00.000+0000 E  STORAGE  [initandlisten] WiredTiger error (22) [1][1:0x7f], connection: __wt_cache_create, 231: eviction target must be lower than the eviction trigger: Invalid argument Raw: [1][1:0x7f], connection: __wt_cache_create, 231: eviction target must be lower
2026-01-01T12:00:00.000+0000 F  -        [initandlisten] Fatal Assertion 28561 at src/mongo/db/storage/wiredtiger/wiredtiger_kv_engine.cpp 901
2026-01-01T12:00:00.000+0000 F  -        [initandlisten]

***aborting after fassert() failure
`
	wiredTiger44 = `{"t":{"$date":"2026"},"s":"I",  "c":"CONTROL",  "id":4615611, "ctx":"initandlisten","msg":"MongoDB starting","attr":{"pid":1}}
{"t":{"$date":"2026"},"s":"E",  "c":"STORAGE",  "id":22435,   "ctx":"initandlisten","msg":"WiredTiger error","attr":{"error":22,"message":"[1][1:0x7f], connection: __wt_cache_create, 246: eviction target must be lower than the eviction trigger: Invalid argument"}}
{"t":{"$date":"2026"},"s":"F",  "c":"-",        "id":23091,   "ctx":"initandlisten","msg":"Fatal assertion","attr":{"msgid":28561,"file":"wiredtiger_kv_engine.cpp","line":1112}}
{"t":{"$date":"2026"},"s":"F",  "c":"-",        "id":23092,   "ctx":"initandlisten","msg":"\n\n***aborting after fassert() failure\n\n"}
`
	wiredTiger60 = `{"t":{"$date":"2026"},"s":"E",  "c":"WT",       "id":22435,   "ctx":"initandlisten","msg":"WiredTiger error message","attr":{"error":22,"message":{"ts_sec":1,"ts_usec":1,"thread":"1:0x7f","session_name":"connection","category":"WT_VERB_DEFAULT","category_id":9,"verbose_level":"ERROR","verbose_level_id":-3,"msg":"__wt_cache_create:249:eviction target must be lower than the eviction trigger","error_str":"Invalid argument","error_code":22}}}
{"t":{"$date":"2026"},"s":"F",  "c":"ASSERT",   "id":23091,   "ctx":"initandlisten","msg":"Fatal assertion","attr":{"msgid":28561,"file":"wiredtiger_kv_engine.cpp","line":696}}
{"t":{"$date":"2026"},"s":"F",  "c":"ASSERT",   "id":23092,   "ctx":"initandlisten","msg":"\n\n***aborting after fassert() failure\n\n"}
`
	majorityReads50 = `{"t":{"$date":"2026"},"s":"I",  "c":"NETWORK",  "id":4915701, "ctx":"-","msg":"Initialized wire specification","attr":{"spec":{}}}
{"t":{"$date":"2026"},"s":"F",  "c":"CONTROL",  "id":5324700, "ctx":"-","msg":"** ERROR: Starting in 5.0, disabling enableMajorityReadConcern setting is no longer available"}
`
	replicaSetOnly60 = `{"t":{"$date":"2026"},"s":"F",  "c":"REPL",     "id":5605400, "ctx":"ReplCoord-0","msg":"replWriterMinThreadCount must be less than or equal to replWriterThreadCount","attr":{"replWriterMinThreadCount":20,"replWriterThreadCount":16}}
{"t":{"$date":"2026"},"s":"F",  "c":"-",        "id":23091,   "ctx":"ReplCoord-0","msg":"Fatal assertion","attr":{"msgid":5605400,"file":"oplog_applier.cpp","line":147}}
{"t":{"$date":"2026"},"s":"F",  "c":"-",        "id":23092,   "ctx":"ReplCoord-0","msg":"\n\n***aborting after fassert() failure\n\n"}
`
	invariant44 = `{"t":{"$date":"2026"},"s":"E",  "c":"STORAGE",  "id":1, "ctx":"initandlisten","msg":"Something that passed"}
{"t":{"$date":"2026"},"s":"F",  "c":"-",        "id":23079,   "ctx":"initandlisten","msg":"Invariant failure","attr":{"expr":"_minBytesPerStone > 0","file":"wiredtiger_record_store.cpp","line":218}}
{"t":{"$date":"2026"},"s":"F",  "c":"CONTROL",  "id":4757800, "ctx":"initandlisten","msg":"Writing fatal message","attr":{"message":"Got signal: 6 (Aborted).\n"}}
`
	parameter44 = `{"t":{"$date":"2026"},"s":"F",  "c":"CONTROL",  "id":20574,   "ctx":"main","msg":"Error during global initialization","attr":{"error":{"code":2,"codeName":"BadValue","errmsg":"Unknown --setParameter 'replWriterMinThreadCount'"}}}
`
	option42 = `Error parsing command line: unrecognised option '--nonsense'
try '/usr/bin/mongod --help' for more information
`
)

func TestRefusalLine(t *testing.T) {
	for _, test := range []struct{ name, log, want string }{
		{"WiredTiger's complaint of 4.2 comes before the assertion that follows", wiredTiger42, "WiredTiger error (22)"},
		{"WiredTiger's complaint of 4.2 says what is wrong", wiredTiger42, "eviction target must be lower than the eviction trigger"},
		{"WiredTiger's complaint of 4.4 is a text", wiredTiger44, "__wt_cache_create, 246: eviction target must be lower than the eviction trigger"},
		{"WiredTiger's complaint of 6.0 is a document", wiredTiger60, "WiredTiger error message: __wt_cache_create:249:eviction target must be lower than the eviction trigger"},
		{"the refusal of 5.0, which ends with code 0", majorityReads50, "disabling enableMajorityReadConcern setting is no longer available"},
		{"the first fatal line is the cause, the others follow from it", replicaSetOnly60, "replWriterMinThreadCount must be less than or equal to replWriterThreadCount"},
		{"a failed invariant says which", invariant44, "Invariant failure: _minBytesPerStone > 0"},
		{"an error as a document is told by its text", parameter44, "Error during global initialization: Unknown --setParameter 'replWriterMinThreadCount'"},
		{"what is said before there is a log", option42, "Error parsing command line: unrecognised option '--nonsense'"},
		{"an ordinary log ends somewhere", "{\"s\":\"I\",\"msg\":\"first\"}\n{\"s\":\"I\",\"msg\":\"last\"}\n", "last"},
		{"nothing was said", "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := RefusalLine(test.log)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got %q, wanted %q in it", got, test.want)
			}
		})
	}
}

func TestRefusalLineIsBounded(t *testing.T) {
	if got := RefusalLine(`{"s":"F","id":1,"msg":"` + strings.Repeat("x", 2*longestRefusal) + `"}`); len(got) > longestRefusal+len("...") {
		t.Errorf("%d bytes are shown", len(got))
	}
}
