package main

import "math"

const (
	smallest  = 1e-4
	perDecade = 50
	decades   = 10
)

// histogram has the classes of harness/statistics.mjs.
type histogram struct {
	Counts []int64 `json:"counts"`
	Max    float64 `json:"max"`
	Sum    float64 `json:"sum"`
	Count  int64   `json:"count"`
}

func newHistogram() *histogram {
	return &histogram{Counts: make([]int64, perDecade*decades+1)}
}

func (h *histogram) add(ms float64) {
	class := 0
	if ms > smallest {
		class = int(math.Ceil(math.Log10(ms/smallest) * perDecade))
	}
	h.Counts[min(class, len(h.Counts)-1)]++
	h.Count++
	h.Sum += ms
	h.Max = max(h.Max, ms)
}

func (h *histogram) merge(other *histogram) {
	for i, count := range other.Counts {
		h.Counts[i] += count
	}
	h.Count += other.Count
	h.Sum += other.Sum
	h.Max = max(h.Max, other.Max)
}
