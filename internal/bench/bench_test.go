package bench

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestInterruptedRunsLeaveNothing interrupts a run within a drain of each contestant.
func TestInterruptedRunsLeaveNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for _, f := range []Form{Lease, Advisory} {
			for last := range 2 {
				ctx, interrupt := context.WithCancel(t.Context())
				_, err := Run(ctx, Options{
					URL: db.URL, Databases: databases.Builtin(), Forms: []Form{f}, Workers: []int{2}, Rows: 50_000, Payload: 100, Rounds: 1, Limit: 500 * time.Millisecond,
					Log: slog.DiscardHandler,
					Progress: func(done, _ int, _ string) {
						if done == last {
							time.AfterFunc(100*time.Millisecond, interrupt)
						}
					},
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: the error is %v", f, err)
				}
				s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 1})
				if err != nil {
					t.Fatal(err)
				}
				for _, sql := range []string{"CREATE TABLE " + tableName + " (id integer)", "DROP TABLE " + tableName} {
					if err := s.Script(t.Context(), sql); err != nil {
						t.Errorf("%s: the table is there still: %v", f, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestPayloads(t *testing.T) {
	for _, size := range []int{0, 100, 10_240} {
		b := &bench{Options: Options{Payload: size}}
		for _, n := range []int{0, 7, 1_000_000} {
			p := b.payload(n)
			var v struct{ Number int }
			if err := json.Unmarshal(p, &v); err != nil || v.Number != n {
				t.Errorf("payload %d is %s: %v", n, p, err)
			}
			if size > 0 && len(p) != size {
				t.Errorf("payload %d has %d bytes and not %d", n, len(p), size)
			}
		}
	}
}

// TestTheHandlerIsItsSource compares the module that is carried with one that is built anew.
func TestTheHandlerIsItsSource(t *testing.T) {
	built := testwasm.C(t, "handler/handler.c")
	b := &bench{dir: t.TempDir(), Options: Options{URL: "sqlite:none.db", Payload: 100}}
	if err := b.handler(); err != nil {
		t.Fatal(err)
	}
	carried := b.Module
	for payload, want := range map[string]string{
		string(b.payload(7)):        "ack",
		`{"text":"","to":"\u0041"}`: "ack",
		`{"text":"x"}`:              "drop nobody to write to",
		`{"to":""}`:                 "drop nobody to write to",
		`{"to":"a"`:                 "drop no JSON",
		``:                          "drop no JSON",
	} {
		for _, b.Module = range []string{carried, built} {
			cfg, err := b.config(Lease, setup{workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			invoked, err := host.Invoke(t.Context(), cfg, host.Invocation{
				Handler: cfg.Handlers[0], Message: &engine.Message{Payload: []byte(payload)}, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			got := invoked.Result.Code.String()
			if invoked.Result.Reason != "" {
				got += " " + invoked.Result.Reason
			}
			if got != want {
				t.Errorf("%s: %s is %s and not %s", b.Module, payload, got, want)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		list []float64
		want Spread
	}{
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{3, 1, 2}, Spread{2, 1, 3}},
		{[]float64{4, 1, 3, 2}, Spread{2.5, 1, 4}},
	} {
		if diff := cmp.Diff(test.want, spread(test.list)); diff != "" {
			t.Errorf("%v: got +, want -\n%s", test.list, diff)
		}
	}
}

// TestRatiosAreOfTheSameRound has a machine that is twice as slow in one round, for both.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	r := newResults(Lease, 1, []contestant{{name: "host"}, {name: "loop", host: "host"}})
	for _, seconds := range []float64{1, 2, 1} {
		r.add(0, drained{rows: 300, seconds: seconds})
		r.add(1, drained{rows: 100, seconds: seconds})
	}
	var report Report
	report.add(r)
	if diff := cmp.Diff(&Spread{3, 3, 3}, report.Results[1].Ratio); diff != "" {
		t.Errorf("got +, want -\n%s", diff)
	}
}

func TestKeys(t *testing.T) {
	for keys, want := range map[int]string{0: "5", 1: "0", 3: "2"} {
		b := &bench{Options: Options{Keys: keys}}
		if got := b.key(5); got != want {
			t.Errorf("row 5 of %d keys has key %s and not %s", keys, got, want)
		}
	}
}
