// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"strings"
)

// ownedPrefixes and ownedNames are parameters that cannot be set through setParameters, with the reason.
// What is not on the list of measured parameters is refused anyway; these have a better answer.
var ownedPrefixes = []struct{ prefix, reason string }{
	{"tls", securityReason}, {"ssl", securityReason}, {"openssl", securityReason}, {"ocsp", securityReason},
	{"sasl", securityReason}, {"ldap", securityReason}, {"kmip", securityReason}, {"aws", securityReason},
	{"auth", securityReason}, {"scram", securityReason}, {"audit", securityReason}, {"cluster", securityReason},
	{"kerberos", securityReason}, {"startupAuth", securityReason}, {"suppressNoTLS", securityReason},
	{"disableNonSSL", securityReason}, {"disableNonTLS", securityReason}, {"enforceUser", securityReason},
	{"disabledSecure", securityReason}, {"KeysRotation", securityReason}, {"javascriptProtection", securityReason},
	{"allowRoles", securityReason}, {"newShardExistingClusterTimeKeys", securityReason},

	{"featureFlag", supportReason}, {"featureCompatibility", supportReason}, {"test", supportReason},
	{"bsonTest", supportReason}, {"failpoint", supportReason}, {"trafficRecording", supportReason},
	{"AlwaysRecordTraffic", supportReason}, {"tenant", supportReason}, {"shardSplit", supportReason},
	{"multitenancy", supportReason}, {"heapProfiling", supportReason}, {"recover", supportReason},
	{"startupRecovery", supportReason}, {"fileBasedInitialSync", supportReason}, {"dbCheck", supportReason},
	{"skip", supportReason}, {"roundtrip", supportReason}, {"unsupported", supportReason},
	{"wiredTigerStress", supportReason}, {"wiredTigerSkip", supportReason}, {"allowDocumentsGreater", supportReason},
	{"takeUnstable", supportReason}, {"oplogApplicationEnforces", supportReason}, {"internalValidate", supportReason},
	{"maxBSONDepth", supportReason}, {"allowMultipleArbiters", supportReason}, {"createRollback", supportReason},
	{"forceRollback", supportReason}, {"disableSplitHorizon", supportReason}, {"backtrace", supportReason},
	{"enableOverrideCluster", supportReason}, {"disableLogicalSession", supportReason},

	{"diagnosticDataCollection", operatorReason}, {"cloud", operatorReason}, {"processUmask", operatorReason}, {"honorSystemUmask", operatorReason},
	{"replicaSetMonitorProtocol", operatorReason}, {"shutdownTimeout", operatorReason},
	{"mongosShutdownTimeout", operatorReason}, {"waitForStepDown", operatorReason}, {"loadBalancerPort", operatorReason},
	{"recordPreImages", operatorReason}, {"tcpFastOpen", hostReason},
}

// ownedNames are words that people look for among parameters although they are options.
var ownedNames = map[string]string{
	"enableLocalhostAuthBypass": securityReason, "enableTestCommands": supportReason,
	"port": operatorReason, "bindIp": operatorReason, "bindIpAll": operatorReason, "dbPath": operatorReason,
	"dbpath": operatorReason, "replSet": operatorReason, "replSetName": operatorReason, "clusterRole": operatorReason,
	"configDB": operatorReason, "storageEngine": operatorReason, "engine": operatorReason,
	"keyFile": securityReason, "transitionToAuth": securityReason, "noauth": securityReason, "security": securityReason,
}

const (
	securityReason = "decides who gets in and how, which is not a matter of tuning"
	operatorReason = "belongs to the operator, which relies on it"
	hostReason     = "depends on the node's kernel: the server does not start where the kernel does not have it"
	supportReason  = "is for MongoDB's own tests or support, or risks data"
)

// handsOff are parameters that people set by hand while they search for a fault; without a declaration
// they are left as they are.
var handsOff = map[string]bool{
	"logLevel": true, "quiet": true, "notablescan": true, "traceWriteConflictExceptions": true, "maxLogSizeKB": true,
	"tcmallocMaxTotalThreadCacheBytes": true,
}

// typedElsewhere are parameters that do what a row of another name does, by the row.
var typedElsewhere = map[string]string{
	"syncdelay":              CheckpointWait,
	RuntimeConfigParameter:   "eviction",
	"cachePressureThreshold": SnapshotHistoryWindow,

	"wiredTigerEvictionDirtyTargetGB": EvictionDirtyTarget,
	"wiredTigerEvictionDirtyMaxGB":    EvictionDirtyTrigger,
}

// Owner says why a server parameter cannot be set through setParameters: because it belongs to
// somebody else, or because a knob of its own sets it. It is empty when neither is so.
func Owner(parameter string) string {
	if reason, ok := ownedNames[parameter]; ok {
		return reason
	}
	for _, owned := range ownedPrefixes {
		if strings.HasPrefix(strings.ToLower(parameter), strings.ToLower(owned.prefix)) {
			return owned.reason
		}
	}
	if knob, ok := typedElsewhere[parameter]; ok {
		return "is set by the field " + knob
	}
	for _, knob := range typedRows {
		if knob.Parameter && slices.Contains(parameterNames(knob), parameter) {
			return "is set by the field " + knob.Name
		}
	}
	return ""
}

// parameterNames are all names of a row's parameter; old ones live on as aliases.
func parameterNames(knob Knob) []string {
	names := make([]string, 0, 1+len(knob.Variants))
	names = append(names, knob.MongoDBName)
	for _, variant := range knob.Variants {
		names = append(names, variant.MongoDBName)
	}
	return names
}
