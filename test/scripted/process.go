// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"maps"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/mongotuning/mongotuning/internal/catalog"
)

// process is a running mongod: what it was started with, and what was set online since.
type process struct {
	Process
	// started is the file as getCmdLineOpts shows it.
	started map[string]any
	// runtime is the WiredTiger string that was sent last.
	runtime string
	// parameters that were set online.
	parameters map[string]any
}

func newProcess(started Process) *process {
	document := map[string]any{}
	if err := yaml.Unmarshal([]byte(started.File), &document); err != nil {
		panic("a member was started with a file that is no YAML: " + err.Error())
	}
	return &process{Process: started, started: document, parameters: map[string]any{}}
}

// cacheBytes are the bytes of the cache: as it was set online, or else as the file says.
func (p *process) cacheBytes() int64 {
	if config, err := catalog.ParseWiredTiger(p.runtime); err == nil && config["cache_size"] != "" {
		mebibytes, err := strconv.ParseInt(strings.TrimSuffix(config["cache_size"], "M"), 10, 64)
		if err == nil {
			return mebibytes << 20
		}
	}
	return catalog.CacheBytes(p.startedCacheGB())
}

func (p *process) startedCacheGB() float64 {
	size, _ := p.option("storage", "wiredTiger", "engineConfig", "cacheSizeGB").(float64)
	return size
}

func (p *process) option(path ...string) any {
	var at any = p.started
	for _, key := range path {
		inner, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = inner[key]
	}
	return at
}

// answers are what the process reports of itself, in the shape of a real one of 4.4.
func (p *process) answers() catalog.Process {
	executor := "passthrough"
	if p.option("net", "serviceExecutor") == "adaptive" {
		executor = "adaptive"
	}
	majority, declared := p.option("replication", "enableMajorityReadConcern").(bool)
	parameters := map[string]any{catalog.RuntimeConfigParameter: p.runtime}
	if set, ok := p.option("setParameter").(map[string]any); ok {
		maps.Copy(parameters, set)
	}
	maps.Copy(parameters, p.parameters)
	return catalog.Process{
		Version:     p.Version,
		CommandLine: p.started,
		Parameters:  parameters,
		ServerStatus: map[string]any{
			"wiredTiger":    map[string]any{"cache": map[string]any{"maximum bytes configured": p.cacheBytes()}},
			"network":       map[string]any{"serviceExecutorTaskStats": map[string]any{"executor": executor}},
			"storageEngine": map[string]any{"supportsCommittedReads": majority || !declared},
		},
		SlowOperations: map[string]any{},
		OplogStats:     map[string]any{},
	}
}

// CacheOf is the cache in bytes that runs in a pod, 0 when nothing does.
func (s *Servers) CacheOf(pod string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, running := range s.processes {
		if running.Pod == pod {
			return running.cacheBytes()
		}
	}
	return 0
}
