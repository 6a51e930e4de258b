// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Operation is one kind of work.
type Operation int

// The operations. The first six are those of the stress test that this tool repeats: what is updated, inserted
// or deleted there is looked up first, so each of these is two round trips.
const (
	// FindFirst reads one document by its _id.
	FindFirst Operation = iota
	// FindIn reads 40 documents by a list of their _ids.
	FindIn
	// Find reads the 100 to 10100 documents that follow an _id.
	Find
	// FindUpdate reads a document by its _id and then updates it.
	FindUpdate
	// FindInsert reads a document by its _id and then inserts it into the copy collection under an _id of its own.
	FindInsert
	// FindDelete reads a document of the copy collection by its _id and then deletes it.
	FindDelete
	// Update updates one document by its _id, in one round trip.
	Update
	// BulkUpdate updates many documents by their _ids in one round trip, in no order.
	BulkUpdate

	operationCount = int(BulkUpdate) + 1
)

var operationNames = [operationCount]string{
	FindFirst: "find_first", FindIn: "find_in", Find: "find", FindUpdate: "find_update",
	FindInsert: "find_insert", FindDelete: "find_delete", Update: "update", BulkUpdate: "bulk_update",
}

// String is the operation's name in mixes and reports.
func (o Operation) String() string { return operationNames[o] }

// Operations are all of them, in the order of reports.
func Operations() []Operation {
	all := make([]Operation, operationCount)
	for i := range all {
		all[i] = Operation(i)
	}
	return all
}

// Mix is how often each operation is chosen, in parts of the sum.
type Mix struct {
	weights [operationCount]int
	sum     int
}

// maxWeight bounds a part, so that the sum cannot overflow.
const maxWeight = 1_000_000

// presets are mixes with a name. YCSB's workloads A, B and C read and update single documents; its client library
// calls that 50/50, 95/5 and 100/0.
var presets = map[string]string{
	"six":    "find_first=1,find_in=1,find=1,find_update=1,find_insert=1,find_delete=1",
	"ycsb-a": "find_first=50,update=50",
	"ycsb-b": "find_first=95,update=5",
	"ycsb-c": "find_first=1",
}

// IsYCSB tells whether a mix is one of YCSB's workloads, whose keys follow a Zipf distribution.
func IsYCSB(mix string) bool { return strings.HasPrefix(mix, "ycsb-") }

// ParseMix reads a mix: the name of a preset (six, ycsb-a, ycsb-b, ycsb-c), of an operation, or a list like
// find_first=95,update=5, in parts of 0 to 1000000.
func ParseMix(text string) (Mix, error) {
	if preset, ok := presets[text]; ok {
		text = preset
	}
	mix := Mix{}
	seen := map[Operation]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, weightText, hasWeight := strings.Cut(strings.TrimSpace(part), "=")
		operation, err := operationNamed(name)
		if err != nil {
			return Mix{}, err
		}
		if seen[operation] {
			return Mix{}, fmt.Errorf("mix %q names %s twice", text, name)
		}
		seen[operation] = true
		weight := 1
		if hasWeight {
			weight, err = strconv.Atoi(weightText)
			if err != nil || weight < 0 || weight > maxWeight {
				return Mix{}, fmt.Errorf("mix %q: the part of %s is %q, and has to be a whole number from 0 to %d", text, name, weightText, maxWeight)
			}
		}
		mix.weights[operation] = weight
		mix.sum += weight
	}
	if mix.sum == 0 {
		return Mix{}, fmt.Errorf("mix %q consists of nothing", text)
	}
	return mix, nil
}

func operationNamed(name string) (Operation, error) {
	index := slices.Index(operationNames[:], name)
	if index < 0 {
		return 0, fmt.Errorf("unknown operation or mix %q: six, ycsb-a, ycsb-b, ycsb-c, or one or more of %s", name, strings.Join(operationNames[:], ", "))
	}
	return Operation(index), nil
}

// Has tells whether the operation is ever chosen.
func (m Mix) Has(operation Operation) bool { return m.weights[operation] > 0 }

// Writes tells whether anything is changed.
func (m Mix) Writes() bool {
	return slices.ContainsFunc([]Operation{FindUpdate, FindInsert, FindDelete, Update, BulkUpdate}, m.Has)
}

// String is the mix as ParseMix reads it.
func (m Mix) String() string {
	var parts []string
	for i, weight := range m.weights {
		if weight > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", Operation(i), weight))
		}
	}
	return strings.Join(parts, ",")
}

// pick chooses an operation.
func (m Mix) pick(random *rand.Rand) Operation {
	at := random.IntN(m.sum)
	for i, weight := range m.weights {
		if at < weight {
			return Operation(i)
		}
		at -= weight
	}
	panic("the parts of a mix are its sum")
}
