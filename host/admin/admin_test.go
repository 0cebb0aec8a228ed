package admin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// desk is an Admin on a database of its own.
type desk struct {
	*Admin
	t     *testing.T
	store store.Store
}

const jobs = `
[tables.jobs]
id = "id"
group = "name"
priority = "priority"
partition_key = "customer"
retry_after = "retry_after"
attempt = "attempt"
processed_at = "processed_at"
locked_until = "locked_until"
headers = "headers"
payload = "payload"
error = "error"
created_at = "created_at"
`

// open makes the declared tables, and an Admin on them.
func open(t *testing.T, db testdb.Database, toml string) *desk {
	t.Helper()
	data := fmt.Sprintf("[database]\nurl = %q\n%s", db.URL, toml)
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "inbox.toml"), []byte(data), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, declared := range cfg.Tables {
		schema := s.Dialect().Schema(declared.Declared())
		if err := s.Script(t.Context(), schema.Table); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(t.Context(), s, cfg, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{a, t, s}
}

func (d *desk) exec(statements ...string) {
	d.t.Helper()
	for _, sql := range statements {
		if err := d.store.Script(d.t.Context(), sql); err != nil {
			d.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// enqueue writes rows, whose payloads are their own numbers.
func (d *desk) enqueue(table, group string, from, to int) {
	d.t.Helper()
	declared := d.config.Table(table)
	messages := make([]forms.Message, 0, to-from+1)
	for i := from; i <= to; i++ {
		messages = append(messages, forms.Message{Group: group, Payload: fmt.Append(nil, i)})
	}
	if err := forms.NewWriter(d.store, d.tables[declared], time.Now).Write(d.t.Context(), messages); err != nil {
		d.t.Fatal(err)
	}
}

// ids are the keys and states of rows, in the order of the list.
func (d *desk) ids(table string, q Query) string {
	d.t.Helper()
	rows, err := d.Peek(d.t.Context(), table, q)
	if err != nil {
		d.t.Fatal(err)
	}
	var parts []string
	for _, r := range rows {
		parts = append(parts, r.ID+":"+string(r.State))
	}
	return strings.Join(parts, " ")
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const work = `
[handlers.emails]
module = "m.wasm"
table = "jobs"
dead_letter = "failed"
max_attempts = 3
[handlers.texts]
module = "m.wasm"
table = "jobs"
`

// states puts rows 1 to 6 of group emails into a state each: due, due with a lease that ended, delayed, in work, dead,
// processed.
func (d *desk) states() {
	d.t.Helper()
	d.enqueue("jobs", "emails", 1, 6)
	d.exec(
		"UPDATE jobs SET locked_until = '2001-01-01 00:00:00' WHERE id = 2",
		"UPDATE jobs SET retry_after = '2101-01-01 00:00:00' WHERE id = 3",
		"UPDATE jobs SET locked_until = '2101-01-01 00:00:00' WHERE id = 4",
		"UPDATE jobs SET name = 'failed', attempt = 3, error = 'no such address' WHERE id = 5",
		"UPDATE jobs SET processed_at = '2001-01-01 00:00:00' WHERE id = 6",
	)
}

func TestStats(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		d.states()
		d.exec("UPDATE jobs SET retry_after = '2026-01-02 03:04:05' WHERE id = 2", "UPDATE jobs SET retry_after = '2025-01-02 03:04:05' WHERE id IN (5, 6)")
		stats, err := d.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		oldest := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		emails, failed, texts := "emails", "failed", "texts"
		want := []TableStats{{Table: "jobs", Form: "lease", InWorkKnown: true, Groups: []GroupStats{
			{Group: &emails, Handlers: []string{"emails"}, Due: 2, Delayed: 1, InWork: 1, Processed: 1, Oldest: &oldest},
			{Group: &failed, Handlers: []string{}, Dead: 1},
			{Group: &texts, Handlers: []string{"texts"}},
		}}}
		if len(stats[0].MissingIndexes) != 1 {
			t.Errorf("the missing indexes are %q", stats[0].MissingIndexes)
		}
		d.exec(stats[0].MissingIndexes...)
		if stats, err = d.Stats(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "stats", stats, want)
	})
}

func TestPeek(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		d.states()
		group := "emails"
		for state, want := range map[State]string{
			Due: "1:due 2:due", Delayed: "3:delayed", InWork: "4:in_work", Dead: "5:dead", Processed: "6:processed",
		} {
			equal(t, string(state), d.ids("jobs", Query{State: state}), want)
		}
		equal(t, "all", d.ids("jobs", Query{}), "1:due 2:due 4:in_work 5:dead 6:processed 3:delayed")
		equal(t, "a group", d.ids("jobs", Query{Group: &group, Limit: 2, Offset: 1}), "2:due 4:in_work")
		equal(t, "keys", d.ids("jobs", Query{IDs: []string{"5", "77", "1"}}), "5:dead 1:due")
		d.exec("UPDATE jobs SET payload = '{\"a\": \"" + strings.Repeat("ü", 300) + "\"}', headers = '{\"h\": 1}' WHERE id = 5")
		rows, err := d.Peek(t.Context(), "jobs", Query{IDs: []string{"5"}, Preview: 8})
		if err != nil {
			t.Fatal(err)
		}
		r := rows[0]
		equal(t, "error", *r.Error, "no such ")
		equal(t, "attempt", *r.Attempt, int64(3))
		equal(t, "size", *r.PayloadSize, int64(609))
		equal(t, "headers", strings.ReplaceAll(*r.Headers, " ", ""), `{"h":1}`)
		if !strings.HasPrefix(string(r.Payload), `{"a": "`) || len(r.Payload) > 9 {
			t.Errorf("the payload begins with %q", r.Payload)
		}
		if r.CreatedAt == nil || time.Since(*r.CreatedAt).Abs() > time.Hour {
			t.Errorf("it was created at %v", r.CreatedAt)
		}
		for _, q := range []Query{{Limit: MaxRows + 1}, {Offset: -1}, {Preview: MaxPreview + 1}, {State: "lost"}, {IDs: []string{"x"}}} {
			if _, err := d.Peek(t.Context(), "jobs", q); !errors.As(err, new(*Error)) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		if _, err := d.Peek(t.Context(), "jops", Query{}); err == nil || !strings.Contains(err.Error(), "jobs") {
			t.Errorf("an unknown table: %v", err)
		}
	})
}

// redriven runs a redrive and gives its moves as text.
func (d *desk) redriven(table string, r Redrive) string {
	d.t.Helper()
	plan, err := d.PlanRedrive(d.t.Context(), table, r)
	if err != nil {
		d.t.Fatal(err)
	}
	moves, err := d.Redrive(d.t.Context(), table, r, func(int64) {})
	if err != nil {
		d.t.Fatal(err)
	}
	equal(d.t, "the plan", plan, moves)
	return fmt.Sprint(moves)
}

// A dead letter goes back to the one group that it can be of, due at once, with its attempts before it and its error
// kept; those that somebody has locked, and what is in work, stay.
func TestRedriveWithinATable(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		d.enqueue("jobs", "failed", 1, 1203)
		d.exec("UPDATE jobs SET attempt = 3, error = 'why'", "UPDATE jobs SET locked_until = '2101-01-01 00:00:00' WHERE id = 7")
		equal(t, "one", d.redriven("jobs", Redrive{IDs: []string{"5", "7", "9999"}}), "[{group failed of jobs group emails 1}]")
		equal(t, "its state", d.ids("jobs", Query{State: Due}), "5:due")
		rows, err := d.Peek(t.Context(), "jobs", Query{IDs: []string{"5"}})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the attempt", *rows[0].Attempt, int64(1))
		equal(t, "the error", *rows[0].Error, "why")
		if time.Until(*rows[0].RetryAfter) > 0 {
			t.Errorf("it is due at %v", rows[0].RetryAfter)
		}
		seen := int64(0)
		if _, err := d.Redrive(t.Context(), "jobs", Redrive{To: "texts"}, func(n int64) { seen = n }); err != nil {
			t.Fatal(err)
		}
		equal(t, "the progress", seen, int64(1201))
		texts := "texts"
		equal(t, "dead", d.ids("jobs", Query{State: Dead}), "")
		equal(t, "in work", d.ids("jobs", Query{State: InWork}), "7:in_work")
		rows, err = d.Peek(t.Context(), "jobs", Query{Group: &texts, Limit: MaxRows})
		if err != nil || len(rows) != MaxRows {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})
}

// With an origin every dead letter goes back where it came from; without one it has to be said where groups differ.
func TestRedriveByOrigin(t *testing.T) {
	both := strings.Replace(work, "[handlers.texts]\nmodule = \"m.wasm\"\ntable = \"jobs\"\n",
		"[handlers.texts]\nmodule = \"m.wasm\"\ntable = \"jobs\"\ndead_letter = \"failed\"\nmax_attempts = 3\n", 1)
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+`origin = "origin"`+both)
		d.enqueue("jobs", "failed", 1, 3)
		d.exec("UPDATE jobs SET attempt = 4, origin = 'emails' WHERE id = 1", "UPDATE jobs SET attempt = 4, origin = 'texts' WHERE id = 2")
		if _, err := d.PlanRedrive(t.Context(), "jobs", Redrive{}); err == nil || !strings.Contains(err.Error(), "--to") {
			t.Errorf("a row without an origin goes somewhere: %v", err)
		}
		d.exec("UPDATE jobs SET origin = 'failed' WHERE id = 3")
		equal(t, "moves", d.redriven("jobs", Redrive{}), "[{group failed of jobs the groups that they came from 2}]")
		for group, want := range map[string]string{"emails": "1:due", "texts": "2:due", "failed": "3:dead"} {
			equal(t, group, d.ids("jobs", Query{Group: &group}), want)
		}
		rows, err := d.Peek(t.Context(), "jobs", Query{IDs: []string{"1"}})
		if err != nil || rows[0].Origin != nil || *rows[0].Attempt != 1 {
			t.Errorf("%+v, %v", rows, err)
		}
		for _, r := range []Redrive{{To: "failed"}, {Group: new(string)}} {
			if _, err := d.PlanRedrive(t.Context(), "jobs", r); !errors.As(err, new(*Error)) {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}

// Dead letters in a table of their own go back into the table of the handler that made them.
func TestRedriveBetweenTables(t *testing.T) {
	dead := strings.Replace(jobs, "tables.jobs", "tables.graves", 1)
	dead = strings.Replace(dead, "attempt = \"attempt\"\n", "", 1) // a column that plays nothing there
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+dead+strings.Replace(work, `"failed"`, `"graves"`, 1))
		d.enqueue("graves", "emails", 1, 602)
		alter := map[string]string{"mariadb": "ALTER TABLE graves ADD attempt int"}[db.Name]
		if alter == "" {
			alter = "ALTER TABLE graves ADD COLUMN attempt integer"
		}
		d.exec(alter, "UPDATE graves SET attempt = 4, error = 'why', locked_until = '2001-01-01 00:00:00'", "UPDATE graves SET locked_until = '2101-01-01 00:00:00' WHERE id = 3")
		var err error
		if d.Admin, err = Open(t.Context(), d.store, d.config, time.Now); err != nil {
			t.Fatal(err)
		}
		equal(t, "one", d.redriven("graves", Redrive{IDs: []string{"2"}}), "[{table graves table jobs 1}]")
		equal(t, "all", d.redriven("graves", Redrive{To: "jobs"}), "[{table graves table jobs 600}]")
		equal(t, "left", d.ids("graves", Query{}), "3:in_work")
		rows, err := d.Peek(t.Context(), "jobs", Query{IDs: []string{"2", "602"}})
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		for _, r := range rows {
			equal(t, "row", []any{r.State, *r.Group, *r.Attempt, *r.Error, string(r.Payload)}, []any{Due, "emails", int64(1), "why", r.ID})
		}
		if _, err := d.PlanRedrive(t.Context(), "graves", Redrive{To: "emails"}); !errors.As(err, new(*Error)) {
			t.Errorf("into no table: %v", err)
		}
		if _, err := d.PlanRedrive(t.Context(), "jobs", Redrive{}); !errors.As(err, new(*Error)) {
			t.Errorf("out of a queue: %v", err)
		}
	})
}

