package host

import (
	"context"
	"log/slog"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// handling runs one delivery after the other on a thread, from its claim to its settlement's answer, without the database.
func handling(t testing.TB, traces trace.TracerProvider) (one func()) {
	t.Helper()
	cfg := parse(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+handler(t, "work", "jobs", "recycle_after = 0"))
	create(t, connect(t, testdb.Database{URL: cfg.Database.URL.Reveal()}), cfg)
	s, err := Open(t.Context(), Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Traces: traces})
	if err != nil {
		t.Fatal(err)
	}
	sub := s.subscriptions()[0]
	sub.service = t.Context()
	on := sub.newThread(0)
	if err := on.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		on.close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	tasks := []*task{newTask(&forms.Delivery{ID: forms.ID{int64(7)}, Attempt: 1, Payload: []byte("ok")})}
	ctx := context.Background()
	return func() {
		tasks[0].expires.Store(time.Now().Add(time.Minute).UnixNano())
		sub.traced(tasks, 1)
		for _, v := range on.handleAll(ctx, tasks) {
			sub.settler.done(ctx, &v, v.ended)
		}
	}
}

// Without traces a delivery allocates nothing for them, nor for its metrics.
func TestDeliveriesAllocateNothing(t *testing.T) {
	one := handling(t, nil)
	if n := testing.AllocsPerRun(2000, one); n > 0 {
		t.Errorf("%v allocations a delivery", n)
	}
}

func BenchmarkDelivery(b *testing.B) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()))
	defer func() { _ = provider.Shutdown(context.Background()) }()
	for name, traces := range map[string]trace.TracerProvider{"without traces": nil, "with traces": provider} {
		b.Run(name, func(b *testing.B) {
			one := handling(b, traces)
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
		})
	}
}
