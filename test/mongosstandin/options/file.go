// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// values holds settings by their path. Numbers are int32, as mongos shows them; below setParameter all are strings.
type values map[string]any

// readFile adds the settings of a YAML configuration file. A setting that is there already came from a flag and stays.
func (v values) readFile(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // An empty file is a valid one.
		}
		return refusef("Error parsing YAML config file: %v", err)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return refusef("Error parsing YAML config file: one document is expected")
	}
	top := root.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		return refusef("Error parsing YAML config file: the top level is no map")
	}
	fromFile := values{}
	if err := fromFile.readMap("", top); err != nil {
		return err
	}
	for path, value := range fromFile {
		if _, isSet := v[path]; !isSet {
			v[path] = value
		}
	}
	return nil
}

func (v values) readMap(prefix string, node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		path, value := prefix+node.Content[i].Value, node.Content[i+1]
		switch value.Kind {
		case yaml.MappingNode:
			if err := v.readMap(path+".", value); err != nil {
				return err
			}
		case yaml.ScalarNode:
			if err := v.readScalar(path, value); err != nil {
				return err
			}
		default:
			return refusef("Unrecognized option: %s", path)
		}
	}
	return nil
}

func (v values) readScalar(path string, node *yaml.Node) error {
	if _, isSet := v[path]; isSet {
		return refusef("Error parsing YAML config file: duplicate key: %s", path)
	}
	if parent, _, isParameter := strings.Cut(path, "."); isParameter && parent == "setParameter" {
		v[path] = node.Value
		return nil
	}
	if strings.HasPrefix(path, "systemLog.component.") && strings.HasSuffix(path, ".verbosity") {
		return v.set(option{path: path, kind: kindInt}, node.Value)
	}
	o, isKnown := optionByPath(path)
	if !isKnown {
		return refusef("Unrecognized option: %s", path)
	}
	if node.Tag == "!!null" {
		return nil // A key without a value says nothing, as with mongos.
	}
	if o.kind == kindMap {
		return refusef("Error parsing option %q: a map is expected", path)
	}
	return v.set(o, node.Value)
}

// set stores one value, given as text, in the type of its option.
func (v values) set(o option, text string) error {
	switch o.kind {
	case kindInt:
		number, err := strconv.ParseInt(text, 0, 32)
		if err != nil {
			return refusef("Error parsing option %q as int: Did not consume whole string.", o.path)
		}
		v[o.path] = int32(number)
	case kindBool:
		if text != "true" && text != "false" {
			return refusef("Error parsing option %q as bool: %q is neither true nor false", o.path, text)
		}
		v[o.path] = text == "true"
	case kindString:
		v[o.path] = text
	case kindMap:
		name, value, hasValue := strings.Cut(text, "=")
		if !hasValue || name == "" {
			return refusef("Illegal option assignment: %q", text)
		}
		path := o.path + "." + name
		if _, isSet := v[path]; isSet {
			return refusef("Key Value Option: %s has a duplicate key: %s", o.path, name)
		}
		v[path] = value
	}
	return nil
}
