// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

const gib = int64(1) << 30

func problemsOf(component v1alpha1.Component, line Line, settings Settings, memoryLimit int64) []string {
	var texts []string
	for _, problem := range Check(component, line, settings, memoryLimit) {
		texts = append(texts, problem.String())
	}
	return texts
}

// checkRows holds an accepted and a refused row for each validity rule of shard members.
var checkRows = []struct {
	name     string
	line     Line
	settings Settings
	want     []string
}{
	{"nothing declared is accepted", v44, Settings{}, nil},

	{"a target of 10 is accepted", v44, Settings{EvictionTarget: "10"}, nil},
	{"a target of 9 is refused, as by the server", v44, Settings{EvictionTarget: "9"}, []string{"eviction.targetPercent: 9 must be a whole number from 10 to 99"}},
	{"a target with a fraction is refused, since WiredTiger wants whole numbers", v44, Settings{EvictionTarget: "75.5"}, []string{"eviction.targetPercent: 75.5 must be a whole number from 10 to 99"}},
	{"a value that WiredTiger would take as bytes is refused", v44, Settings{EvictionDirtyTrigger: "120", EvictionTrigger: "100"}, []string{
		"eviction.dirtyTriggerPercent: 120 must be a whole number from 2 to 100",
		"eviction.dirtyTriggerPercent: 120 must be at most eviction.triggerPercent, which is 100: WiredTiger cuts it to that without saying so",
	}},

	{"a target below the trigger is accepted", v44, Settings{EvictionTarget: "96", EvictionTrigger: "97"}, nil},
	{"a target equal to the trigger is refused, although a running server takes it", v44, Settings{EvictionTarget: "97", EvictionTrigger: "97"}, []string{"eviction.targetPercent: 97 must be less than eviction.triggerPercent, which is 97: mongod does not start otherwise"}},
	{"a target above the trigger is refused", v44, Settings{EvictionTarget: "98", EvictionTrigger: "97"}, []string{"eviction.targetPercent: 98 must be less than eviction.triggerPercent, which is 97: mongod does not start otherwise"}},
	{"a target is compared with the default trigger", v44, Settings{EvictionTarget: "95"}, []string{"eviction.targetPercent: 95 must be less than eviction.triggerPercent, which is 95: mongod does not start otherwise"}},
	{"a trigger is compared with the default target", v44, Settings{EvictionTrigger: "80"}, []string{"eviction.targetPercent: 80 must be less than eviction.triggerPercent, which is 80: mongod does not start otherwise"}},

	{"a dirty target below the dirty trigger is accepted", v42, Settings{EvictionDirtyTarget: "19"}, nil},
	{"a dirty target equal to the dirty trigger is refused on versions that would start", v42, Settings{EvictionDirtyTarget: "20"}, []string{"eviction.dirtyTargetPercent: 20 must be less than eviction.dirtyTriggerPercent, which is 20: background eviction would start after the clients were drafted"}},
	{"a dirty trigger equal to the trigger is accepted", v42, Settings{EvictionDirtyTrigger: "95"}, nil},
	{"a dirty trigger above the trigger is refused", v42, Settings{EvictionDirtyTrigger: "96"}, []string{"eviction.dirtyTriggerPercent: 96 must be at most eviction.triggerPercent, which is 95: WiredTiger cuts it to that without saying so"}},
	{"a dirty target equal to the target is accepted", v42, Settings{EvictionDirtyTarget: "80", EvictionDirtyTrigger: "90"}, nil},
	{"a dirty target above the target is refused", v42, Settings{EvictionDirtyTarget: "81", EvictionDirtyTrigger: "90"}, []string{"eviction.dirtyTargetPercent: 81 must be at most eviction.targetPercent, which is 80: WiredTiger cuts it to that without saying so"}},

	{"an updates target below the derived trigger is accepted", v44, Settings{EvictionUpdatesTarget: "9"}, nil},
	{"an updates target equal to the derived trigger is refused", v44, Settings{EvictionUpdatesTarget: "10"}, []string{"eviction.updatesTargetPercent: 10 must be less than eviction.updatesTriggerPercent, which is 10: background eviction would start after the clients were drafted"}},
	{"a derived updates target follows the dirty target", v44, Settings{EvictionDirtyTarget: "10", EvictionUpdatesTrigger: "5"}, []string{"eviction.updatesTargetPercent: 5 must be less than eviction.updatesTriggerPercent, which is 5: background eviction would start after the clients were drafted"}},
	{"an updates trigger above the trigger is refused", v44, Settings{EvictionUpdatesTrigger: "96"}, []string{"eviction.updatesTriggerPercent: 96 must be at most eviction.triggerPercent, which is 95: WiredTiger cuts it to that without saying so"}},
	{"nothing may be written before a checkpoint", v44, Settings{EvictionCheckpoint: "0"}, nil},
	{"the server's own checkpoint target may be declared", v44, Settings{EvictionCheckpoint: "1"}, nil},
	{"a checkpoint target equal to the dirty target is good", v44, Settings{EvictionDirtyTarget: "3", EvictionCheckpoint: "3"}, nil},
	{"a checkpoint target below the dirty target is refused", v42, Settings{EvictionCheckpoint: "4"}, []string{"eviction.checkpointTargetPercent: 4 must be 0, or at least eviction.dirtyTargetPercent, which is 5: WiredTiger raises it to that without saying so"}},
	{"updates thresholds are unknown to 4.2", v42, Settings{EvictionUpdatesTarget: "2", EvictionUpdatesTrigger: "8"}, []string{
		"eviction.updatesTargetPercent: 2 is not supported by MongoDB 4.2 (only 4.4+): use eviction.dirtyTargetPercent: this server counts updates as dirty only",
		"eviction.updatesTriggerPercent: 8 is not supported by MongoDB 4.2 (only 4.4+): use eviction.dirtyTriggerPercent: this server counts updates as dirty only",
	}},
	{"derived updates thresholds may be declared on 4.2 to undo a profile", v42, Settings{EvictionUpdatesTarget: "0", EvictionUpdatesTrigger: "0"}, nil},

	{"1 to 20 threads are accepted", v60, Settings{EvictionThreadsMin: "1", EvictionThreadsMax: "20"}, nil},
	{"as many threads at least as at most are accepted", v60, Settings{EvictionThreadsMin: "20", EvictionThreadsMax: "20"}, nil},
	{"21 threads are refused", v60, Settings{EvictionThreadsMin: "1", EvictionThreadsMax: "21"}, []string{"eviction.threadsMax: 21 must be a whole number from 1 to 20"}},
	{"no thread is refused", v60, Settings{EvictionThreadsMin: "0", EvictionThreadsMax: "4"}, []string{"eviction.threadsMin: 0 must be a whole number from 1 to 20"}},
	{"more threads at least than at most are refused", v60, Settings{EvictionThreadsMin: "14", EvictionThreadsMax: "8"}, []string{"eviction.threadsMin: 14 must be at most eviction.threadsMax, which is 8: mongod does not start otherwise"}},
	{"the least number of threads alone is refused", v60, Settings{EvictionThreadsMin: "4"}, []string{"eviction.threadsMin: 4 must be set together with eviction.threadsMax: one alone stops mongod from starting"}},
	{"the greatest number of threads alone is refused", v60, Settings{EvictionThreadsMax: "8"}, []string{"eviction.threadsMax: 8 must be set together with eviction.threadsMin: one alone stops mongod from starting"}},

	{"a cache of 0.25 GB is accepted", v42, Settings{CacheSizeGB: "0.25"}, nil},
	{"a cache below 0.25 GB is refused even where the server takes it", v42, Settings{CacheSizeGB: "0.1"}, []string{"cacheSizeGB: 0.1 must be a number from 0.25 to 10000"}},
	{"a cache that is no number is refused", v42, Settings{CacheSizeGB: "NaN"}, []string{"cacheSizeGB: NaN must be a number from 0.25 to 10000"}},

	{"checkpoints every second are accepted", v42, Settings{CheckpointWait: "1"}, nil},
	{"checkpoints every hour are accepted", v42, Settings{CheckpointWait: "3600"}, nil},
	{"0, which turns checkpoints off, is refused", v42, Settings{CheckpointWait: "0"}, []string{"checkpoint.waitSeconds: 0 must be a whole number from 1 to 3600"}},
	{"3601 is refused even where the server takes it", v42, Settings{CheckpointWait: "3601"}, []string{"checkpoint.waitSeconds: 3601 must be a whole number from 1 to 3600"}},

	{"majority read concern off is accepted on 4.4", v44, Settings{EnableMajorityReadConcern: "false"}, nil},
	{"majority read concern off is refused on 5.0, where mongod ends with code 0", v50, Settings{EnableMajorityReadConcern: "false"}, []string{"enableMajorityReadConcern: false is not supported by MongoDB 5.0 (only 4.2-4.4): it always keeps history for lagging secondaries: lower snapshotHistoryWindowSeconds, leave flowControl on and watch replication lag"}},
	{"majority read concern on is accepted on every version", v80, Settings{EnableMajorityReadConcern: "true"}, nil},
	{"the adaptive executor is accepted on 4.4", v44, Settings{ServiceExecutor: "adaptive"}, nil},
	{"the adaptive executor is refused on 5.0", v50, Settings{ServiceExecutor: "adaptive"}, []string{"serviceExecutor: adaptive is not supported by MongoDB 5.0 (only 4.2-4.4): it has one thread per connection: use initialServiceExecutorThreadingModel borrowed (5.0 and 6.0, not the same thing), maxIncomingConnections, and smaller pools in the application"}},
	{"the synchronous executor is accepted on every version", v80, Settings{ServiceExecutor: "synchronous"}, nil},
	{"an executor of another name is refused", v44, Settings{ServiceExecutor: "reactor"}, []string{"serviceExecutor: reactor must be one of synchronous, adaptive"}},
	{"borrowed threads are accepted on 6.0", v60, Settings{ThreadingModel: "borrowed"}, nil},
	{"borrowed threads are refused on 7.0", v70, Settings{ThreadingModel: "borrowed"}, []string{"initialServiceExecutorThreadingModel: borrowed is not supported by MongoDB 7.0 (only 5.0-6.0): use serviceExecutor on 4.2 and 4.4; newer servers have one thread per connection only"}},

	{"journal syncs 1 ms apart are accepted", v42, Settings{JournalCommitInterval: "1"}, nil},
	{"journal syncs 501 ms apart are refused", v42, Settings{JournalCommitInterval: "501"}, []string{"journalCommitIntervalMilliseconds: 501 must be a whole number from 1 to 500"}},
	{"5 tickets are accepted", v42, Settings{ReadTickets: "5", WriteTickets: "5"}, nil},
	{"4 tickets are refused", v42, Settings{ReadTickets: "4"}, []string{"tickets.read: 4 must be a whole number from 5 to 1000"}},
	{"a TTL monitor that never sleeps is refused", v42, Settings{TTLMonitorSleep: "0"}, []string{"ttlMonitor.sleepSeconds: 0 must be a whole number from 1 to 86400"}},
	{"a truth value of another spelling is refused", v42, Settings{TTLMonitorEnabled: "yes"}, []string{"ttlMonitor.enabled: yes must be true or false"}},
	{"a target lag of 0 s is refused", v42, Settings{FlowControlTargetLag: "0"}, []string{"flowControl.targetLagSeconds: 0 must be a whole number from 1 to 3600"}},
	{"an oplog of 990 MB is accepted", v42, Settings{OplogSize: "990"}, nil},
	{"an oplog of 989 MB is refused", v42, Settings{OplogSize: "989"}, []string{"oplog.sizeMB: 989 must be a whole number from 990 to 1073741824"}},
	{"a retention time is unknown to 4.2", v42, Settings{OplogMinRetention: "2"}, []string{"oplog.minRetentionHours: 2 is not supported by MongoDB 4.2 (only 4.4+): use oplog.sizeMB: this server keeps history by size only"}},
	{"no retention time may be declared on 4.2 to undo a profile", v42, Settings{OplogMinRetention: "0"}, nil},

	{"compressors in any order are accepted", v44, Settings{NetworkCompressors: "zlib,snappy"}, nil},
	{"a compressor named twice is refused", v44, Settings{NetworkCompressors: "zlib,zlib"}, []string{"networkCompressors: zlib,zlib must be a list of snappy, zstd, zlib, disabled, each at most once, and disabled only alone"}},
	{"disabled among other compressors is refused", v44, Settings{NetworkCompressors: "zlib,disabled"}, []string{"networkCompressors: zlib,disabled must be a list of snappy, zstd, zlib, disabled, each at most once, and disabled only alone"}},

	{"a listed parameter is accepted", v44, Settings{"setParameters.cursorTimeoutMillis": "300000"}, nil},
	{"a listed parameter of the wrong type is refused", v44, Settings{"setParameters.cursorTimeoutMillis": "soon"}, []string{"setParameters.cursorTimeoutMillis: soon must be a whole number"}},
	{"a parameter that no server knows is refused, since mongod would not start", v44, Settings{"setParameters.bogus": "1"}, []string{"setParameters.bogus: 1 is not a parameter of MongoDB 4.4 that can be set in its file: the server would not start; docs/tuning-reference.md lists the parameters of each version"}},
	{"a parameter of newer servers is refused on older ones", v42, Settings{"setParameters.minOplogEntriesPerThread": "32"}, []string{"setParameters.minOplogEntriesPerThread: 32 is not supported by MongoDB 4.2 (only 5.0-6.0): a name the server does not know would keep it from starting; docs/tuning-reference.md lists the parameters of each version"}},
	{"a parameter with a field of its own is refused and the field named", v44, Settings{"setParameters.ttlMonitorEnabled": "false"}, []string{"setParameters.ttlMonitorEnabled: false cannot be set here: ttlMonitorEnabled is set by the field ttlMonitor.enabled"}},
	{"an old name of such a parameter is refused too", v60, Settings{"setParameters.wiredTigerConcurrentReadTransactions": "64"}, []string{"setParameters.wiredTigerConcurrentReadTransactions: 64 cannot be set here: wiredTigerConcurrentReadTransactions is set by the field tickets.read"}},
	{"syncdelay, which lies, is refused and the field named", v44, Settings{"setParameters.syncdelay": "20"}, []string{"setParameters.syncdelay: 20 cannot be set here: syncdelay is set by the field checkpoint.waitSeconds"}},
	{"the door without a lock is refused", v44, Settings{"setParameters.enableLocalhostAuthBypass": "true"}, []string{"setParameters.enableLocalhostAuthBypass: true cannot be set here: enableLocalhostAuthBypass decides who gets in and how, which is not a matter of tuning"}},
	{"an option that belongs to the operator is refused", v44, Settings{"setParameters.port": "27018"}, []string{"setParameters.port: 27018 cannot be set here: port belongs to the operator, which relies on it"}},
}

