// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// FieldChange is one field of the spec that is no knob.
type FieldChange struct {
	// Field is its path below spec.
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Effect says in words what follows.
	Effect string `json:"effect"`
}

// effects of fields that are no knobs, by the beginning of their paths; the longest that fits counts.
var effects = []struct{ field, effect string }{
	{"mongodb.version", "members restart one by one with the new image"},
	{"mongodb.image", "members restart one by one with the new image"},
	{"mongodb.imagePullSecrets", "holds for pods that are made anew; restarts nobody"},
	{"shards.count", "new shards are built, initiated and added; the others are left alone"},
	{"shards.resources", "shard members restart one by one"},
	{"shards.placement", "shard members restart one by one"},
	{"configServers.resources", "config servers restart one by one"},
	{"configServers.placement", "config servers restart one by one"},
	{"mongos.replicas", "mongos pods are added or removed; no connection of the others is lost"},
	{"mongos.resources", "the mongos Deployment rolls"},
	{"mongos.placement", "the mongos Deployment rolls"},
	{"hostTuning", "settings of nodes; the documentation of the field says when"},
	{"profileRef", "the values above say what it changes"},
	{"verification", "gauges are judged anew; no member is changed"},
	{"rollout", "holds from the next step of a change on; no member is changed"},
	{"driftPolicy", "holds for the next value that is changed by hand"},
	{"deletionPolicy", "holds when the object is deleted"},
	{"dataRetention", "holds when the object is deleted"},
	{"suspend", "stops or lets go on every change"},
}

// knobBlocks hold knobs, which are compared one by one.
var knobBlocks = []string{"tuning.", "configServers.tuning.", "mongos.tuning."}

func fieldChanges(before, after v1alpha1.MongoTuningSpec) []FieldChange {
	from, to := leaves(before), leaves(after)
	both := maps.Clone(from)
	maps.Copy(both, to)
	var all []FieldChange
	for _, field := range slices.Sorted(maps.Keys(both)) {
		if from[field] == to[field] || slices.ContainsFunc(knobBlocks, func(block string) bool { return strings.HasPrefix(field, block) }) {
			continue
		}
		all = append(all, FieldChange{Field: field, From: from[field], To: to[field], Effect: effectOn(field)})
	}
	return all
}

func effectOn(field string) string {
	best, effect := 0, "the documentation of the field says what follows"
	for _, row := range effects {
		if (field == row.field || strings.HasPrefix(field, row.field+".") || strings.HasPrefix(field, row.field+"[")) && len(row.field) > best {
			best, effect = len(row.field), row.effect
		}
	}
	return effect
}

// leaves are the values of a spec by their paths; entries of lists go by their names where they have any.
func leaves(spec v1alpha1.MongoTuningSpec) map[string]string {
	encoded, _ := json.Marshal(spec) // plain structs always encode
	var document map[string]any
	_ = json.Unmarshal(encoded, &document)
	found := map[string]string{}
	collect(found, "", document)
	return found
}

func collect(found map[string]string, path string, value any) {
	switch x := value.(type) {
	case map[string]any:
		for key, inner := range x {
			collect(found, strings.TrimPrefix(path+"."+key, "."), inner)
		}
	case []any:
		for i, inner := range x {
			entry := fmt.Sprintf("%s[%d]", path, i)
			if object, ok := inner.(map[string]any); ok {
				if name, named := object["name"].(string); named {
					entry = fmt.Sprintf("%s[%s]", path, name)
				}
			}
			collect(found, entry, inner)
		}
	case string:
		found[path] = x
	default:
		found[path] = fmt.Sprint(x)
	}
}
