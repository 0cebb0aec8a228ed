package host

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// A user that lacks a right is refused at the start, not found out by the first settlement.
func TestMissingRightsStopTheStart(t *testing.T) {
	db := onPostgres(t)
	b := open(t, db, tables+handler(t, "work", "jobs", `dead_letter = "dead_jobs"`))
	b.script(`DROP ROLE IF EXISTS ` + role(db))
	b.script(`CREATE ROLE ` + role(db) + ` LOGIN`)
	t.Cleanup(func() { b.after(`DROP OWNED BY ` + role(db)); b.after(`DROP ROLE ` + role(db)) })
	b.script(`GRANT SELECT, INSERT ON jobs, dead_jobs TO ` + role(db))
	cfg := parse(t, testdb.Database{Name: db.Name, URL: strings.Replace(db.URL, "postgres://postgres@", "postgres://"+role(db)+"@", 1)},
		tables+handler(t, "work", "jobs", `dead_letter = "dead_jobs"`))
	_, err := Open(t.Context(), Options{Config: cfg, Log: b.log.logger()})
	if want := "no right to UPDATE, DELETE on table jobs"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q", err, want)
	}
	b.script(`GRANT UPDATE, DELETE ON jobs TO ` + role(db))
	b.script(`REVOKE INSERT ON jobs FROM ` + role(db))
	cfg.Handlers[0].Allow.Publish = []*config.Table{cfg.Table("jobs")}
	_, err = Open(t.Context(), Options{Config: cfg, Log: b.log.logger()})
	if want := "handlers.work.allow.publish: the database's user has no right to INSERT on table jobs"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q", err, want)
	}
	cfg.Handlers[0].Allow.Publish = nil
	b.script(`REVOKE INSERT ON dead_jobs FROM ` + role(db))
	_, err = Open(t.Context(), Options{Config: cfg, Log: b.log.logger()})
	if want := "no right to INSERT on table dead_jobs"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q", err, want)
	}
}

// role is a role of the test's own: roles belong to the server.
func role(db testdb.Database) string {
	return "app_" + db.URL[strings.LastIndex(db.URL, "/")+1:][:14]
}

func (b *bench) after(sql string) {
	if err := b.store.Script(context.WithoutCancel(b.t.Context()), sql); err != nil {
		b.t.Error(err)
	}
}

// A row that goes back unhandled, which the database takes, releases nothing.
func TestBrakeIsReleasedByOutcomesAlone(t *testing.T) {
	log := (&lines{}).logger()
	b := &brake{log: log, now: time.Now}
	l := &ledger{log: log, counters: &counters{}, vitals: newVitals(1), brake: b}
	b.press()
	row := newTask(&forms.Delivery{})
	for _, o := range []outcome{released, interrupted} {
		l.done(t.Context(), &verdict{task: row, settlement: forms.Settlement{Delivery: row.delivery}, outcome: o}, 0)
		if _, trial := b.left(); !trial {
			t.Errorf("the brake is off after a row was %s", o)
		}
	}
	l.done(t.Context(), &verdict{task: row, settlement: forms.Settlement{Delivery: row.delivery}, outcome: retried}, 0)
	if pause, trial := b.left(); trial || pause > 0 {
		t.Error("the brake is on after an outcome was settled")
	}
}

// While the brake is on, one claim a pause is let through, however long its settlement takes.
func TestBrakeLetsOneTrialThroughAPause(t *testing.T) {
	now := time.Now()
	b := &brake{log: (&lines{}).logger(), now: func() time.Time { return now }}
	b.press()
	if pause, _ := b.left(); pause != firstPause {
		t.Errorf("the first pause has %v left", pause)
	}
	now = now.Add(firstPause)
	for _, want := range []time.Duration{0, firstPause, firstPause} {
		if pause, trial := b.left(); pause != want || !trial {
			t.Errorf("%v is left and trial is %v, want %v", pause, trial, want)
		}
	}
	b.press() // what the trial came to
	if pause, _ := b.left(); pause != 2*firstPause {
		t.Errorf("the second pause has %v left", pause)
	}
}

// While the database refuses every settlement, claims pause more and more, so that good rows are not
// handled and spent again and again; when it takes them again, all goes on.
func TestRefusedSettlementsPauseClaims(t *testing.T) {
	for _, form := range []string{"lease", "row lock"} {
		t.Run(form, func(t *testing.T) {
			toml := tables + handler(t, "work", "jobs", "threads = 4\nlease = \"1s\"")
			if form == "row lock" {
				toml = strings.Replace(toml, "lease = \"1s\"", "", 1)
				toml = strings.Replace(toml, "locked_until = \"locked_until\"\n", "", 1)
			}
			b := open(t, onPostgres(t), toml)
			b.script(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`)
			b.script(`CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()`)
			b.enqueue("jobs", "work", many("ok", 50)...)
			b.start()
			eventually(t, "claims have paused several times", func() bool { return b.log.count("claims pause") >= 4 })
			handled := b.subscriptions()[0].counters.handled.Load()
			if handled > 60 {
				t.Errorf("%d calls were made for nothing", handled)
			}
			b.script(`DROP TRIGGER refuse ON jobs`)
			eventually(t, "all rows are settled", func() bool { return b.counts("work").Acked == 50 })
			if b.log.count("settlements work again") == 0 {
				t.Error("nobody said that it works again")
			}
		})
	}
}