func TestPurge(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		d.enqueue("jobs", "emails", 1, 1200)
		d.exec("UPDATE jobs SET processed_at = '2001-01-01 00:00:00' WHERE id <= 1100",
			"UPDATE jobs SET name = 'failed' WHERE id > 1150", "UPDATE jobs SET created_at = '2001-01-01 00:00:00' WHERE id > 1190")
		purge := func(p Purge) int64 {
			t.Helper()
			n, err := d.PlanPurge(t.Context(), "jobs", p)
			if err != nil {
				t.Fatal(err)
			}
			gone, err := d.Purge(t.Context(), "jobs", p, func(int64) {})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "the plan", n, gone)
			return gone
		}
		old := 1000 * time.Hour
		equal(t, "old dead letters", purge(Purge{State: Dead, OlderThan: old}), int64(10))
		equal(t, "one dead letter", purge(Purge{State: Dead, IDs: []string{"1151", "1"}}), int64(1))
		equal(t, "the others", purge(Purge{State: Dead}), int64(39))
		equal(t, "too young", purge(Purge{State: Processed, OlderThan: 1e6 * time.Hour}), int64(0))
		equal(t, "processed rows", purge(Purge{State: Processed, OlderThan: old}), int64(1100))
		equal(t, "what is left", strings.Count(d.ids("jobs", Query{Limit: 100}), ":due"), 50)
		for _, p := range []Purge{{State: Due}, {State: InWork}, {State: Dead, OlderThan: -1}} {
			if _, err := d.PlanPurge(t.Context(), "jobs", p); !errors.As(err, new(*Error)) {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
}

func TestSweep(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		d.enqueue("jobs", "emails", 1, 1203)
		d.exec("UPDATE jobs SET processed_at = '2001-01-01 00:00:00' WHERE id <= 1200", "UPDATE jobs SET processed_at = '2101-01-01 00:00:00' WHERE id = 1203")
		for _, want := range []int64{1000, 200, 0} {
			n, err := d.Sweep(t.Context(), "jobs", time.Now())
			if err != nil || n != want {
				t.Fatalf("%d rows, %v; want %d", n, err, want)
			}
		}
		equal(t, "what is left", d.ids("jobs", Query{}), "1201:due 1202:due 1203:processed")
	})
}

