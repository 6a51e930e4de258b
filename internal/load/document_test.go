// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestDocumentsHaveExactlyTheirSize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{MinDocument, SmallDocument, 100, LargeDocument, 1 << 20} {
		texts, err := newTexts(size, random)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{0, 1, math.MaxInt64} {
			for _, updates := range []int32{0, math.MaxInt32} {
				bytes, err := bson.Marshal(document(id, updates, texts.any(random)))
				if err != nil {
					t.Fatal(err)
				}
				if len(bytes) != size {
					t.Errorf("document %d with %d updates has %d bytes, wanted %d", id, updates, len(bytes), size)
				}
			}
		}
	}
}

func TestSizesThatNoDocumentHas(t *testing.T) {
	for _, size := range []int{-1, 0, MinDocument - 1, MaxDocument + 1} {
		if _, err := newTexts(size, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "from 34 to 4194304") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestTextsDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	texts, err := newTexts(SmallDocument, random)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 100 {
		seen[texts.any(random)] = true
	}
	if len(seen) < 95 {
		t.Errorf("%d texts of 100 are different", len(seen))
	}
}
