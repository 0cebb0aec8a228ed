package forms_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// eachByDatabaseClock runs a test on tables that go by the database's clock, in each form that can, with
// forms whose hosts' clocks are off by some time.
func eachByDatabaseClock(t *testing.T, run func(t *testing.T, s store.Store, table *dialect.Table, form func(off time.Duration) forms.Form)) {
	t.Helper()
	each(t, func(t *testing.T, s store.Store) {
		for name, table := range map[string]*dialect.Table{"row lock": rowLocked(), "advisory": rowLocked()} {
			if _, ok := s.Dialect().(dialect.RowLock); !ok && name == "row lock" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				if name == "advisory" {
					table.Key = []dialect.KeyPart{{Literal: "jobs-"}, {Column: "id"}}
				}
				table.DatabaseClock = true
				table.Roles[dialect.ProcessedAt] = "processed_at"
				create(t, s, table)
				t.Cleanup(func() { scriptAfter(t, s, "DROP TABLE "+s.Dialect().Quote(table.Name)) })
				run(t, s, table, func(off time.Duration) forms.Form {
					now := func() time.Time { return time.Now().Add(off) }
					if name == "row lock" {
						return rowLock(t, s, table, func(o *forms.Options) { o.Now = now })
					}
					return advisory(t, s, table, func(o *forms.Options) { o.Now = now })
				})
			})
		}
	})
}

// A host whose clock is wrong neither sees rows too early nor too late, nor writes its own time.
func TestTheDatabaseClockDecides(t *testing.T) {
	eachByDatabaseClock(t, func(t *testing.T, s store.Store, table *dialect.Table, form func(time.Duration) forms.Form) {
		early, late := form(-3*time.Hour), form(3*time.Hour)
		fill(t, s, table, 2)

		rows := claim(t, early, 1)
		equal(t, "a host that is behind claims what is due", payloads(rows), "1")
		settle(t, early, forms.Done, &forms.Settlement{Delivery: rows[0], Change: forms.Return, Until: time.Now().Add(-3*time.Hour + time.Hour)})
		rows = claim(t, late, 10)
		equal(t, "a host that is ahead does not claim what is delayed", payloads(rows), "2")
		settle(t, late, forms.Done, finish(rows[0]))

		d := s.Dialect()
		since := map[string]string{
			"PostgreSQL": "extract(epoch FROM %s - statement_timestamp())::bigint::text",
			"MySQL":      "CAST(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), %s) AS CHAR)",
			"SQLite":     "CAST(CAST((julianday(%s) - julianday('now')) * 86400 AS INTEGER) AS TEXT)",
		}[d.Name()]
		within := func(what, column, where string, from, to int) {
			t.Helper()
			text := query(t, s, "SELECT "+fmt.Sprintf(since, d.Quote(column))+" FROM "+d.Quote(table.Name)+" WHERE "+where)
			got, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got < from || got > to {
				t.Errorf("%s: %d s from the database's time, want %d to %d", what, got, from, to)
			}
		}
		within("the delay", "retry_after", d.Quote("attempt")+" = 2 AND "+d.Quote("processed_at")+" IS NULL", 3500, 3600)
		within("the mark", "processed_at", d.Quote("processed_at")+" IS NOT NULL", -100, 0)
	})
}

// A delay that a writer gives starts at the database's time.
func TestTheDatabaseClockDelaysWrites(t *testing.T) {
	eachByDatabaseClock(t, func(t *testing.T, s store.Store, table *dialect.Table, form func(time.Duration) forms.Form) {
		wrong := func() time.Time { return time.Now().Add(-24 * time.Hour) }
		err := forms.NewWriter(s, table, wrong).Write(t.Context(), []forms.Message{
			{Group: "g", Payload: []byte("later"), Delay: time.Hour}, {Group: "g", Payload: []byte("now")}})
		if err != nil {
			t.Fatal(err)
		}
		f := form(0)
		rows := claim(t, f, 10)
		equal(t, "claimed", payloads(rows), "now")
		settle(t, f, forms.Done, finish(rows[0]))
	})
}

func TestTheDatabaseClockDatesDeadLetters(t *testing.T) {
	eachByDatabaseClock(t, func(t *testing.T, s store.Store, table *dialect.Table, form func(time.Duration) forms.Form) {
		fill(t, s, table, 1)
		f := form(24 * time.Hour)
		settle(t, f, forms.Done, &forms.Settlement{Delivery: claim(t, f, 1)[0], Change: forms.MoveToGroup})
		table.Roles[dialect.Group] = "group"
		dead := forms.Options{Table: table, Group: "dead", Now: time.Now}
		reader, err := forms.New(s, dead)
		if err != nil {
			t.Fatal(err)
		}
		w, err := reader.Waiting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if w.Due != 1 {
			t.Errorf("the dead letter is not due: %+v", w)
		}
	})
}