func TestCheck(t *testing.T) {
	for _, test := range checkRows {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, problemsOf(v1alpha1.ComponentShardMember, test.line, test.settings, 0)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecurityIsOutOfReach(t *testing.T) {
	for _, name := range []string{
		"authenticationMechanisms", "authorizationManagerCacheSize", "tlsMode", "tlsCATrusts", "sslMode", "opensslCipherConfig",
		"ocspEnabled", "saslHostName", "scramIterationCount", "clusterAuthMode", "keyFile", "enableTestCommands",
		"ldapServers", "auditAuthorizationSuccess", "KeysRotationIntervalSec", "javascriptProtection", "security",
		"dbPath", "replSetName", "bindIp", "storageEngine", "clusterRole", "configDB",
	} {
		settings := Settings{Name(setParametersPrefix + name): "1"}
		for _, line := range Lines() {
			problems := Check(v1alpha1.ComponentShardMember, line, settings, 0)
			if len(problems) != 1 || !strings.Contains(problems[0].Allowed, "cannot be set here") {
				t.Errorf("%s on %s: %v, want exactly one refusal", name, line, problems)
			}
		}
	}
}

// Name makes the table of names above read as names.
func Name(name string) string { return name }

func TestCacheAgainstMemoryLimit(t *testing.T) {
	const refusal = "GB must be at most 80 % of the memory limit, which is 8.00 GB: connections, sorts and the file system cache need the rest"
	tests := []struct {
		name  string
		cache Value
		want  []string
	}{
		{"one MiB under 80 % is accepted", "7.9990234375", nil},
		{"80 % is accepted", "8", nil},
		{"one MiB over 80 % is refused", "8.0009765625", []string{"cacheSizeGB: 8.0009765625 " + refusal}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := problemsOf(v1alpha1.ComponentShardMember, v44, Settings{CacheSizeGB: test.cache}, 10*gib)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	if got := LargestCacheGB(10 * gib); got != 8 {
		t.Errorf("the largest cache under 10 GiB is %v GB, want 8", got)
	}
}

func TestRouterRules(t *testing.T) {
	tests := []struct {
		name     string
		line     Line
		settings Settings
		want     []string
	}{
		{"the default times hold together", v44, Settings{poolMinSize: "10"}, nil},
		{"a host timeout above both refresh times is accepted", v44, Settings{poolHostTimeout: "80001"}, nil},
		{"a host timeout equal to both refresh times is refused", v44, Settings{poolHostTimeout: "80000"}, []string{"connectionPool.hostTimeoutMilliseconds: 80000 must be greater than the sum of connectionPool.refreshRequirementMilliseconds and connectionPool.refreshTimeoutMilliseconds, which is 80000: a pool would be dropped while its connections are refreshed"}},
		{"a pool that keeps more than it may have is refused", v44, Settings{poolMinSize: "11", poolMaxSize: "10"}, []string{"connectionPool.minSize: 11 must be at most connectionPool.maxSize, which is 10: a pool cannot keep more connections than it may have"}},
		{"automatic matching is unknown to 4.4", v44, Settings{poolMatching: "automatic"}, []string{"connectionPool.replicaSetMatching: automatic must be one of disabled, matchPrimaryNode, matchBusiestNode"}},
		{"automatic matching is accepted on 5.0", v50, Settings{poolMatching: "automatic"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, problemsOf(v1alpha1.ComponentMongos, test.line, test.settings, 0)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
