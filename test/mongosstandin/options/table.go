// SPDX-License-Identifier: Apache-2.0

package options

import "slices"

// kind is the type of an option's value.
type kind int

const (
	kindString kind = iota
	kindInt
	kindBool
	// kindMap holds free names below it, as setParameter and systemLog.component do.
	kindMap
)

// option is one setting of mongos: its path in the configuration file and, when it has one, its flag.
type option struct {
	path string
	flag string
	kind kind
}

// table lists the options of mongos 4.2 to 6.0 that a tuned cluster is started with. Options for TLS, audit and
// expansion directives are left out, so they are refused, for nothing here would honour them.
// Source: the mongos_options and server_options definitions of MongoDB 4.2 to 6.0 and the manual's configuration page.
var table = []option{
	{"net.bindIp", "bind_ip", kindString},
	{"net.bindIpAll", "bind_ip_all", kindBool},
	{"net.ipv6", "ipv6", kindBool},
	{"net.listenBacklog", "listenBacklog", kindInt},
	{"net.maxIncomingConnections", "maxConns", kindInt},
	{"net.port", "port", kindInt},
	{"net.serviceExecutor", "serviceExecutor", kindString},
	{"net.transportLayer", "transportLayer", kindString},
	{"net.unixDomainSocket.enabled", "", kindBool},
	{"net.unixDomainSocket.filePermissions", "filePermissions", kindInt},
	{"net.unixDomainSocket.pathPrefix", "unixSocketPrefix", kindString},
	{"net.wireObjectCheck", "", kindBool},
	{"processManagement.fork", "fork", kindBool},
	{"processManagement.pidFilePath", "pidfilepath", kindString},
	{"processManagement.timeZoneInfo", "timeZoneInfo", kindString},
	{"replication.localPingThresholdMs", "localThreshold", kindInt},
	{"security.clusterAuthMode", "clusterAuthMode", kindString},
	{"security.keyFile", "keyFile", kindString},
	{"setParameter", "setParameter", kindMap},
	{"sharding.configDB", "configdb", kindString},
	{"systemLog.component", "", kindMap},
	{"systemLog.destination", "", kindString},
	{"systemLog.logAppend", "logappend", kindBool},
	{"systemLog.logRotate", "logRotate", kindString},
	{"systemLog.path", "logpath", kindString},
	{"systemLog.quiet", "quiet", kindBool},
	{"systemLog.timeStampFormat", "timeStampFormat", kindString},
	{"systemLog.traceAllExceptions", "traceExceptions", kindBool},
	{"systemLog.verbosity", "", kindInt},
}

func optionByPath(path string) (option, bool) {
	for _, o := range table {
		if o.path == path {
			return o, true
		}
	}
	return option{}, false
}

// flagsOnly are the flags that are no setting and have no place in a configuration file.
var flagsOnly = []option{
	{"config", "config", kindString},
	{"version", "version", kindBool},
}

func optionByFlag(flag string) (option, bool) {
	for _, o := range slices.Concat(table, flagsOnly) {
		if o.flag != "" && o.flag == flag {
			return o, true
		}
	}
	return option{}, false
}
