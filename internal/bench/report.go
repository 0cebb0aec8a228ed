package bench

import (
	"errors"
	"slices"
	"time"
)

// Report is what a run came to.
type Report struct {
	Database  string    `json:"database"`
	Rows      int       `json:"rows"`
	Payload   int       `json:"payload"`
	Rounds    int       `json:"rounds"`
	Results   []Result  `json:"results"`
	Latencies []Latency `json:"latencies,omitempty"`
}

// Spread is the middle of the rounds, and their ends.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Result is one contestant's, of all rounds.
type Result struct {
	Form    Form   `json:"form"`
	Workers int    `json:"workers"`
	Name    string `json:"name"`
	// Rows are those settled in a second.
	Rows Spread `json:"rows_per_second"`
	// Ratio is the host's rows a second to these, round by round; Host is the contestant that it is of. Absent for the
	// host itself.
	Ratio *Spread `json:"host_ratio,omitempty"`
	Host  string  `json:"host,omitempty"`
	// Medians of a row's share. What cannot be told is absent.
	CPU          *float64 `json:"cpu_seconds_per_row,omitempty"`
	DatabaseCPU  *float64 `json:"database_cpu_seconds_per_row,omitempty"`
	Transactions *float64 `json:"transactions_per_row,omitempty"`
	Connections  *float64 `json:"connections_per_row,omitempty"`
	Sessions     *float64 `json:"connections,omitempty"` // of a drain
	Allocations  *float64 `json:"allocations_per_row,omitempty"`
}

// Latency is how long rows took from the commit of their insert to their settlement.
type Latency struct {
	Form    Form    `json:"form"`
	Workers int     `json:"workers"`
	Load    string  `json:"load"`            // half of what the host reached, or none: idle
	Rate    float64 `json:"rows_per_second"` // as they were written
	Rows    int     `json:"rows"`
	// In seconds.
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// results collects the rounds of the contestants of a form.
type results struct {
	form    Form
	workers int
	list    []contestant
	rounds  [][]drained // by contestant
}

func newResults(f Form, workers int, list []contestant) *results {
	return &results{f, workers, list, make([][]drained, len(list))}
}

func (r *results) add(contestant int, d drained) {
	r.rounds[contestant] = append(r.rounds[contestant], d)
}

// rates are the rows a second of a contestant, round by round.
func (r *results) rates(contestant int) []float64 {
	var list []float64
	for _, d := range r.rounds[contestant] {
		list = append(list, float64(d.rows)/d.seconds)
	}
	return list
}

// capacity is what the host reached.
func (r *results) capacity() float64 { return spread(r.rates(0)).Median }

func (report *Report) add(r *results) {
	for i, c := range r.list {
		result := Result{Form: r.form, Workers: r.workers, Name: c.name, Rows: spread(r.rates(i)), Host: c.host}
		if c.host != "" {
			host := r.rates(slices.IndexFunc(r.list, func(other contestant) bool { return other.name == c.host }))
			for round, rate := range r.rates(i) {
				host[round] /= rate
			}
			result.Ratio = new(spread(host))
		}
		median := func(of func(drained) *float64) *float64 {
			var list []float64
			for _, d := range r.rounds[i] {
				if v := of(d); v != nil {
					list = append(list, *v)
				}
			}
			if len(list) == 0 {
				return nil
			}
			return new(spread(list).Median)
		}
		share := func(of func(drained) *float64) *float64 {
			return median(func(d drained) *float64 {
				v := of(d)
				if v == nil {
					return nil
				}
				return new(*v / float64(d.rows))
			})
		}
		result.CPU = share(func(d drained) *float64 { return d.cpu })
		result.DatabaseCPU = share(func(d drained) *float64 { return d.databaseCPU })
		result.Transactions = share(func(d drained) *float64 { return d.transactions })
		result.Sessions = median(func(d drained) *float64 { return d.sessions })
		result.Connections = share(func(d drained) *float64 { return d.sessions })
		result.Allocations = share(func(d drained) *float64 { return d.allocations })
		report.Results = append(report.Results, result)
	}
}

// addLatency adds the times of rows, which are sorted.
func (report *Report) addLatency(l Latency, times []time.Duration) error {
	if len(times) == 0 {
		return errors.New("no settlement was logged")
	}
	l.Rows = len(times)
	l.P50, l.P95, l.P99, l.Max = percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.99), percentile(times, 1)
	report.Latencies = append(report.Latencies, l)
	return nil
}

func spread(list []float64) Spread {
	sorted := slices.Sorted(slices.Values(list))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = (middle + sorted[len(sorted)/2-1]) / 2
	}
	return Spread{middle, sorted[0], sorted[len(sorted)-1]}
}

// percentile of times that are sorted.
func percentile(sorted []time.Duration, p float64) float64 {
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)].Seconds()
}
