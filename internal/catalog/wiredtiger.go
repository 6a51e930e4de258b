// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
)

// WiredTigerConfig is a WiredTiger configuration string taken apart: key to value, nested keys dotted.
type WiredTigerConfig map[string]string

// ParseWiredTiger takes a WiredTiger string such as "eviction=(threads_min=4,threads_max=8),cache_size=1G"
// apart. Later keys win, as in WiredTiger; empty parts between commas are passed over. It returns an
// error when brackets do not match.
func ParseWiredTiger(text string) (WiredTigerConfig, error) {
	config := WiredTigerConfig{}
	return config, parseWiredTigerInto(config, "", text)
}

func parseWiredTigerInto(config WiredTigerConfig, prefix, text string) error {
	parts, err := splitTopLevel(text)
	if err != nil {
		return err
	}
	for _, part := range parts {
		key, value, hasValue := strings.Cut(strings.TrimSpace(part), "=")
		key = prefix + strings.TrimSpace(key)
		value = strings.TrimSpace(value)
		switch {
		case key == prefix:
			continue
		case !hasValue:
			config[key] = "true"
		case strings.HasPrefix(value, "(") && strings.HasSuffix(value, ")"):
			if err := parseWiredTigerInto(config, key+".", value[1:len(value)-1]); err != nil {
				return err
			}
		default:
			config[key] = value
		}
	}
	return nil
}

// splitTopLevel cuts at the commas that stand outside of brackets.
func splitTopLevel(text string) ([]string, error) {
	var parts []string
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, text[start:i])
				start = i + 1
			}
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("brackets of the WiredTiger string %q do not match", text)
	}
	return append(parts, text[start:]), nil
}

// wiredTigerText joins keys in the order of the table, nested ones under their bracket.
func wiredTigerText(keys []string, config WiredTigerConfig) string {
	var parts []string
	nested := map[string][]string{}
	place := map[string]int{}
	for _, key := range keys {
		outer, inner, isNested := strings.Cut(key, ".")
		if !isNested {
			parts = append(parts, key+"="+config[key])
			continue
		}
		if _, known := place[outer]; !known {
			place[outer] = len(parts)
			parts = append(parts, "")
		}
		nested[outer] = append(nested[outer], inner+"="+config[key])
	}
	for outer, i := range place {
		parts[i] = outer + "=(" + strings.Join(nested[outer], ",") + ")"
	}
	return strings.Join(parts, ",")
}
