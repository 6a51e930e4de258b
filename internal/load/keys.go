// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Keys is which documents are asked for.
type Keys string

// The ways to choose documents.
const (
	// Uniform asks for every document as often as for any other.
	Uniform Keys = "uniform"
	// Zipfian asks for few documents often and for most of them seldom, as YCSB does: the k-th most popular
	// document is chosen in proportion to 1/k^0.99, and popular ones lie anywhere.
	Zipfian Keys = "zipfian"
)

// chooser chooses a document from 0 to below their count. Each thread has its own source of randomness.
type chooser interface {
	choose(random *rand.Rand) int64
}

func newChooser(keys Keys, documents int64) (chooser, error) {
	switch keys {
	case Uniform:
		return uniform(documents), nil
	case Zipfian:
		return newZipf(documents), nil
	default:
		return nil, fmt.Errorf("unknown choice of keys %q: uniform or zipfian", keys)
	}
}

type uniform int64

func (u uniform) choose(random *rand.Rand) int64 { return random.Int64N(int64(u)) }

// zipfExponent is YCSB's ZIPFIAN_CONSTANT. The generator of the standard library takes exponents over 1 only.
const zipfExponent = 0.99

// zipf draws from a Zipf distribution by the method of Gray, Sundaresan, Englert, Baclawski and Weinberger,
// "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994, section 3.2.
type zipf struct {
	count                int64
	zeta, second, spread float64
	shift                float64
}

func newZipf(count int64) *zipf {
	zeta := zetaOf(count)
	return &zipf{
		count:  count,
		zeta:   zeta,
		second: 1 + math.Pow(0.5, zipfExponent),
		spread: 1 / (1 - zipfExponent),
		shift:  (1 - math.Pow(2/float64(count), 1-zipfExponent)) / (1 - zetaOf(2)/zeta),
	}
}

// zetaOf is the sum of 1/k^0.99 for k from 1 to n.
func zetaOf(n int64) float64 {
	sum := 0.0
	for k := range n {
		sum += math.Pow(float64(k+1), -zipfExponent)
	}
	return sum
}

// rank is 0 for the most popular.
func (z *zipf) rank(random *rand.Rand) int64 {
	u := random.Float64()
	switch scaled := u * z.zeta; {
	case scaled < 1:
		return 0
	case scaled < z.second && z.count > 1:
		return 1
	}
	rank := int64(float64(z.count) * math.Pow(z.shift*u-z.shift+1, z.spread))
	return min(max(rank, 0), z.count-1)
}

// choose spreads the popular ones: neighbours would share pages of the storage engine.
func (z *zipf) choose(random *rand.Rand) int64 {
	return int64(hash(z.rank(random)^spreading) % uint64(z.count)) //nolint:gosec // counts are positive and the rest is below
}

// spreading keeps the place of a popular document independent of the shard that it is on.
const spreading = 0x5bd1e995

// route is the target that a document is on, when there is no router to know it.
func route(id int64, targets int) int {
	return int(hash(id) % uint64(targets)) //nolint:gosec // counts are positive and the rest is below
}

// hash is FNV-1a with 64 bits, which is the same in every process and every release.
func hash(id int64) uint64 {
	h := fnv.New64a()
	var bytes [8]byte
	for i := range bytes {
		bytes[i] = byte(id >> (8 * i)) //nolint:gosec // the byte at this place
	}
	_, _ = h.Write(bytes[:]) // never fails
	return h.Sum64()
}
