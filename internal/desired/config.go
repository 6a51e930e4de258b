// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/naming"
)

// Places inside the database pods.
const (
	dataPath       = "/data/db"
	filesPath      = "/etc/mongotuning/files"
	keyMountPath   = "/etc/mongotuning/key"
	runtimePath    = "/run/mongotuning"
	keyFilePath    = runtimePath + "/keyfile"
	binaryPath     = "/opt/mongotuning/mongotuning"
	binaryDir      = "/opt/mongotuning"
	temporaryPath  = "/tmp"
	trialPath      = "/etc/mongotuning/trial"
	trialDataPath  = temporaryPath
	generatedBegin = "# Written by the MongoDB tuning operator; changes made here are overwritten.\n"
)

// MemberConfig is the mongod.conf of the members of a replica set with the given settings.
func MemberConfig(set ReplicaSet, settings catalog.Settings) string {
	document := catalog.ConfigDocument(set.Component, set.Line, settings)
	role := "shardsvr"
	if set.Component == v1alpha1.ComponentConfigServer {
		role = "configsvr"
	}
	merge(document, map[string]any{
		"net":         networkSection(),
		"security":    map[string]any{"authorization": "enabled", "keyFile": keyFilePath},
		"replication": map[string]any{"replSetName": set.Name},
		"sharding":    map[string]any{"clusterRole": role},
		"storage":     map[string]any{"dbPath": dataPath, "engine": "wiredTiger"},
		// Users are made with the members' own identity; nobody needs the door without a lock.
		"setParameter": map[string]any{"enableLocalhostAuthBypass": false},
	})
	return render(document)
}

// TrialConfig is the file for a trial start of a member's settings: the same, on an empty directory and
// without replication, sharding and authentication, which a server alone cannot have.
func TrialConfig(set ReplicaSet, settings catalog.Settings) string {
	document := catalog.ConfigDocument(set.Component, set.Line, settings)
	merge(document, map[string]any{
		"net":     map[string]any{"port": naming.Port, "bindIp": "127.0.0.1", "unixDomainSocket": map[string]any{"enabled": false}},
		"storage": map[string]any{"dbPath": trialDataPath, "engine": "wiredTiger"},
	})
	return render(document)
}

// CacheFits tells whether the cache that a member's file asks for stays within what a memory limit in
// bytes (0 for none) may hold, both counted in whole MiB as the server does. A file that cannot be read
// fits nothing.
func CacheFits(file string, memoryLimit int64) bool {
	var document struct {
		Storage struct {
			WiredTiger struct {
				EngineConfig struct {
					CacheSizeGB float64 `json:"cacheSizeGB"`
				} `json:"engineConfig"`
			} `json:"wiredTiger"`
		} `json:"storage"`
	}
	if err := yaml.Unmarshal([]byte(file), &document); err != nil {
		return false
	}
	wanted := catalog.CacheBytes(document.Storage.WiredTiger.EngineConfig.CacheSizeGB)
	return memoryLimit == 0 || wanted <= catalog.CacheBytes(catalog.LargestCacheGB(memoryLimit))
}

// MongosConfig is the configuration file of the routers.
func (c Cluster) MongosConfig() string {
	sets := ReplicaSets(c.Tuning)
	config := sets[len(sets)-1]
	document := catalog.ConfigDocument(v1alpha1.ComponentMongos, c.Resolved.Version.Line(), c.Resolved.Settings[v1alpha1.ComponentMongos])
	merge(document, map[string]any{
		"net":      networkSection(),
		"security": map[string]any{"keyFile": keyFilePath},
		"sharding": map[string]any{"configDB": config.Name + "/" + strings.Join(c.Hosts(config), ",")},
	})
	return render(document)
}

func networkSection() map[string]any {
	return map[string]any{
		"port":      naming.Port,
		"bindIpAll": true,
		// The root file system is read-only, and nobody in the pod needs the socket.
		"unixDomainSocket": map[string]any{"enabled": false},
	}
}

// merge lays what belongs to the operator over what the settings made; the operator's keys win.
func merge(document, fixed map[string]any) {
	for key, value := range fixed {
		inner, isSection := value.(map[string]any)
		existing, exists := document[key].(map[string]any)
		if isSection && exists {
			merge(existing, inner)
			continue
		}
		document[key] = value
	}
}

// render writes a document as YAML with sorted keys, so that equal documents make equal files.
func render(document map[string]any) string {
	text, err := yaml.Marshal(document)
	if err != nil {
		// Only values that YAML cannot hold end here, and none comes out of the catalogue.
		panic(fmt.Sprintf("render configuration file: %v", err))
	}
	return generatedBegin + string(text)
}

func address(host string) string {
	return host + ":" + strconv.Itoa(naming.Port)
}
