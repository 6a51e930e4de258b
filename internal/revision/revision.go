// SPDX-License-Identifier: Apache-2.0

// Package revision holds what travels from member to member when a MongoTuning changes: every input that
// can be rolled out, resolved. The operator keeps each as a ControllerRevision. It is pure.
package revision

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/profile"
)

// Content is every input that can be rolled out, resolved. The image is left out: going back to an older
// tuning must not go back to an older server.
type Content struct {
	Resolved        profile.Resolved   `json:"resolved"`
	ShardResources  v1alpha1.Resources `json:"shardResources"`
	ConfigResources v1alpha1.Resources `json:"configResources"`
	MongosResources v1alpha1.Resources `json:"mongosResources"`
}

// Of is the content that a MongoTuning and its resolved tuning ask for.
func Of(tuning *v1alpha1.MongoTuning, resolved profile.Resolved) Content {
	return Content{
		Resolved:        resolved,
		ShardResources:  tuning.Spec.Shards.Resources,
		ConfigResources: tuning.Spec.ConfigServers.Resources,
		MongosResources: tuning.Spec.Mongos.Resources,
	}
}

// Name names a revision by its content, wherever the values came from and whatever is warned of, so that the
// same tuning declared again, or judged by a newer operator, is the same revision.
func Name(tuning *v1alpha1.MongoTuning, resolved profile.Resolved) string {
	content := Of(tuning, resolved)
	content.Resolved.Sources, content.Resolved.Warnings = nil, nil
	content.Resolved.Version.Patch = 0
	encoded, _ := json.Marshal(content) // plain structs always encode
	sum := fnv.New64a()
	_, _ = sum.Write(encoded)
	return fmt.Sprintf("%s-%016x", tuning.Name, sum.Sum64())[:len(tuning.Name)+11]
}

// Decode reads what a ControllerRevision holds.
func Decode(name string, data []byte) (Content, error) {
	var content Content
	if err := json.Unmarshal(data, &content); err != nil {
		return content, fmt.Errorf("read revision %s: %w", name, err)
	}
	return content, nil
}

// LaidOver is a MongoTuning with the resources of a revision in the place of its own.
func (c Content) LaidOver(tuning *v1alpha1.MongoTuning) *v1alpha1.MongoTuning {
	laid := tuning.DeepCopy()
	laid.Spec.Shards.Resources = c.ShardResources
	laid.Spec.ConfigServers.Resources = c.ConfigResources
	laid.Spec.Mongos.Resources = c.MongosResources
	return laid
}
