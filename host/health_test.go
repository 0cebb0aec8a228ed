package host

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// noticed is how soon a service has to be seen not to be ready.
const noticed = 5 * time.Second

// rarely is a handler that polls once an hour, so that only the probes tell how it is.
func rarely(t testing.TB, table, keys string) string {
	t.Helper()
	return strings.Replace(handler(t, "work", table, keys), `"20ms"`, `"1h"`, 1)
}

// isReady waits until nothing keeps the service from its work.
func (b *bench) isReady() {
	b.t.Helper()
	eventually(b.t, "the service is ready", func() bool { return len(b.Unready()) == 0 })
}

// isUnready waits, no longer than it may take, until the service says of the handler, or of itself, why it is not ready.
func (b *bench) isUnready(handler, what string) {
	b.t.Helper()
	deadline := time.Now().Add(noticed)
	for {
		reasons := b.Unready()
		for _, r := range reasons {
			if r.Handler == handler && strings.Contains(r.What, what) {
				return
			}
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("after %s it is not said that %q, but %v", noticed, what, reasons)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// held is a session of another program.
func held(t *testing.T, db testdb.Database, statements ...string) (run func(sql string)) {
	t.Helper()
	session, err := connect(t, db).Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the database may be gone
	run = func(sql string) {
		t.Helper()
		if _, err := session.Exec(t.Context(), &dialect.Statement{SQL: sql}, 0, nil); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, sql := range statements {
		run(sql)
	}
	return run
}

// A table that somebody has locked is noticed in time, though no claim is due for an hour, and so is the end of it.
func TestALockedTableIsNoticed(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		b := open(t, db, declared+rarely(t, "jobs", "threads = 2"))
		b.start()
		b.isReady()
		locks := map[string][][]string{
			"postgres": {{"BEGIN", "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"}, {"BEGIN", "LOCK TABLE jobs IN EXCLUSIVE MODE"}},
			"mariadb":  {{"LOCK TABLES jobs WRITE"}},
			"sqlite":   {{"BEGIN EXCLUSIVE"}},
		}[db.Name]
		release := map[string]string{"postgres": "ROLLBACK", "mariadb": "UNLOCK TABLES", "sqlite": "ROLLBACK"}[db.Name]
		for _, lock := range locks {
			run := held(t, db, lock...)
			b.isUnready("work", "table jobs is locked, or the database does not answer")
			run(release)
			b.isReady()
		}
	})
}

// A server that stops is noticed in time, and so is its return.
func TestAStoppedServerIsNoticed(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *testdb.Server{"postgres": testdb.StartPostgres, "mariadb": testdb.StartMariaDB} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			db := testdb.Database{Name: name, URL: server.NewDatabase(t)}
			b := open(t, db, tables+rarely(t, "jobs", ""))
			b.start()
			b.isReady()
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			b.isUnready("", "the database does not answer")
			b.isUnready("work", "rows could not be claimed")
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.isReady()
			b.enqueue("jobs", "work", "ok")
			eventually(t, "the row is handled", func() bool { return b.counts("work").Acked == 1 })
		})
	}
}

// Claims that are refused are a reason until they are taken.
func TestRefusedClaimsAreAReason(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", ""))
		b.start()
		b.isReady()
		b.script("ALTER TABLE jobs RENAME TO elsewhere")
		b.isUnready("work", "jobs")
		b.script("ALTER TABLE elsewhere RENAME TO jobs")
		b.isReady()
	})
}

// A wrong clock is noticed in time.
func TestAWrongClockIsNoticed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		var c clock
		b := open(t, db, tables+rarely(t, "jobs", ""), func(o *Options) { o.Now = c.now })
		b.start()
		b.isReady()
		c.off.Store(int64(time.Minute))
		b.isUnready("work", "clock is off by more than a quarter of the lease")
		c.off.Store(0)
		b.isReady()
	})
}

// A handler whose module does not start yet is no reason any more when it does.
func TestAFailingStartIsAReason(t *testing.T) {
	until := time.Now().Add(3 * time.Second).UnixMilli()
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+fmt.Sprintf(
		"[handlers.work]\nmodule = %q\ntable = \"jobs\"\nconfig = { until = \"%d\" }\n", testwasm.WATFile(t, "testdata/later.wat"), until))
	equal(t, "reasons before the start", b.Unready(), []Reason{{What: "the service is not running yet"}})
	stop := b.start()
	b.isUnready("work", "no instance can be made: inbox_init refuses with code 1")
	b.isReady()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	equal(t, "reasons after the end", b.Unready(), []Reason{{What: "the service is stopping"}})
}

