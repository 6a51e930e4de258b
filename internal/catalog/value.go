// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"math"
	"strconv"
)

// Value is a knob's value in canonical text: "75", "false", "0.25", "adaptive". Two values of one knob
// are the same setting exactly when Knob.Same says so.
type Value string

// Int makes a Value of a whole number.
func Int(n int64) Value { return Value(strconv.FormatInt(n, 10)) }

// Bool makes a Value of a truth value.
func Bool(b bool) Value { return Value(strconv.FormatBool(b)) }

// Decimal makes a Value of a decimal number, in the fewest digits that keep it.
func Decimal(f float64) Value { return Value(strconv.FormatFloat(f, 'f', -1, 64)) }

// rounded is Decimal without the noise of binary fractions: 0.29 times 100 is 29.
func rounded(f float64) Value { return Decimal(math.Round(f*1e6) / 1e6) }

// AsFloat is the value as a number; ok is false when it is none.
func (v Value) AsFloat() (f float64, ok bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// AsInt is the value as a whole number; ok is false when it is none.
func (v Value) AsInt() (n int64, ok bool) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// plain is the value as a YAML or BSON scalar of the knob's kind.
func (v Value) plain(kind Kind) any {
	switch kind {
	case KindInteger:
		if n, ok := v.AsInt(); ok {
			return n
		}
	case KindDecimal:
		if f, ok := v.AsFloat(); ok {
			return f
		}
	case KindBoolean:
		return v == "true"
	case KindEnum, KindList, KindText:
	}
	return string(v)
}

// valueOf is the canonical text of a decoded JSON, YAML or BSON scalar. Servers report one figure as
// int32, int64 or double depending on version, so all numbers are taken.
func valueOf(raw any) (Value, bool) {
	switch x := raw.(type) {
	case bool:
		return Bool(x), true
	case string:
		return Value(x), true
	case int:
		return Int(int64(x)), true
	case int32:
		return Int(int64(x)), true
	case int64:
		return Int(x), true
	case float64:
		return Decimal(x), true
	default:
		return "", false
	}
}
