package host

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/metrics"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// gathered are the service's own metrics.
func (b *bench) gathered() []*dto.MetricFamily {
	b.t.Helper()
	families, err := b.Metrics().Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), "inbox_wasm_") })
}

// metric is the value of a counter or a gauge, or how often a histogram was told something, -1 where it is absent.
// The labels are written as name=value.
func (b *bench) metric(m *metrics.Metric, labels ...string) float64 {
	b.t.Helper()
	for _, f := range b.gathered() {
		if f.GetName() != m.Name {
			continue
		}
		for _, one := range f.GetMetric() {
			has := func(label string) bool {
				return slices.ContainsFunc(one.GetLabel(), func(p *dto.LabelPair) bool { return p.GetName()+"="+p.GetValue() == label })
			}
			if slices.ContainsFunc(labels, func(label string) bool { return !has(label) }) {
				continue
			}
			switch m.Kind {
			case metrics.Counter:
				return one.GetCounter().GetValue()
			case metrics.Gauge:
				return one.GetGauge().GetValue()
			default:
				return float64(one.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

// What is counted is what has happened, in every form.
func TestMetricsCount(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		b := open(t, db, declared+handler(t, "work", "jobs", "timeout = \"100ms\"\nbackoff = { initial = \"1h\", max = \"1h\" }\nclaim = 1"), untilEmpty)
		b.enqueue("jobs", "work", "ok", "drop", "trap", "loop", "ok")
		b.drain()
		for _, want := range []struct {
			metric *metrics.Metric
			labels string
			value  float64
		}{
			{metrics.Deliveries, "outcome=acked", 2},
			{metrics.Deliveries, "outcome=dropped", 1},
			{metrics.Deliveries, "outcome=delayed", 2},
			{metrics.Deliveries, "outcome=retried", 0},
			{metrics.HandlerTime, "", 5},
			{metrics.SettlementTime, "", 5},
			{metrics.ClaimedRows, "", 5},
			{metrics.ClaimErrors, "", 0},
			{metrics.SettlementsFailed, "", 0},
			{metrics.LeasesLost, "", 0},
			{metrics.InstancesCreated, "", 3},
			{metrics.InstancesDiscarded, "cause=trap", 1},
			{metrics.InstancesDiscarded, "cause=timeout", 1},
			{metrics.InstancesDiscarded, "cause=stop", 1},
			{metrics.InstancesDiscarded, "cause=reload", 0},
			{metrics.InWork, "", 0},
			{metrics.Threads, "", 1},
		} {
			labels := []string{"handler=work"}
			if want.labels != "" {
				labels = append(labels, want.labels)
			}
			if got := b.metric(want.metric, labels...); got != want.value {
				t.Errorf("%s %s is %v, want %v", want.metric.Name, want.labels, got, want.value)
			}
		}
		for _, m := range []*metrics.Metric{metrics.ClaimTime, metrics.GuestTicks, metrics.CompileTime} {
			if got := b.metric(m, "handler=work"); got <= 0 {
				t.Errorf("%s is %v", m.Name, got)
			}
		}
		if used, most := b.metric(metrics.PoolConnections, "pool=service", "state=in_use"), b.metric(metrics.PoolConnectionsMax, "pool=service"); used < 0 || most < 1 {
			t.Errorf("the pool has %v of %v connections in use", used, most)
		}
	})
}

// Every metric that is listed is there, is described as it is, and follows the conventions.
func TestMetricsFollowTheConventions(t *testing.T) {
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+handler(t, "work", "jobs", ""), func(o *Options) {
		o.Build = Build{"1.2.3", "abc", "wazero", "inbox_v1"}
	})
	b.start()
	b.enqueue("jobs", "work", "ok")
	eventually(t, "the row is handled", func() bool { return b.counts("work").Acked == 1 })
	eventually(t, "the queues are counted", func() bool { return b.metric(metrics.QueueRows) >= 0 })
	strict := prometheus.NewPedanticRegistry()
	strict.MustRegister(collector{b.Service}, b.times.handler, b.times.claim, b.times.settlement)
	if _, err := strict.Gather(); err != nil {
		t.Error(err)
	}
	families := b.gathered()
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, m := range metrics.All() {
		if !slices.Contains(names, m.Name) {
			t.Errorf("%s is not there", m.Name)
		}
	}
	if b.metric(metrics.BuildInfo, "version=1.2.3", "commit=abc", "engine=wazero", "abi=inbox_v1") != 1 {
		t.Error("the program is not named")
	}
	eventually(t, "the guest's memory is known", func() bool { return b.metric(metrics.GuestMemory, "handler=work") >= 128<<10 })
	eventually(t, "it is ready", func() bool { return b.metric(metrics.Ready) == 1 })
}

// A reload lets a handler's counts rise, and drops those of handlers that are gone.
func TestMetricsOutliveAReload(t *testing.T) {
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	r := openReloading(t, db, tables+work("")+strings.Replace(work(""), "work", "gone", 1), answering(t, 0, 0))
	r.start()
	r.enqueue("jobs", "work", "a")
	r.enqueue("jobs", "gone", "a")
	eventually(t, "both are handled", func() bool { return r.counts("work").Acked == 1 && r.counts("gone").Acked == 1 })
	r.mustReload(tables + work("timeout = \"7s\""))
	r.enqueue("jobs", "work", "b")
	eventually(t, "the next one is handled", func() bool { return r.counts("work").Acked == 2 })
	equal(t, "deliveries", r.metric(metrics.Deliveries, "handler=work", "outcome=acked"), 2)
	equal(t, "calls", r.metric(metrics.HandlerTime, "handler=work"), 2)
	equal(t, "instances", r.metric(metrics.InstancesCreated, "handler=work"), 2)
	equal(t, "instances discarded", r.metric(metrics.InstancesDiscarded, "handler=work", "cause=reload"), 1)
	for _, f := range r.gathered() {
		if strings.Contains(f.String(), `"gone"`) {
			t.Errorf("%s knows a handler that is gone", f.GetName())
		}
	}
}

var scrapes = flag.Int("scrapes", 2000, "how often the test of scrapes scrapes")

// Scrapes leave nothing behind, however many there are.
func TestScrapesLeaveMemoryFlat(t *testing.T) {
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+handler(t, "work", "jobs", ""))
	b.start()
	b.enqueue("jobs", "work", many("ok", 10)...)
	eventually(t, "the rows are handled", func() bool { return b.counts("work").Acked == 10 })
	page := promhttp.HandlerFor(b.Metrics(), promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	scrape := func(n int) uint64 {
		for range n {
			w := httptest.NewRecorder()
			if page.ServeHTTP(w, request); w.Code != http.StatusOK {
				t.Fatal(w.Body.String())
			}
		}
		runtime.GC()
		runtime.GC() // what the first one only took out of pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	tenth := scrape(*scrapes / 10)
	all := scrape(*scrapes - *scrapes/10)
	t.Logf("%d KiB after %d scrapes, %d KiB after %d", tenth>>10, *scrapes/10, all>>10, *scrapes)
	if all > tenth+tenth/10+64<<10 {
		t.Errorf("%d bytes after a tenth of the scrapes, %d after all", tenth, all)
	}
}

// What is measured of a row allocates nothing.
func TestMeasuringAllocatesNothing(t *testing.T) {
	s := &subscription{vitals: newVitals(1), counters: &counters{times: newTimings().of("work")}}
	l := &ledger{log: slog.New(slog.DiscardHandler), counters: s.counters, vitals: s.vitals, brake: &brake{now: time.Now}}
	row := newTask(&forms.Delivery{})
	v := &verdict{task: row, settlement: forms.Settlement{Delivery: row.delivery}, ended: 1}
	result := &engine.Result{Ticks: 7, Elapsed: time.Microsecond, Memory: 1 << 16}
	at := s.vitals.desk()
	if n := testing.AllocsPerRun(1000, func() {
		began := at.claim.start()
		at.claim.land()
		s.claimAnswered(began, 1)
		at.deadline.Store(int64(elapsed()))
		s.counters.called(result)
		at.grown(result.Memory)
		l.done(context.Background(), v, elapsed())
	}); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}