// blocked is a log whose reader takes nothing of the guests' lines until it is opened.
type blocked struct {
	slog.Handler
	open chan struct{}
}

func (b blocked) Handle(ctx context.Context, r slog.Record) error {
	guests := false
	r.Attrs(func(a slog.Attr) bool {
		guests = guests || a.Key == "attempt"
		return true
	})
	if guests && r.NumAttrs() == 2 { // the row and its attempt
		<-b.open
	}
	return b.Handler.Handle(ctx, r)
}

func (b blocked) WithAttrs(attrs []slog.Attr) slog.Handler {
	return blocked{b.Handler.WithAttrs(attrs), b.open}
}

// Threads whose calls do not come to their end are a reason when there is none left.
func TestStuckThreadsAreAReason(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		log := blocked{(&lines{}).logger().Handler(), make(chan struct{})}
		b := open(t, db, declared+handler(t, "work", "jobs", "threads = 2\ntimeout = \"100ms\""), func(o *Options) { o.Log = slog.New(log) })
		stop := b.start()
		b.isReady()
		b.enqueue("jobs", "work", "i")
		eventually(t, "one thread is stuck", func() bool { return b.subscriptions()[0].vitals.stuck(elapsed()) == 1 })
		for _, r := range b.Unready() {
			if strings.Contains(r.What, "stuck") {
				t.Errorf("while one thread can work: %s", r)
			}
		}
		b.enqueue("jobs", "work", "i")
		b.isUnready("work", "every thread is stuck")
		close(log.open)
		b.isReady()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Settlements that are refused are a reason until one is taken.
func TestRefusedSettlementsAreAReason(t *testing.T) {
	b := open(t, onPostgres(t), tables+handler(t, "work", "jobs", "lease = \"1s\""))
	b.script(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`)
	b.script(`CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()`)
	b.start()
	b.isReady()
	b.enqueue("jobs", "work", many("ok", 5)...)
	b.isUnready("work", "deliveries cannot be settled: ")
	b.script(`DROP TRIGGER refuse ON jobs`)
	b.isReady()
}

// A settlement that waits for a lock is a reason before it gives up.
func TestAHangingSettlementIsAReason(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, lockTables+rarely(t, "jobs", ""))
		b.start()
		b.isReady()
		lock, release := []string{"BEGIN", "LOCK TABLE plain IN SHARE MODE"}, "ROLLBACK"
		if db.Name == "mariadb" {
			lock, release = []string{"LOCK TABLES plain WRITE"}, "UNLOCK TABLES"
			b.script("CREATE TRIGGER waits BEFORE DELETE ON jobs FOR EACH ROW DELETE FROM plain")
		} else {
			b.script(`CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM plain; RETURN OLD; END $$`)
			b.script(`CREATE TRIGGER waits BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION waits()`)
		}
		run := held(t, db, lock...)
		b.enqueue("jobs", "work", "ok")
		b.isUnready("work", "a settlement has been on its way")
		run(release)
		b.isReady()
	})
}

// While deliveries have the whole pool, a claim that waits for one of them to end is no reason.
func TestDeliveriesThatHaveThePoolAreNoReason(t *testing.T) {
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+handler(t, "work", "jobs", ""))
	full, free := make(chan struct{}, 1), make(chan struct{}, 1)
	full <- struct{}{}
	if measured, ok := b.store.(store.Measured); !ok || measured.Pool().Max != 1 {
		t.Fatal("SQLite has one connection")
	}
	if !crowded(b.store, full) || crowded(b.store, free) {
		t.Error("the connection of a delivery is not told from a free one")
	}
}

// A probe runs a claim's statements, and takes nothing.
func TestProbesTakeNothing(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		b := open(t, db, declared+handler(t, "work", "jobs", "max_attempts = 3\ndead_letter = \"dead\""))
		b.enqueue("jobs", "work", "a", "b")
		columns := []string{"payload", "name", "attempt"}
		if strings.Contains(declared, "locked_until") {
			columns = append(columns, "locked_until")
		}
		before := b.rows("jobs", columns...)
		if err := b.subscriptions()[0].form.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows", b.rows("jobs", columns...), before)
		b.script("ALTER TABLE jobs RENAME TO elsewhere")
		if err := b.subscriptions()[0].form.Probe(t.Context()); err == nil {
			t.Error("a table that is not there goes unnoticed")
		}
	})
}
