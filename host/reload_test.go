package host

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// reloading is a service whose configuration and modules change while it runs.
type reloading struct {
	*bench
	db   testdb.Database
	path string // of the module
}

// answering is a module that returns a code, after so many milliseconds.
func answering(t testing.TB, code, ms int) []byte {
	t.Helper()
	return testwasm.WAT(t, fmt.Sprintf(`(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "inbox_handle") (result i32)
    (i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (i64.const %d))
    (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const 1) (i32.const 600)))
    (i32.const %d)))`, ms*1_000_000, code))
}

// openReloading opens a service whose configuration has the path of a module in the place of MODULE.
func openReloading(t *testing.T, db testdb.Database, toml string, module []byte, change ...func(*Options)) *reloading {
	t.Helper()
	r := &reloading{db: db, path: filepath.Join(t.TempDir(), "module.wasm")}
	r.module(t, module)
	r.bench = open(t, db, r.toml(toml), change...)
	return r
}

func (r *reloading) toml(text string) string { return strings.ReplaceAll(text, "MODULE", r.path) }

// module puts another one in the place of the file, as a build does.
func (r *reloading) module(t testing.TB, wasm []byte) {
	t.Helper()
	if err := os.WriteFile(r.path+".new", wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		t.Fatal(err)
	}
}

// reload reads a configuration into the running service.
func (r *reloading) reload(toml string) (Reloaded, error) {
	r.t.Helper()
	return r.Reload(r.t.Context(), r.read(toml))
}

// read reads a configuration from where the first one was.
func (r *reloading) read(toml string) *config.Config {
	r.t.Helper()
	cfg, err := config.Parse(r.options.Config.Path, fmt.Appendf(nil, "[database]\nurl = %q\n%s", r.db.URL, r.toml(toml)), func(string) (string, bool) { return "", false })
	if err != nil {
		r.t.Fatal(err)
	}
	return cfg
}

func (r *reloading) mustReload(toml string) Reloaded {
	r.t.Helper()
	what, err := r.reload(toml)
	if err != nil {
		r.t.Fatal(err)
	}
	return what
}

// inWork reports whether the guest has been called with a row.
func (r *reloading) inWork() bool {
	s := r.subscriptions()[0]
	if s.inline != nil {
		batches := s.inline.inHand()
		return len(batches) == 1 && batches[0].tasks[0].deadline.Load() != 0
	}
	s.settler.mu.Lock()
	defer s.settler.mu.Unlock()
	for _, t := range s.settler.tasks {
		if t.deadline.Load() != 0 {
			return true
		}
	}
	return false
}

func work(keys string) string {
	return "[handlers.work]\nmodule = \"MODULE\"\ntable = \"jobs\"\npoll_interval = \"20ms\"\n" + keys + "\n"
}

// Modules are swapped again and again under load: each row is handled once, by the old module or the new one, and no
// call is interrupted.
func TestReloadsUnderLoadDropAndDoubleNothing(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		const rounds, rows = 12, 40
		modules := [][]byte{answering(t, 0, 5), answering(t, 3, 5)} // ack, drop
		toml := tables + work("threads = 3")
		r := openReloading(t, db, toml, modules[0])
		r.start()
		for i := range rounds {
			r.enqueue("jobs", "work", many("x", rows)...)
			eventually(t, "some rows of the round are handled", func() bool {
				c := r.counts("work")
				return c.Acked+c.Dropped > int64(i*rows)
			})
			r.module(t, modules[(i+1)%2])
			if what := r.mustReload(toml); len(what.Changed) != 1 {
				t.Fatalf("the reload did %+v", what)
			}
		}
		eventually(t, "all rows are gone", func() bool { return r.rows("jobs", "id") == "" })
		eventually(t, "all rows are counted", func() bool {
			c := r.counts("work")
			return c.Acked+c.Dropped == rounds*rows
		})
		c := r.counts("work")
		if c.Acked == 0 || c.Dropped == 0 {
			t.Errorf("one of the modules handled nothing: %+v", c)
		}
		c.Released, c.Acked, c.Dropped = 0, 0, 0
		equal(t, "what else became of rows", c, Counts{})
	})
}

