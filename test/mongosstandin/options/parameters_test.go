// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/options"
)

func rawValue(t *testing.T, value any) bson.RawValue {
	t.Helper()
	kind, data, err := bson.MarshalValue(value)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return bson.RawValue{Type: kind, Value: data}
}

func TestParametersAreWhatTheProcessWasStartedWith(t *testing.T) {
	p, err := options.NewParameters([]int32{4, 4, 2, 0}, map[string]string{
		"ShardingTaskExecutorPoolMinSize": "10", "cursorTimeoutMillis": "5", "loadRoutingTableOnStartup": "0",
		"readHedgingMode": "off",
	})
	if err != nil {
		t.Fatalf("parameters: %v", err)
	}
	for name, want := range map[string]any{
		"ShardingTaskExecutorPoolMinSize": int32(10), "cursorTimeoutMillis": int64(5), "loadRoutingTableOnStartup": false,
		"readHedgingMode": "off", "ShardingTaskExecutorPoolMaxConnecting": int32(2),
	} {
		if got, isKnown := p.Get(name); !isKnown || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestParametersBelongToVersions(t *testing.T) {
	for _, row := range []struct {
		name    string
		version []int32
		isThere bool
	}{
		{"loadRoutingTableOnStartup", []int32{4, 2, 6, 0}, false},
		{"loadRoutingTableOnStartup", []int32{4, 4, 0, 0}, true},
		{"adaptiveServiceExecutorReservedThreads", []int32{4, 4, 29, 0}, true},
		{"adaptiveServiceExecutorReservedThreads", []int32{5, 0, 0, 0}, false},
		{"initialServiceExecutorThreadingModel", []int32{4, 4, 29, 0}, false},
		{"initialServiceExecutorThreadingModel", []int32{5, 0, 0, 0}, true},
	} {
		p, err := options.NewParameters(row.version, nil)
		if err != nil {
			t.Fatalf("parameters: %v", err)
		}
		if _, isThere := p.Get(row.name); isThere != row.isThere {
			t.Errorf("%s in %v is %v, want %v", row.name, row.version, isThere, row.isThere)
		}
	}
}

func TestParametersOfTheStartAreChecked(t *testing.T) {
	var unknown *options.UnknownParameter
	if _, err := options.NewParameters([]int32{4, 4}, map[string]string{"nosuch": "1"}); !errors.As(err, &unknown) {
		t.Errorf("error is %v, want an unknown parameter", err)
	}
	var refused *options.Refusal
	for name, bad := range map[string]string{"logLevel": "abc", "cursorTimeoutMillis": "1s", "quiet": "yes"} {
		if _, err := options.NewParameters([]int32{4, 4}, map[string]string{name: bad}); !errors.As(err, &refused) {
			t.Errorf("%s=%s gives %v, want a refusal", name, bad, err)
		}
	}
}

func TestSetChangesOnlyWhatMayChange(t *testing.T) {
	for _, row := range []struct {
		name   string
		value  any
		accept bool
	}{
		{"ShardingTaskExecutorPoolMinSize", int32(3), true},
		{"ShardingTaskExecutorPoolMinSize", 3.0, true},
		{"ShardingTaskExecutorPoolMinSize", int64(1) << 40, false},
		{"ShardingTaskExecutorPoolMinSize", "3", false},
		{"cursorTimeoutMillis", int64(1) << 40, true},
		{"quiet", true, true},
		{"quiet", int32(1), true},
		{"quiet", "true", false},
		{"readHedgingMode", "off", true},
		{"readHedgingMode", int32(1), false},
		{"connPoolMaxConnsPerHost", int32(1), false},
		{"nosuch", int32(1), false},
	} {
		p, err := options.NewParameters([]int32{4, 4}, nil)
		if err != nil {
			t.Fatalf("parameters: %v", err)
		}
		before, _ := p.Get(row.name)
		was, err := p.Set(row.name, rawValue(t, row.value))
		if (err == nil) != row.accept {
			t.Errorf("%s = %v gives %v, want acceptance %v", row.name, row.value, err, row.accept)
		}
		if err == nil && was != before {
			t.Errorf("%s was %v, answered %v", row.name, before, was)
		}
	}
}
