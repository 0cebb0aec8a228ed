// Package metrics lists what a service tells Prometheus.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Kind is a metric's type, as Prometheus names it.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is one of the service's metrics, with a value for each combination of its labels.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	Unit   string // of its values
	Help   string
	// Buckets are those of a histogram.
	Buckets []float64

	desc *prometheus.Desc
}

// all are the metrics in the order in which they are declared.
var all []*Metric

// All lists every metric.
func All() []*Metric { return all }

// prefix starts every name.
const prefix = "inbox_wasm_"

func declare(kind Kind, name, unit, help string, labels ...string) *Metric {
	m := &Metric{Name: prefix + name, Kind: kind, Labels: labels, Unit: unit, Help: help}
	m.desc = prometheus.NewDesc(m.Name, help, labels, nil)
	all = append(all, m)
	return m
}

func timing(name, help string) *Metric {
	m := declare(Histogram, name, "seconds", help, "handler")
	// From a handler that looks at its row to one that waits for others.
	m.Buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	return m
}

// Desc describes the metric to a registry.
func (m *Metric) Desc() *prometheus.Desc { return m.desc }

// Value is what a counter or a gauge is now, for the values of its labels in their order.
func (m *Metric) Value(v float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if m.Kind == Counter {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(m.desc, kind, v, labels...)
}

// Observed makes the histogram, which keeps what it is told.
func (m *Metric) Observed() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Buckets}, m.Labels)
}
