// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Inserts is a book of documents that were inserted under consecutive _ids from 1 on, and of those that were
// deleted again. It is safe for concurrent use, and needs a byte for each document.
type Inserts struct {
	mu     sync.Mutex
	states []insertState
	// deletable are documents that were acknowledged and that nobody deletes yet.
	deletable []int64
	counts    WriteCounts
}

type insertState byte

const (
	insertTried insertState = iota
	insertAcknowledged
	deleteTried
	deleteAcknowledged
)

// WriteCounts are how many writes were tried and how many were acknowledged.
type WriteCounts struct {
	Tried        int64 `json:"tried"`
	Acknowledged int64 `json:"acknowledged"`
}

// Next is the _id of a document that is about to be inserted.
func (b *Inserts) Next() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states = append(b.states, insertTried)
	b.counts.Tried++
	return int64(len(b.states))
}

// Acknowledge books that the insert was acknowledged. What is not may be there or not.
func (b *Inserts) Acknowledge(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states[id-1] = insertAcknowledged
	b.counts.Acknowledged++
	b.deletable = append(b.deletable, id)
}

// Take is the _id of a document that is about to be deleted; false when there is none.
func (b *Inserts) Take() (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.deletable) == 0 {
		return 0, false
	}
	id := b.deletable[len(b.deletable)-1]
	b.deletable = b.deletable[:len(b.deletable)-1]
	b.states[id-1] = deleteTried
	return id, true
}

// AcknowledgeDelete books that the delete was acknowledged.
func (b *Inserts) AcknowledgeDelete(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states[id-1] = deleteAcknowledged
}

// Counts are the inserts so far.
func (b *Inserts) Counts() WriteCounts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Check compares the book with the _ids that are there.
func (b *Inserts) Check(present iter.Seq[int64]) Findings {
	b.mu.Lock()
	defer b.mu.Unlock()
	there := make([]bool, len(b.states))
	findings := Findings{}
	for id := range present {
		if id < 1 || id > int64(len(b.states)) {
			findings.Invented.add(id)
			continue
		}
		there[id-1] = true
	}
	for i, state := range b.states {
		switch {
		case state == insertAcknowledged && !there[i]:
			findings.Lost.add(int64(i + 1))
		case state == deleteAcknowledged && there[i]:
			findings.Returned.add(int64(i + 1))
		}
	}
	return findings
}

// Updates is a book of documents whose updates are counted within them, under the _ids from 0 to below their
// count. It is safe for concurrent use, and needs eight bytes for each document.
type Updates struct {
	mu                  sync.Mutex
	tried, acknowledged []uint32
	counts              WriteCounts
}

// NewUpdates opens a book of so many documents, which all are there and were never updated.
func NewUpdates(documents int64) *Updates {
	return &Updates{tried: make([]uint32, documents), acknowledged: make([]uint32, documents)}
}

// Try books that updates of these documents are about to be sent.
func (b *Updates) Try(ids ...int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.tried[id]++
	}
	b.counts.Tried += int64(len(ids))
}

// Acknowledge books that they were acknowledged. What is not may be done or not.
func (b *Updates) Acknowledge(ids ...int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.acknowledged[id]++
	}
	b.counts.Acknowledged += int64(len(ids))
}

// Counts are the updates so far.
func (b *Updates) Counts() WriteCounts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Counted is a document that is there and how often it says that it was updated.
type Counted struct {
	ID      int64 `bson:"_id"`
	Updates int32 `bson:"n"`
}

// Check compares the book with what is there. A document is lost when it is not there or counts fewer updates
// than were acknowledged, and invented when it counts more than were tried.
func (b *Updates) Check(present iter.Seq[Counted]) Findings {
	b.mu.Lock()
	defer b.mu.Unlock()
	there := make([]bool, len(b.tried))
	findings := Findings{}
	for document := range present {
		switch {
		case document.ID < 0 || document.ID >= int64(len(b.tried)):
			findings.Invented.add(document.ID)
			continue
		case int64(document.Updates) < int64(b.acknowledged[document.ID]):
			findings.Lost.add(document.ID)
		case int64(document.Updates) > int64(b.tried[document.ID]):
			findings.Invented.add(document.ID)
		}
		there[document.ID] = true
	}
	for id, isThere := range there {
		if !isThere {
			findings.Lost.add(int64(id))
		}
	}
	return findings
}

// Findings are where a book and the documents that are there contradict each other.
type Findings struct {
	// Lost are documents with a write that was acknowledged and is not there.
	Lost Documents `json:"lost"`
	// Returned are documents whose delete was acknowledged and that are there.
	Returned Documents `json:"returned"`
	// Invented are documents that hold what nobody wrote.
	Invented Documents `json:"invented"`
}

// Documents are some documents, the first few by their _ids.
type Documents struct {
	Count int64   `json:"count"`
	First []int64 `json:"first,omitempty"`
}

// firstFew is how many documents are named.
const firstFew = 10

func (d *Documents) add(id int64) {
	d.Count++
	if len(d.First) < firstFew {
		d.First = append(d.First, id)
	}
}

func (d Documents) plus(other Documents) Documents {
	first := slices.Concat(d.First, other.First)
	return Documents{Count: d.Count + other.Count, First: first[:min(len(first), firstFew)]}
}

func (f Findings) plus(other Findings) Findings {
	return Findings{Lost: f.Lost.plus(other.Lost), Returned: f.Returned.plus(other.Returned), Invented: f.Invented.plus(other.Invented)}
}

// Err is an error when there is any contradiction.
func (f Findings) Err() error {
	if f.Lost.Count == 0 && f.Returned.Count == 0 && f.Invented.Count == 0 {
		return nil
	}
	return fmt.Errorf("the data contradicts what was acknowledged: lost %d %v, deleted and back again %d %v, never written %d %v",
		f.Lost.Count, f.Lost.First, f.Returned.Count, f.Returned.First, f.Invented.Count, f.Invented.First)
}