// A call that runs when its module is replaced comes to its end; a row behind it is the new module's.
func TestReloadLetsCallsFinish(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		toml := tables + work("claim = 1")
		r := openReloading(t, db, toml, answering(t, 0, 700))
		r.start()
		r.enqueue("jobs", "work", "first", "second")
		eventually(t, "the first row is in work", func() bool { return r.inWork() })
		r.module(t, answering(t, 3, 0))
		r.mustReload(toml)
		eventually(t, "both rows are handled", func() bool {
			c := r.counts("work")
			return c.Acked == 1 && c.Dropped == 1
		})
		c := r.counts("work")
		if c.Interrupted+c.Retried+c.Delayed+c.Lost > 0 {
			t.Errorf("the call was not left alone: %+v", c)
		}
	})
}

// What cannot be put to work is refused with the reason, and what runs goes on.
func TestBadReloadsKeepWhatRuns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		toml := tables + work("")
		r := openReloading(t, db, toml, answering(t, 0, 0))
		r.start()
		good, err := os.ReadFile(r.path)
		if err != nil {
			t.Fatal(err)
		}
		refuse, err := os.ReadFile(testwasm.WATFile(t, filepath.Join("testdata", "refuse.wat")))
		if err != nil {
			t.Fatal(err)
		}
		other := strings.Replace(work(""), "handlers.work", "handlers.other", 1)
		acked := int64(0)
		for name, c := range map[string]struct {
			toml, want string
			module     []byte
		}{
			"no module":          {toml, "is empty", []byte{}},
			"half a module":      {toml, "is not a valid WebAssembly module", good[:len(good)/2]},
			"a start that fails": {toml, "no api key", refuse},
			"no handler":         {tables, "handlers: none is declared", good},
			"no table":           {tables + "[tables.missing]\nid = \"id\"\npayload = \"p\"\nlocked_until = \"l\"\n" + strings.Replace(other, `"jobs"`, `"missing"`, 1), "has no table missing", good},
			"another database":   {"max_connections = 7\n" + toml, "neither can while the program runs", good},
			"one of two":         {toml + strings.Replace(other, "MODULE", "MODULE.not", 1), "cannot read the module", good},
		} {
			r.module(t, c.module)
			_, err := r.reload(c.toml)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: the reload says %v, want %q", name, err, c.want)
			}
			acked++
			r.enqueue("jobs", "work", "x")
			eventually(t, "the row is handled after "+name, func() bool { return r.counts("work").Acked == acked })
		}
		r.module(t, answering(t, 3, 0))
		r.mustReload(toml)
		r.enqueue("jobs", "work", "x")
		eventually(t, "the next module takes over", func() bool { return r.counts("work").Dropped == 1 })
	})
}

// Handlers come and go, and one of which nothing has changed keeps its instance.
func TestReloadChangesWhatHasChanged(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		section := func(name, module, keys string) string {
			return fmt.Sprintf("[handlers.%s]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\n%s\n", name, module, keys)
		}
		faces := faces(t)
		first := tables + section("keep", faces, "") + section("change", faces, "config = { hello = \"red\" }\ndead_letter = \"dead\"") + section("go", faces, "")
		r := openReloading(t, db, first, answering(t, 0, 0))
		r.start()
		r.enqueue("jobs", "keep", "i")
		r.enqueue("jobs", "change", "c")
		r.enqueue("jobs", "go", "ok")
		eventually(t, "each has handled a row", func() bool {
			return r.counts("keep").Acked == 1 && r.counts("change").DeadLettered == 1 && r.counts("go").Acked == 1
		})
		what := r.mustReload(tables + section("come", faces, "") + section("change", faces, "config = { hello = \"blue\" }\ndead_letter = \"dead\"") + section("keep", faces, ""))
		equal(t, "the reload", what, Reloaded{Kept: []string{"keep"}, Changed: []string{"change"}, Added: []string{"come"}, Removed: []string{"go"}})
		r.enqueue("jobs", "keep", "i")
		r.enqueue("jobs", "change", "c")
		r.enqueue("jobs", "come", "ok")
		r.enqueue("jobs", "go", "left")
		eventually(t, "each has handled another", func() bool {
			return r.counts("keep").Acked == 2 && r.counts("change").DeadLettered == 2 && r.counts("come").Acked == 1
		})
		if n := r.log.count(": 02"); n != 1 {
			t.Errorf("the handler that did not change said %d times that its instance had a second call", n)
		}
		equal(t, "what was configured", r.query("SELECT error FROM jobs WHERE name = 'dead' ORDER BY id"), "red\nblue\n")
		equal(t, "the rows of no handler", r.rows("jobs WHERE name = 'go'", "attempt"), "1\n")
	})
}