func TestCancel(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		d.states()
		n, err := d.Cancel(t.Context(), "jobs", []string{"1", "3", "4", "5", "6", "7"})
		if err != nil || n != 2 {
			t.Errorf("%d rows, %v", n, err)
		}
		equal(t, "rows", d.ids("jobs", Query{}), "1:processed 2:due 4:in_work 5:dead 6:processed 3:processed")
	})
}

// What another session has locked is passed over, and nothing waits for it.
func TestLockedRowsStay(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		if db.Name == "sqlite" {
			t.Skip("SQLite locks no rows")
		}
		d := open(t, db, jobs+work)
		d.exec(d.dialect.Schema(d.config.Table("jobs").Declared()).Index) // without it a server may lock what it looks at
		d.enqueue("jobs", "failed", 1, 3)
		d.exec("UPDATE jobs SET processed_at = '2001-01-01 00:00:00' WHERE id = 3")
		tx, err := d.store.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}()
		_, sel, err := d.selects("jobs", Dead, nil)
		if err != nil {
			t.Fatal(err)
		}
		sel.limit = 1
		lock := d.dialect.Hold(sel.table, sel.Where)
		if err := tx.Query(t.Context(), &lock, 0, d.arguments(&lock, sel), func([][]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		moves, err := d.Redrive(ctx, "jobs", Redrive{}, func(int64) {})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "moves", fmt.Sprint(moves), "[{group failed of jobs group emails 1}]")
		equal(t, "rows", d.ids("jobs", Query{}), "1:dead 3:processed 2:due")
	})
}

