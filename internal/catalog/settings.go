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
		knob, ok := Lookup(name)
		if !ok && strings.HasPrefix(name, setParametersPrefix) {
			continue // Check says why that parameter cannot be set
		}
		if !ok || knob.Fixed || !knob.AppliesTo(component) {
			return nil, fmt.Errorf("no knob %q for %s", name, component)
		}
	}
	return settings, nil
}

// flattenParameters takes the items of setParameters, each a name and a value.
func flattenParameters(settings Settings, items []any) {
	for _, item := range items {
		parameter, _ := item.(map[string]any)
		name, _ := parameter["name"].(string)
		value, _ := parameter["value"].(string)
		settings[setParametersPrefix+name] = Value(value)
	}
}

// listValue is the text of a list of words, in its order.
func listValue(items []any) Value {
	words := make([]string, 0, len(items))
	for _, item := range items {
		words = append(words, fmt.Sprint(item))
	}
	return Value(strings.Join(words, ","))
}

func flattenInto(settings Settings, prefix string, document map[string]any) {
	for key, raw := range document {
		switch x := raw.(type) {
		case map[string]any:
			flattenInto(settings, prefix+key+".", x)
		case []any:
			if prefix+key+"." == setParametersPrefix {
				flattenParameters(settings, x)
				continue
			}
			settings[prefix+key] = listValue(x)
		case json.Number:
			settings[prefix+key] = Value(x.String())
		default:
			if value, ok := valueOf(raw); ok {
				settings[prefix+key] = value
			}
		}
	}
}

// Declares tells whether a knob is declared.
func (s Settings) Declares(name string) bool {
	_, declared := s[name]
	return declared
}

// On is the value that holds for a knob on a release line: the declared one, or else the server's
// default there; empty when that depends on the machine.
func (s Settings) On(line Line, name string) Value {
	knob, _ := Lookup(name)
	return s.effectiveOn(knob.On(line))
}

// effectiveOn is On for a row that is already that of the line.
func (s Settings) effectiveOn(knob Knob) Value {
	if value, ok := s[knob.Name]; ok {
		return value
	}
	return knob.Default
}

// RuntimeWiredTigerString is the full WiredTiger string for a running process: every key that the line
// has, undeclared ones with the server's default. So what was sent last always says all that is in
// force, and a value that is no longer declared does not stay, whatever the process was started with.
func RuntimeWiredTigerString(component v1alpha1.Component, line Line, settings Settings) string {
	return wiredTigerString(KnobsOn(component, line), settings.effectiveOn)
}

// StartupWiredTigerString is the configString for mongod.conf: the declared keys that have no option of
// their own in the file.
func StartupWiredTigerString(component v1alpha1.Component, line Line, settings Settings) string {
	return wiredTigerString(KnobsOn(component, line), func(knob Knob) Value {
		if knob.ConfigKey != "" {
			return ""
		}
		return settings[knob.Name]
	})
}

// wiredTigerString joins the keys of the rows for which there is a value.
func wiredTigerString(rows []Knob, valueOf func(Knob) Value) string {
	config := WiredTigerConfig{}
	var keys []string
	for _, knob := range rows {
		value := valueOf(knob)
		if knob.WiredTigerKey == "" || value == "" {
			continue
		}
		config[knob.WiredTigerKey] = string(value)
		if knob.Name == CacheSizeGB {
			config[knob.WiredTigerKey] = cacheText(value)
		}
		keys = append(keys, knob.WiredTigerKey)
	}
	return wiredTigerText(keys, config)
}

// cacheText is cacheSizeGB as WiredTiger takes it.
func cacheText(value Value) string {
	sizeGB, _ := value.AsFloat()
	return fmt.Sprintf("%dM", CacheBytes(sizeGB)/int64(mebibyte))
}

// ConfigDocument is the part of a mongod.conf or mongos.conf that the settings make on a release line.
func ConfigDocument(component v1alpha1.Component, line Line, settings Settings) map[string]any {
	document := map[string]any{}
	for _, knob := range KnobsOn(component, line) {
		value, declared := settings[knob.Name]
		switch {
		case !declared || value == knob.Inert:
		case knob.ConfigKey != "":
			put(document, knob.ConfigKey, knob.server(value))
		case knob.Parameter:
			put(document, "setParameter."+knob.MongoDBName, knob.server(value))
		}
	}
	if text := StartupWiredTigerString(component, line, settings); text != "" {
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
