package web

import (
	"math"

	dto "github.com/prometheus/client_model/go"

	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/metrics"
)

// histogram is a distribution as the page computes percentiles from: the difference between two of them is that of the
// time between.
type histogram struct {
	Count   uint64   `json:"count"`
	Sum     float64  `json:"sum_seconds"`
	Buckets []bucket `json:"buckets"`
}

// bucket counts what was at most so long; everything is in the count of the whole.
type bucket struct {
	UpTo  float64 `json:"le"`
	Count uint64  `json:"count"`
}

// measures are the metrics of a moment, for the lookups of a view.
type measures map[string][]*dto.Metric

func newMeasures(families []*dto.MetricFamily) measures {
	m := measures{}
	for _, f := range families {
		m[f.GetName()] = f.GetMetric()
	}
	return m
}

// label is the value of a metric's label.
func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// gauge is the value of a gauge of a handler, 0 where there is none.
func (m measures) gauge(name, handler string) float64 {
	for _, metric := range m[name] {
		if label(metric, "handler") == handler {
			return metric.GetGauge().GetValue()
		}
	}
	return 0
}

// distribution is a histogram of a handler.
func (m measures) distribution(name, handler string) histogram {
	h := histogram{Buckets: []bucket{}}
	for _, metric := range m[name] {
		if label(metric, "handler") != handler {
			continue
		}
		d := metric.GetHistogram()
		h.Count, h.Sum = d.GetSampleCount(), d.GetSampleSum()
		for _, b := range d.GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) {
				h.Buckets = append(h.Buckets, bucket{b.GetUpperBound(), b.GetCumulativeCount()})
			}
		}
	}
	return h
}

// depth is what waits for a handler; nil where nobody has counted its table.
func (m measures) depth(h host.HandlerStatus) *depth {
	var d depth
	counted := false
	reads := func(metric *dto.Metric) bool {
		group := label(metric, "group")
		return label(metric, "table") == h.Table && (h.Group == "" || h.Group == config.EveryGroup || h.Group == group)
	}
	buries := func(metric *dto.Metric) bool {
		return label(metric, "table") == h.DeadTable && (h.DeadGroup == "" || h.DeadGroup == label(metric, "group"))
	}
	for _, metric := range m[metrics.QueueRows.Name] {
		n := int64(metric.GetGauge().GetValue())
		state := admin.State(label(metric, "state"))
		counted = counted || label(metric, "table") == h.Table
		switch {
		case state == admin.Dead:
			if buries(metric) {
				d.Dead += n
			}
		case !reads(metric):
		case state == admin.Due:
			d.Due += n
		case state == admin.Delayed:
			d.Delayed += n
		case state == admin.InWork:
			d.InWork += n
		}
	}
	if !counted {
		return nil
	}
	for _, metric := range m[metrics.QueueOldestAge.Name] {
		if age := metric.GetGauge().GetValue(); reads(metric) && age > 0 && (d.OldestAge == nil || age > *d.OldestAge) {
			d.OldestAge = &age
		}
	}
	return &d
}