// Keys of several columns, of bytes and of texts name rows as they are printed.
func TestKeysOfEveryKind(t *testing.T) {
	types := map[string][2]string{"postgres": {"bytea", "text"}, "mariadb": {"varbinary(20)", "varchar(50)"}, "sqlite": {"BLOB", "TEXT"}}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		toml := "[tables.jobs]\nid = [\"a\", \"b\"]\npayload = \"payload\"\nlocked_until = \"l\"\n[handlers.w]\nmodule = \"m\"\ntable = \"jobs\"\n"
		d := open(t, db, toml)
		literal := map[string]string{"postgres": `'\x00ff'`}[db.Name]
		if literal == "" {
			literal = "X'00FF'"
		}
		lease := map[string]string{"postgres": "timestamptz", "mariadb": "datetime(6)", "sqlite": "TEXT"}[db.Name]
		d.exec("DROP TABLE jobs", fmt.Sprintf("CREATE TABLE jobs (a %s NOT NULL, b %s NOT NULL, l %s, payload %s, PRIMARY KEY (a, b))", types[db.Name][0], types[db.Name][1], lease, types[db.Name][1]),
			"INSERT INTO jobs (a, b, payload) VALUES ("+literal+", 'x, y', 'p')")
		var err error
		if d.Admin, err = Open(t.Context(), d.store, d.config, time.Now); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows", d.ids("jobs", Query{}), "00ff,x, y:due")
		equal(t, "by key", d.ids("jobs", Query{IDs: []string{"00ff,x, y"}}), "00ff,x, y:due")
		n, err := d.Cancel(t.Context(), "jobs", []string{"00ff,x, y"})
		if err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
		equal(t, "rows", d.ids("jobs", Query{}), "")
	})
}

// The database tells of the sessions of this process.
func TestSessions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		d := open(t, db, jobs+work)
		held, err := d.store.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := held.Rollback(); err != nil {
				t.Error(err)
			}
		}()
		sessions, err := d.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if db.Name == "sqlite" {
			equal(t, "sessions", sessions, []Sessions(nil))
			return
		}
		open := int64(0)
		for _, s := range sessions {
			open += s.Sessions
		}
		if open < 1 {
			t.Errorf("the sessions are %+v", sessions)
		}
	})
}
