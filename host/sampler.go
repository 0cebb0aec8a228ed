package host

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/metrics"
)

const (
	// sampleEvery is how often the rows of the tables are counted, and sampleShare which part of the time that may take
	// at most.
	sampleEvery = 10 * time.Second
	sampleShare = 10
	// sampleTimeout bounds a count, and briefSampleTimeout one that leaves no connection to anything else.
	sampleTimeout      = 30 * time.Second
	briefSampleTimeout = 2 * time.Second
	// sampleConnections is how many connections a count takes.
	sampleConnections = 2
)

// sampler counts what waits in the tables for the metrics, beside their scrapes.
type sampler struct {
	service *Service
	once    sync.Once
	wanted  chan struct{} // closed when somebody wants to know
	last    atomic.Pointer[sample]
}

// sample is a count.
type sample struct{ queues []*sampledQueue }

// want has the sampler count from now on.
func (s *sampler) want() { s.once.Do(func() { close(s.wanted) }) }

// run counts until ctx ends, and then forgets what it has counted.
func (s *sampler) run(ctx context.Context) {
	defer s.last.Store(nil)
	select {
	case <-s.wanted:
	case <-ctx.Done():
		return
	}
	failed := false
	for {
		took, err := s.count(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failed:
			s.service.options.Log.Warn("the rows of the tables could not be counted for the metrics; trying again", "error", err)
		}
		failed = err != nil
		if !rest(ctx, pauseAfter(took)) {
			return
		}
	}
}

// pauseAfter is how long nothing is counted after a count.
func pauseAfter(took time.Duration) time.Duration { return max(sampleEvery, sampleShare*took) - took }

// count takes a sample. It takes the place of deliveries in the pool, so that what is left of the pool for everything
// else stays so.
func (s *sampler) count(ctx context.Context) (took time.Duration, err error) {
	g := s.service.current.Load()
	timeout := sampleTimeout
	if cap(g.connections) < sampleConnections {
		timeout = briefSampleTimeout
	}
	for range min(sampleConnections, cap(g.connections)) {
		select {
		case g.connections <- struct{}{}:
			defer func() { <-g.connections }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	tables, err := g.admin.Stats(bounded)
	if err != nil {
		s.last.Store(nil) // what was counted before says nothing about now
		return time.Since(began), err
	}
	counted := &sample{}
	for i := range tables {
		counted.queues = append(counted.queues, sampled(&tables[i], s.service.options.Now())...)
	}
	s.last.Store(counted)
	return time.Since(began), nil
}

func (s *sampler) collect(ch chan<- prometheus.Metric) {
	if sample := s.last.Load(); sample != nil {
		for _, q := range sample.queues {
			for state, rows := range q.rows {
				ch <- metrics.QueueRows.Value(float64(rows), q.table, q.group, string(state))
			}
			ch <- metrics.QueueOldestAge.Value(q.age.Seconds(), q.table, q.group)
		}
	}
}

// sampledQueue is what waits in a group of a table.
type sampledQueue struct {
	table, group string // as labels
	rows         map[admin.State]int64
	age          time.Duration
}

// maxSampledGroups bounds the groups of a table that have metrics of their own; otherGroups are the rest of them.
const (
	maxSampledGroups = 200
	otherGroups      = "(other groups)"
)

// sampled adds up what has one label: no group and one that is empty, and what is beyond the bound.
func sampled(t *admin.TableStats, now time.Time) []*sampledQueue {
	var queues []*sampledQueue
	byGroup := map[string]*sampledQueue{}
	for i := range t.Groups {
		g, group := &t.Groups[i], ""
		if g.Group != nil {
			group = strings.ToValidUTF8(*g.Group, "\uFFFD")
		}
		if byGroup[group] == nil && len(byGroup) >= maxSampledGroups {
			group = otherGroups
		}
		q := byGroup[group]
		if q == nil {
			q = &sampledQueue{table: t.Table, group: group, rows: map[admin.State]int64{}}
			byGroup[group] = q
			queues = append(queues, q)
		}
		q.rows[admin.Due] += g.Due
		q.rows[admin.Delayed] += g.Delayed
		q.rows[admin.InWork] += g.InWork
		q.rows[admin.Dead] += g.Dead
		q.rows[admin.Processed] += g.Processed
		q.age = max(q.age, g.Age(now))
	}
	return queues
}
