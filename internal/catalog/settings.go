// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
)

// Settings are declared values by knob name.
type Settings map[string]Value

// Flatten turns an API tuning block (MongodTuning, ConfigServerTuning, MongosTuning or a nil pointer to
// one) into Settings, by the paths of the rows. It returns an error when the block holds a field that
// no row knows: a field nobody reads must not pass in silence.
func Flatten(component v1alpha1.Component, block any) (Settings, error) {
	encoded, err := json.Marshal(block)
	if err != nil {
		return nil, fmt.Errorf("read tuning of %s: %w", component, err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("read tuning of %s: %w", component, err)
	}
	settings := Settings{}
	flattenInto(settings, "", document)
	for name := range settings {
		if knob, ok := Lookup(name); !ok || !knob.AppliesTo(component) {
			return nil, fmt.Errorf("no knob %q for %s", name, component)
		}
	}
	return settings, nil
}

func flattenInto(settings Settings, prefix string, document map[string]any) {
	for key, raw := range document {
		switch x := raw.(type) {
		case map[string]any:
			flattenInto(settings, prefix+key+".", x)
		case json.Number:
			settings[prefix+key] = Value(x.String())
		default:
			if value, ok := valueOf(raw); ok {
				settings[prefix+key] = value
			}
		}
	}
}

// Effective is the value that holds for a knob: the declared one, or else the server's default; empty
// when the default depends on the machine.
func (s Settings) Effective(name string) Value {
	if value, ok := s[name]; ok {
		return value
	}
	knob, _ := Lookup(name)
	return knob.Default
}

// WiredTigerString is the full WiredTiger string for a running process: every declared key, so that
// what was sent last always says all that is in force. It is empty when nothing is declared.
func WiredTigerString(component v1alpha1.Component, settings Settings) string {
	return wiredTigerString(component, settings, func(Knob) bool { return true })
}

// StartupWiredTigerString is the configString for mongod.conf: the keys that have no option of their
// own in the file.
func StartupWiredTigerString(component v1alpha1.Component, settings Settings) string {
	return wiredTigerString(component, settings, func(knob Knob) bool { return knob.ConfigKey == "" })
}

func wiredTigerString(component v1alpha1.Component, settings Settings, include func(Knob) bool) string {
	config := WiredTigerConfig{}
	var keys []string
	for _, knob := range Knobs(component) {
		value, declared := settings[knob.Name]
		if knob.WiredTigerKey == "" || !declared || !include(knob) {
			continue
		}
		text := string(value)
		if sizeGB, ok := value.AsFloat(); ok && knob.Name == CacheSizeGB {
			text = fmt.Sprintf("%dM", CacheBytes(sizeGB)/int64(mebibyte))
		}
		config[knob.WiredTigerKey] = text
		keys = append(keys, knob.WiredTigerKey)
	}
	return wiredTigerText(keys, config)
}

// ConfigDocument is the part of a mongod.conf or mongos.conf that the settings make.
func ConfigDocument(component v1alpha1.Component, settings Settings) map[string]any {
	document := map[string]any{}
	for _, knob := range Knobs(component) {
		value, declared := settings[knob.Name]
		if !declared || knob.ConfigKey == "" || value == knob.Inert {
			continue
		}
		put(document, knob.ConfigKey, value.plain(knob.Kind))
	}
	if text := StartupWiredTigerString(component, settings); text != "" {
		put(document, "storage.wiredTiger.engineConfig.configString", text)
	}
	return document
}

func put(document map[string]any, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := document[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			document[key] = inner
		}
		document = inner
	}
	document[keys[len(keys)-1]] = value
}

// Names are the declared knobs in the order of the table.
func (s Settings) Names() []string {
	var names []string
	for _, knob := range table {
		if _, ok := s[knob.Name]; ok {
			names = append(names, knob.Name)
		}
	}
	return slices.Clip(names)
}
