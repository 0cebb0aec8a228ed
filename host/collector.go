package host

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/metrics"
)

// Build is the program, as its metrics name it.
type Build struct{ Version, Commit, Engine, ABI string }

// Metrics is what the service tells Prometheus. A scrape asks nothing of the database: what waits there is counted while
// the service runs, once somebody has asked for its metrics.
func (s *Service) Metrics() prometheus.Gatherer {
	s.sampler.want()
	return s.metrics
}

func (s *Service) gatherer() prometheus.Gatherer {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{s}, s.times.handler, s.times.claim, s.times.settlement,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// timings are the histograms of every handler.
type timings struct{ handler, claim, settlement *prometheus.HistogramVec }

// times are those of one handler.
type times struct{ handler, claim, settlement prometheus.Observer }

func newTimings() *timings {
	return &timings{metrics.HandlerTime.Observed(), metrics.ClaimTime.Observed(), metrics.SettlementTime.Observed()}
}

func (t *timings) of(handler string) times {
	return times{t.handler.WithLabelValues(handler), t.claim.WithLabelValues(handler), t.settlement.WithLabelValues(handler)}
}

// forget drops what was kept of a handler that is gone.
func (t *timings) forget(handler string) {
	for _, vec := range []*prometheus.HistogramVec{t.handler, t.claim, t.settlement} {
		vec.DeleteLabelValues(handler)
	}
}

// collector reads what the service counts anyway, when it is asked.
type collector struct{ service *Service }

// Describe implements [prometheus.Collector].
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range metrics.All() {
		if m.Kind != metrics.Histogram {
			ch <- m.Desc()
		}
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.service
	b := s.options.Build
	ch <- metrics.BuildInfo.Value(1, b.Version, b.Commit, b.Engine, b.ABI)
	ch <- metrics.Ready.Value(oneIf(len(s.Unready()) == 0))
	collectPool(ch, "service", s.store)
	for _, sub := range s.subscriptions() {
		sub.collect(ch)
	}
	s.sampler.collect(ch)
}

func (s *subscription) collect(ch chan<- prometheus.Metric) {
	name, c := s.handler.Name, s.counters
	for o := range outcomeCount {
		ch <- metrics.Deliveries.Value(float64(c.outcomes[o].Load()), name, o.String())
	}
	for why := range causeCount {
		ch <- metrics.InstancesDiscarded.Value(float64(c.discarded[why].Load()), name, causeNames[why])
	}
	for _, one := range []struct {
		metric *metrics.Metric
		value  float64
	}{
		{metrics.ClaimedRows, float64(c.claimed.Load())},
		{metrics.ClaimErrors, float64(c.claimErrors.Load())},
		{metrics.SettlementsFailed, float64(c.unsettled.Load())},
		{metrics.LeasesLost, float64(c.lost.Load())},
		{metrics.InstancesCreated, float64(c.created.Load())},
		{metrics.GuestTicks, float64(c.ticks.Load())},
		{metrics.InWork, float64(s.inWork())},
		{metrics.Threads, float64(s.handler.Threads)},
		{metrics.Paused, oneIf(s.paused.on())},
		{metrics.GuestMemory, float64(s.vitals.memory())},
		{metrics.CompileTime, s.assets.module.Info().CompileTime.Seconds()},
	} {
		ch <- one.metric.Value(one.value, name)
	}
	if s.assets.guests != nil {
		collectPool(ch, "handlers."+name, s.assets.guests)
	}
}

// collectPool tells of a store's connections, where it knows them.
func collectPool(ch chan<- prometheus.Metric, name string, s store.Store) {
	measured, ok := s.(store.Measured)
	if !ok {
		return
	}
	p := measured.Pool()
	ch <- metrics.PoolConnections.Value(float64(p.InUse), name, "in_use")
	ch <- metrics.PoolConnections.Value(float64(p.Idle), name, "idle")
	ch <- metrics.PoolConnectionsMax.Value(float64(p.Max), name)
}

// inWork is how many rows are claimed and not settled.
func (s *subscription) inWork() int {
	if s.inline == nil {
		return s.settler.inHand()
	}
	n := 0
	for _, b := range s.inline.inHand() {
		n += len(b.tasks)
	}
	return n
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
