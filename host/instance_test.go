package host

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func many(payload string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = payload
	}
	return list
}

// threadLog notes which operating system thread writes a guest's line: host functions run on the guest's own.
type threadLog struct {
	slog.Handler
	mu      *sync.Mutex
	threads map[string]map[int]bool // by instance
}

func (l threadLog) Handle(ctx context.Context, r slog.Record) error {
	if name, _, found := strings.Cut(r.Message, ": "); found && len(name) == 8 {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.threads[name] == nil {
			l.threads[name] = map[int]bool{}
		}
		l.threads[name][unix.Gettid()] = true
	}
	return l.Handler.Handle(ctx, r)
}

func (l threadLog) WithAttrs(a []slog.Attr) slog.Handler {
	l.Handler = l.Handler.WithAttrs(a)
	return l
}

// n threads are n operating system threads, each with one instance for life.
func TestEachThreadHasItsOwnInstanceForLife(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		seen := threadLog{mu: new(sync.Mutex), threads: map[string]map[int]bool{}}
		b := open(t, db, tables+handler(t, "work", "jobs", "threads = 3"), untilEmpty, func(o *Options) {
			seen.Handler = o.Log.Handler()
			o.Log = slog.New(seen)
		})
		b.enqueue("jobs", "work", many("i", 60)...)
		b.drain()
		threads := map[int]bool{}
		for name, of := range seen.threads {
			if len(of) != 1 {
				t.Errorf("instance %s ran on %d threads", name, len(of))
			}
			for id := range of {
				threads[id] = true
			}
		}
		if len(seen.threads) != 3 || len(threads) != 3 {
			t.Errorf("%d instances on %d threads, want 3 on 3", len(seen.threads), len(threads))
		}
		calls := 0
		for _, n := range b.log.instances() {
			calls += n
		}
		equal(t, "calls of all instances", calls, 60)
	})
}

// What the settings say of an instance's life.
func TestInstancesAreReplaced(t *testing.T) {
	for _, test := range []struct {
		name, keys string
		payloads   []string
		instances  int
		calls      int // the most of one instance
	}{
		{"reuse", "", many("i", 20), 1, 20},
		{"fresh", `instance = "fresh"`, many("i", 20), 20, 1},
		{"recycle_after", "recycle_after = 5", many("i", 20), 4, 5},
		{"never recycled", "recycle_after = 0", many("i", 20), 1, 20},
		// The guest starts with 128 KiB and takes 512 more at each g.
		{"recycle_memory", `recycle_memory = "1MiB"`, []string{"i", "g", "i", "g", "i", "i"}, 2, 4},
		{"after a trap", "", []string{"i", "t", "i"}, 2, 2},
		{"after a deadline", `timeout = "100ms"`, []string{"i", "l", "i"}, 2, 2},
		{"after an exit", "", []string{"i", "x", "i"}, 2, 2},
		{"not after a bad outcome", "", []string{"i", "7", "i"}, 1, 3},
		{"after a growth that was refused", `memory = "512KiB"`, []string{"i", "g", "i"}, 2, 2},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "_"), func(t *testing.T) {
			b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+handler(t, "work", "jobs", test.keys), untilEmpty)
			b.enqueue("jobs", "work", test.payloads...)
			b.drain()
			names := b.log.instances()
			most := 0
			for _, n := range names {
				most = max(most, n)
			}
			if len(names) != test.instances {
				t.Errorf("%d instances, want %d: %v", len(names), test.instances, names)
			}
			if test.calls == 20 || test.calls == 1 || test.calls == 5 {
				equal(t, "calls of an instance", most, test.calls)
			}
		})
	}
}

func refuse(t *testing.T) string { return testwasm.WATFile(t, "testdata/refuse.wat") }

// A module that refuses to start claims nothing and spends no attempt; the service waits for it to be
// mended, unless it is to run until its queues are empty.
func TestAModuleThatRefusesToStart(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		toml := tables + "[handlers.work]\nmodule = '" + refuse(t) + "'\ntable = \"jobs\"\npoll_interval = \"20ms\"\n"
		b := open(t, db, toml)
		b.enqueue("jobs", "work", "a", "b")
		stop := b.start()
		eventually(t, "it says so twice", func() bool { return b.log.count("no instance could be made") >= 2 })
		if err := stop(); err != nil {
			t.Error(err)
		}
		equal(t, "rows", b.rows("jobs", "payload", "attempt", "locked_until"), "a|1|-\nb|1|-\n")

		failing := reopen(t, b.options.Config, untilEmpty)
		err := failing.Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "handler work: ") || !strings.Contains(err.Error(), "refused with code 5; reason: no api key") {
			t.Errorf("the error is %v", err)
		}
		equal(t, "rows", b.rows("jobs", "payload", "attempt", "locked_until"), "a|1|-\nb|1|-\n")
	})
}
