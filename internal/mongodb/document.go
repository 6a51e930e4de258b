// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"fmt"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// document is a server's answer in plain Go values: string, bool, int64, float64, time.Time, Timestamp,
// map[string]any and []any. Its questions answer nil, or the empty value, for what is absent or of another type.
type document map[string]any

// Timestamp is the time of an operation as replication counts it.
type Timestamp struct {
	// Seconds since 1970.
	Seconds uint32
	// Increment tells operations of one second apart.
	Increment uint32
}

// Time is the timestamp with a resolution of one second.
func (t Timestamp) Time() time.Time { return time.Unix(int64(t.Seconds), 0).UTC() }

// documentOf decodes an answer.
func documentOf(raw bson.Raw) (document, error) {
	elements, err := raw.Elements()
	if err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	decoded := make(document, len(elements))
	for _, element := range elements {
		value, err := plain(element.Value())
		if err != nil {
			return nil, err
		}
		decoded[element.Key()] = value
	}
	return decoded, nil
}

// plain decodes one value. Types that no decision is made on become their text.
func plain(value bson.RawValue) (any, error) {
	switch value.Type {
	case bson.TypeDouble:
		return value.Double(), nil
	case bson.TypeInt32:
		return int64(value.Int32()), nil
	case bson.TypeInt64:
		return value.Int64(), nil
	case bson.TypeString:
		return value.StringValue(), nil
	case bson.TypeBoolean:
		return value.Boolean(), nil
	case bson.TypeNull, bson.TypeUndefined:
		return nil, nil //nolint:nilnil // null is a value, and this is how it is said
	case bson.TypeDateTime:
		return value.Time().UTC(), nil
	case bson.TypeTimestamp:
		seconds, increment := value.Timestamp()
		return Timestamp{Seconds: seconds, Increment: increment}, nil
	case bson.TypeEmbeddedDocument:
		inner, err := documentOf(value.Document())
		return map[string]any(inner), err
	case bson.TypeArray:
		return plainArray(value)
	default:
		return value.String(), nil
	}
}

func plainArray(value bson.RawValue) (any, error) {
	values, err := value.Array().Values()
	if err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	decoded := make([]any, 0, len(values))
	for _, inner := range values {
		element, err := plain(inner)
		if err != nil {
			return nil, err
		}
		decoded = append(decoded, element)
	}
	return decoded, nil
}

// section is the document at a path, nil when there is none.
func (d document) section(path ...string) document {
	at := map[string]any(d)
	for _, key := range path {
		inner, ok := at[key].(map[string]any)
		if !ok {
			return nil
		}
		at = inner
	}
	return at
}

// number is a figure as a whole number, whatever type the server sent it in. Not-a-number, infinities and what
// does not fit are absent: some versions send such in fields that they do not maintain.
func (d document) number(key string) *int64 {
	switch value := d[key].(type) {
	case int64:
		return &value
	case float64:
		if math.IsNaN(value) || value < math.MinInt64 || value >= math.MaxInt64 {
			return nil
		}
		whole := int64(value)
		return &whole
	default:
		return nil
	}
}

// decimal is a figure as a decimal number.
func (d document) decimal(key string) *float64 {
	switch value := d[key].(type) {
	case int64:
		converted := float64(value)
		return &converted
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil
		}
		return &value
	default:
		return nil
	}
}

// flag is a truth value; servers also send 1 and 0 for it.
func (d document) flag(key string) *bool {
	if value, ok := d[key].(bool); ok {
		return &value
	}
	if number := d.number(key); number != nil {
		value := *number != 0
		return &value
	}
	return nil
}

// is tells whether a truth value is there and true.
func (d document) is(key string) bool {
	value := d.flag(key)
	return value != nil && *value
}

// text is a string, nil when it is absent.
func (d document) text(key string) *string {
	if value, ok := d[key].(string); ok {
		return &value
	}
	return nil
}

// word is a string, empty when it is absent.
func (d document) word(key string) string {
	value, _ := d[key].(string)
	return value
}

// moment is a point in time; the beginning of 1970, which servers send for "never", counts as absent.
func (d document) moment(key string) *time.Time {
	value, ok := d[key].(time.Time)
	if !ok || value.Unix() <= 0 {
		return nil
	}
	return &value
}

// list is the documents of an array.
func (d document) list(key string) []document {
	values, _ := d[key].([]any)
	var documents []document
	for _, value := range values {
		if inner, ok := value.(map[string]any); ok {
			documents = append(documents, inner)
		}
	}
	return documents
}

// words is the strings of an array.
func (d document) words(key string) []string {
	values, _ := d[key].([]any)
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// value dereferences a figure that its sender always sends; absent it is the zero of its type.
func value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
