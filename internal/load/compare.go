// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
)

// Comparison is two targets, or one before and after a change, under the same load.
type Comparison struct {
	Baseline Result `json:"baseline"`
	Result   Result `json:"result"`
	// Ratios of the result to the baseline, one for each kind of operation and the last for all.
	Ratios []Ratio `json:"ratios"`
	// Rounds in which both were measured, one after the other. The more, the less does a busy moment count.
	Rounds int `json:"rounds"`
}

// Ratio is one figure of the result divided by that of the baseline; 0 when the baseline has none.
type Ratio struct {
	Name      string  `json:"name"`
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	P999      float64 `json:"p999"`
	// Lowest and Highest ratio of operations per second in any one round: how far rounds are from each other.
	Lowest  float64 `json:"perSecondLowest"`
	Highest float64 `json:"perSecondHighest"`
}

// Compare runs the same stage on the baseline and on the other load in turns, so that what else happens on the
// machines meets both.
func Compare(ctx context.Context, baseline, other *Load, stage Stage, rounds int) (Comparison, error) {
	if err := within("rounds", int64(rounds), 1, roundsLimit); err != nil {
		return Comparison{}, err
	}
	var before, after []Result
	for round := 0; round < rounds && (ctx.Err() == nil || round == 0); round++ {
		turns := []struct {
			load *Load
			into *[]Result
		}{{baseline, &before}, {other, &after}}
		// Whoever goes first may have the cold caches.
		if round%2 == 1 {
			turns[0], turns[1] = turns[1], turns[0]
		}
		for _, turn := range turns {
			result, err := turn.load.Run(ctx, stage)
			if err != nil {
				return Comparison{}, err
			}
			result.Target = turn.load.targets[0].name
			*turn.into = append(*turn.into, result)
		}
	}
	return comparisonOf(before, after), nil
}

// comparisonOf compares the same number of rounds.
func comparisonOf(before, after []Result) Comparison {
	c := Comparison{Baseline: joined(before), Result: joined(after), Rounds: len(before)}
	c.Ratios = ratiosOf(c.Baseline, c.Result)
	for i := range c.Ratios {
		for round := range before {
			ratio := ratiosOf(before[round], after[round])
			at := ratioNamed(ratio, c.Ratios[i].Name).PerSecond
			if round == 0 {
				c.Ratios[i].Lowest, c.Ratios[i].Highest = at, at
			}
			c.Ratios[i].Lowest, c.Ratios[i].Highest = min(c.Ratios[i].Lowest, at), max(c.Ratios[i].Highest, at)
		}
	}
	return c
}

// CompareResults compares two results that were measured at different times.
func CompareResults(baseline, other Result) (Comparison, error) {
	if len(baseline.Operations) == 0 || len(other.Operations) == 0 {
		return Comparison{}, errors.New("one of the two results measured nothing")
	}
	c := Comparison{Baseline: baseline, Result: other, Ratios: ratiosOf(baseline, other), Rounds: 1}
	for i := range c.Ratios {
		c.Ratios[i].Lowest, c.Ratios[i].Highest = c.Ratios[i].PerSecond, c.Ratios[i].PerSecond
	}
	return c, nil
}

func ratiosOf(baseline, other Result) []Ratio {
	var ratios []Ratio
	for _, to := range append(append([]OperationResult{}, other.Operations...), other.Total) {
		from, exists := baseline.operation(to.Name)
		if !exists {
			continue
		}
		ratios = append(ratios, Ratio{
			Name:      to.Name,
			PerSecond: quotient(to.PerSecond, from.PerSecond),
			P50:       quotient(to.Latency.P50, from.Latency.P50),
			P99:       quotient(to.Latency.P99, from.Latency.P99),
			P999:      quotient(to.Latency.P999, from.Latency.P999),
		})
	}
	return ratios
}

func ratioNamed(ratios []Ratio, name string) Ratio {
	for _, ratio := range ratios {
		if ratio.Name == name {
			return ratio
		}
	}
	return Ratio{}
}

func (r Result) operation(name string) (OperationResult, bool) {
	if name == r.Total.Name {
		return r.Total, true
	}
	for _, operation := range r.Operations {
		if operation.Name == name {
			return operation, true
		}
	}
	return OperationResult{}, false
}

func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
