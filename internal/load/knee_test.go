// SPDX-License-Identifier: Apache-2.0

package load

import "testing"

func TestKnee(t *testing.T) {
	for _, row := range []struct {
		name      string
		perSecond []float64
		want      Knee
	}{
		{"throughput stops growing", []float64{100, 195, 380, 500, 505, 498}, Knee{Threads: 8, PerSecond: 500, Reached: true}},
		{"throughput falls", []float64{100, 200, 150, 90}, Knee{Threads: 2, PerSecond: 200, Reached: true}},
		{"it grows to the end", []float64{100, 190, 360}, Knee{Threads: 4, PerSecond: 360}},
		{"one step without growth is no knee yet", []float64{100, 190, 191}, Knee{Threads: 2, PerSecond: 190}},
		{"a bad moment does not end it", []float64{100, 190, 150, 400, 401, 402}, Knee{Threads: 8, PerSecond: 400, Reached: true}},
		{"growth of 5 % is none", []float64{100, 105, 105}, Knee{Threads: 1, PerSecond: 100, Reached: true}},
		{"growth of 6 % is some", []float64{100, 106}, Knee{Threads: 2, PerSecond: 106}},
		{"small steps add up against the best before them", []float64{100, 104, 110, 111}, Knee{Threads: 4, PerSecond: 110}},
		{"one step", []float64{100}, Knee{Threads: 1, PerSecond: 100}},
		{"nothing works", []float64{0, 0, 0}, Knee{Threads: 1, PerSecond: 0, Reached: true}},
		{"no steps", nil, Knee{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var steps []Result
			for i, perSecond := range row.perSecond {
				steps = append(steps, Result{Threads: 1 << i, Total: OperationResult{PerSecond: perSecond}})
			}
			if got := KneeOf(steps); got != row.want {
				t.Errorf("%+v, wanted %+v", got, row.want)
			}
		})
	}
}