// Two handlers with the same module, of which one is reloaded with another.
func TestCase35_ReloadOfATwin(t *testing.T) {
	db := onSQLite(t)
	wasm := answering(t, 0, 0)
	twin := filepath.Join(t.TempDir(), "twin.wasm")
	if err := os.WriteFile(twin, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	toml := tables + work("") + fmt.Sprintf("[handlers.twin]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\n", twin)
	r := openReloading(t, db, toml, wasm)
	r.start()
	for i := range int64(6) {
		r.module(t, answering(t, int(3*(i%2)), 0))
		if what := r.mustReload(toml); i > 0 && (len(what.Kept) != 1 || what.Kept[0] != "twin") {
			t.Fatalf("the reload did %+v", what)
		}
		r.enqueue("jobs", "work", "x")
		r.enqueue("jobs", "twin", "x")
		eventually(t, "both go on", func() bool {
			c := r.counts("work")
			return c.Acked+c.Dropped == i+1 && r.counts("twin").Acked == i+1
		})
	}
}

// A row of a key waits for the one before it, though a reload hashes the keys anew.
func TestReloadKeepsTheOrderOfKeys(t *testing.T) {
	db := onSQLite(t)
	toml := func(threads int) string { return tables + work(fmt.Sprintf("by_key = true\nthreads = %d", threads)) }
	slow := testwasm.WAT(t, `(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "inbox_handle") (result i32) (local $n i32)
    (local.set $n (call $payload (i32.const 1024) (i32.const 64)))
    (i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (i64.const 3000000))
    (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const 1) (i32.const 600)))
    (drop (call $log (i32.const 2) (i32.const 1024) (local.get $n)))
    (i32.const 0)))`)
	r := openReloading(t, db, toml(1), slow)
	r.start()
	const keys, each = 7, 60
	var list []forms.Message
	for i := range each {
		for k := range keys {
			key := fmt.Sprintf("key%d", k)
			list = append(list, forms.Message{Group: "work", Payload: fmt.Appendf(nil, "%s says %02d", key, i), PartitionKey: &key})
		}
	}
	r.write("jobs", list...)
	for threads := 2; threads < 6; threads++ {
		handled := r.counts("work").Acked
		eventually(t, "more rows are handled", func() bool { return r.counts("work").Acked > handled })
		r.mustReload(toml(threads))
	}
	eventually(t, "all rows are handled", func() bool { return r.counts("work").Acked == keys*each })
	next := map[string]int{}
	for _, line := range strings.Split(r.log.String(), "\n") {
		for k := range keys {
			key := fmt.Sprintf("key%d", k)
			if _, said, found := strings.Cut(line, key+" says "); found {
				if got := fmt.Sprintf("%02d", next[key]); !strings.HasPrefix(said, got) {
					t.Fatalf("%s says %.2s before %s", key, said, got)
				}
				next[key]++
			}
		}
	}
	equal(t, "keys", len(next), keys)
}

// Whoever listened goes on listening, and rows published from now on wake who reads them now.
func TestReloadKeepsListeners(t *testing.T) {
	db := onPostgres(t)
	toml := tables + strings.Replace(work("listen = true"), `"20ms"`, `"1h"`, 1)
	r := openReloading(t, db, toml, answering(t, 0, 0))
	r.script(r.store.Dialect().(dialect.Notifies).Trigger(r.subscriptions()[0].table))
	r.start()
	for i := range int64(3) {
		heard := r.log.count("msg=listening")
		r.module(t, answering(t, int(3*((i+1)%2)), 0))
		r.mustReload(toml)
		eventually(t, "the new handler listens and has looked for rows", func() bool {
			return r.log.count("msg=listening") > heard && r.subscriptions()[0].emptyClaims.Load() > 0
		})
		r.insert("work")
		eventually(t, "the row is handled", func() bool {
			c := r.counts("work")
			return c.Acked+c.Dropped == i+1
		})
	}
}

// The handlers that go on after a reload and those that are new share the pool's room, as before.
func TestReloadSharesConnections(t *testing.T) {
	db := onPostgres(t)
	tables := writingTables("")
	section := func(name, keys string) string {
		return strings.Replace(work(keys), "handlers.work", "handlers."+name, 1)
	}
	first := "max_connections = 4\n" + tables + section("one", "threads = 2") + section("two", "threads = 2")
	r := openReloading(t, db, first, answering(t, 0, 0))
	if what := r.mustReload(strings.Replace(first, "threads = 2", "threads = 3", 1)); len(what.Kept) != 1 || len(what.Changed) != 1 {
		t.Fatalf("the reload did %+v", what)
	}
	subs := r.subscriptions()
	if subs[0].connections != subs[1].connections {
		t.Error("each has connections of its own")
	}
	if n := cap(subs[0].connections); n != 3 {
		t.Errorf("%d connections are shared, of 4 with one for everything else", n)
	}
}

// A service stops in the middle of a reload as it always does.
func TestStopDuringAReload(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		toml := tables + "[runtime]\ndrain_timeout = \"100ms\"\n" + work("timeout = \"1h\"")
		r := openReloading(t, db, toml, answering(t, 0, 3_600_000))
		stop := r.start()
		r.enqueue("jobs", "work", "x")
		eventually(t, "the row is in work", func() bool { return r.inWork() })
		r.module(t, answering(t, 3, 0))
		reloaded := make(chan error, 1)
		next := r.read(toml)
		go func() {
			_, err := r.Reload(context.WithoutCancel(t.Context()), next)
			reloaded <- err
		}()
		eventually(t, "the old handler retires", func() bool {
			return r.current.Load().subscriptions[0].assets.module.Info().Size == int64(len(answering(t, 3, 0)))
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := <-reloaded; err != nil {
			t.Error(err)
		}
		equal(t, "the row", r.rows("jobs", "attempt"), "2\n")
		equal(t, "counts", r.counts("work"), Counts{Interrupted: 1})
	})
}

// A service that does not run yet, or no more, is reloaded too.
func TestReloadWhileNothingRuns(t *testing.T) {
	db := onSQLite(t)
	toml := tables + work("")
	r := openReloading(t, db, toml, answering(t, 0, 0), untilEmpty)
	r.module(t, answering(t, 3, 0))
	r.mustReload(toml)
	r.enqueue("jobs", "work", "x")
	r.drain()
	equal(t, "counts", r.counts("work"), Counts{Dropped: 1})
	r.module(t, answering(t, 0, 0))
	r.mustReload(toml)
	r.enqueue("jobs", "work", "x")
	r.drain()
	equal(t, "counts", r.counts("work"), Counts{Dropped: 1, Acked: 1})
}

// After 500 reloads a process has what it had after 50 (traefik#11119, traefik#13235).
func TestCase34_ReloadsLeaveNothing(t *testing.T) {
	db := onSQLite(t)
	toml := tables + work("threads = 2")
	modules := [][]byte{answering(t, 0, 0), answering(t, 3, 0)}
	// The lines of the log would be what grows.
	r := openReloading(t, db, toml, modules[0], func(o *Options) { o.Log = slog.New(slog.DiscardHandler) })
	r.start()
	type figures struct{ heap, goroutines, files, mappings int }
	measure := func() figures {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil && runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		mappings, err := os.ReadFile("/proc/self/maps") // compiled code is no part of the heap
		if err != nil && runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		return figures{int(m.HeapAlloc), runtime.NumGoroutine(), len(open), bytes.Count(mappings, []byte("\n"))}
	}
	var early figures
	for i := 1; i <= 500; i++ {
		r.module(t, modules[i%2])
		r.mustReload(toml)
		if i%50 == 0 {
			handled := r.counts("work")
			r.enqueue("jobs", "work", "x")
			eventually(t, "a row is handled", func() bool { return r.counts("work") != handled })
		}
		if i == 50 {
			early = measure()
		}
	}
	// The Go runtime maps an arena, or a thread's stack, when it likes; what a reload left would be hundreds.
	const arenas = 32
	late := measure()
	t.Logf("after 50 reloads %+v, after 500 %+v", early, late)
	if late.heap > early.heap*11/10 || late.goroutines > early.goroutines*11/10 || late.files > early.files*11/10 ||
		late.mappings > early.mappings*11/10+arenas {
		t.Errorf("after 50 reloads %+v, after 500 %+v", early, late)
	}
}
