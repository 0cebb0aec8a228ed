package forms_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// readAtMost bounds what one step of a statement about at most 500 rows may read.
const readAtMost = 5_000

// millions write a million rows. Nine in ten are of the group "g", the others of a hundred more groups;
// they have five thousand keys, and a quarter of them is processed: every row of half of the small groups.
var millions = map[string]string{
	"postgres": `INSERT INTO jobs ("group", priority, partition_key, retry_after, processed_at, payload)
		SELECT CASE WHEN i % 10 = 0 THEN 'g' || (i % 1000) ELSE 'g' END, i % 3, 'c' || (i % 5000),
		now() - i * interval '1 millisecond', CASE WHEN i % 4 = 0 THEN now() END, 'p' FROM generate_series(1, 1000000) AS i`,
	"mariadb": "INSERT INTO jobs (`group`, priority, partition_key, retry_after, processed_at, payload) " +
		"WITH RECURSIVE d(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 999) " +
		"SELECT CASE WHEN i % 10 = 0 THEN CONCAT('g', i % 1000) ELSE 'g' END, i % 3, CONCAT('c', i % 5000), " +
		"UTC_TIMESTAMP(6) - INTERVAL i * 1000 MICROSECOND, CASE WHEN i % 4 = 0 THEN UTC_TIMESTAMP(6) END, 'p' " +
		"FROM (SELECT a.n * 1000 + b.n + 1 AS i FROM d AS a, d AS b) AS s",
	"sqlite": `INSERT INTO jobs ("group", priority, partition_key, retry_after, processed_at, payload)
		WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000000)
		SELECT CASE WHEN i % 10 = 0 THEN 'g' || (i % 1000) ELSE 'g' END, i % 3, 'c' || (i % 5000),
		strftime('%Y-%m-%d %H:%M:%f000', 'now', '-' || (i / 1000) || ' seconds'),
		CASE WHEN i % 4 = 0 THEN strftime('%Y-%m-%d %H:%M:%f000', 'now') END, 'p' FROM s`,
}

// TestPlansOfAMillionRows: with a million rows and the recommended index, every claim of every form and
// every settlement and extension of 500 rows reads few more rows than it takes. With INBOX_TEST_PLANS=1
// and -v it shows the plans.
func TestPlansOfAMillionRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if raced && db.Name == "sqlite" {
			unraced(t, "^TestPlansOfAMillionRows$/^sqlite$")
			return
		}
		s := &recorder{Store: open(t, db), ran: map[string]asked{}}
		if realMySQL(t, s) {
			t.Skip("not so on MySQL: it sorts the leases of a group where MariaDB takes the last one from the index")
		}
		wide := everyRole()
		for _, name := range []string{"jobs", "dead_letters"} {
			wide.Name = name
			script(t, s, s.Dialect().Schema(wide).Table)
		}
		began := time.Now()
		script(t, s, millions[db.Name])
		t.Logf("filled in %v", time.Since(began))
		for _, set := range []struct {
			name  string
			roles []dialect.Role
		}{
			{"priority", []dialect.Role{dialect.Priority, dialect.RetryAfter}},
			{"processed", []dialect.Role{dialect.ProcessedAt, dialect.RetryAfter}},
			{"processed alone", []dialect.Role{dialect.ProcessedAt}},
			{"key alone", nil},
		} {
			t.Run(set.name, func(t *testing.T) { plansOf(t, s, db.Name, set.roles) })
		}
	})
}

// raced says that this is a build with the race detector.
var raced bool

// unraced runs a test in a build without the race detector, which makes SQLite, a library of this process,
// forty times slower.
func unraced(t *testing.T, name string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", name, ".")
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS: TestPlansOfAMillionRows/sqlite/") {
		t.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	t.Logf("%s", text)
}

// plansOf checks each form over the table with the roles, and with no other index than those it recommends.
func plansOf(t *testing.T, s *recorder, database string, order []dialect.Role) {
	of := func(more ...dialect.Role) *dialect.Table {
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(slices.Concat(order, more,
			[]dialect.Role{dialect.Group, dialect.Attempt, dialect.Payload, dialect.Error})...)}
		describe(t, s, table)
		return table
	}
	leased, ordered, locked, lockedInOrder, keyed := of(dialect.LockedUntil), of(dialect.LockedUntil), of(), of(), of(dialect.PartitionKey)
	ordered.FIFO, lockedInOrder.FIFO = true, true
	keyed.Key = []dialect.KeyPart{{Literal: "jobs-"}, {Column: "partition_key"}}
	began := time.Now()
	index(t, s, s.Dialect().ClaimIndex(locked, dialect.Selection{}).Create)
	if order != nil {
		index(t, s, s.Dialect().ClaimIndex(locked, dialect.Selection{AllGroups: true}).Create)
	}
	index(t, s, s.Dialect().Schema(ordered).GroupIndex)
	script(t, s, map[string]string{"postgres": "ANALYZE jobs", "mariadb": "ANALYZE TABLE jobs", "sqlite": "ANALYZE"}[database])
	t.Logf("indexed in %v", time.Since(began))

	each := map[string]func(t *testing.T){
		"lease":      func(t *testing.T) { runPlans(t, lease(t, s, leased, planned(t, s, leased)), 500) },
		"fifo lease": func(t *testing.T) { runPlans(t, lease(t, s, ordered, planned(t, s, ordered), ofEveryGroup), 20) },
		"lease of every group": func(t *testing.T) {
			runPlans(t, lease(t, s, leased, planned(t, s, leased), acrossGroups), 500)
		},
		"advisory of every group": func(t *testing.T) {
			runPlans(t, advisory(t, s, keyed, planned(t, s, keyed), acrossGroups), 50)
		},
		"advisory": func(t *testing.T) { runPlans(t, advisory(t, s, keyed, planned(t, s, keyed)), 50) },
	}
	if _, ok := s.Dialect().(dialect.RowLock); ok {
		each["row lock"] = func(t *testing.T) { runPlans(t, rowLock(t, s, locked, planned(t, s, locked)), 500) }
		each["row lock of every group"] = func(t *testing.T) {
			runPlans(t, rowLock(t, s, locked, planned(t, s, locked), acrossGroups), 500)
		}
		each["fifo row lock"] = func(t *testing.T) {
			runPlans(t, rowLock(t, s, lockedInOrder, planned(t, s, lockedInOrder), ofEveryGroup), 1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(each)) {
		t.Run(name, func(t *testing.T) {
			clear(s.ran)
			each[name](t)
			for _, text := range slices.Sorted(maps.Keys(s.ran)) {
				checkReads(t, s, database, s.ran[text])
			}
		})
	}
}

// index creates an index, which goes with the test.
func index(t *testing.T, s store.Store, create string) {
	t.Helper()
	script(t, s, create)
	drop := "DROP INDEX " + strings.Fields(create)[2]
	if s.Dialect().Name() == "MySQL" {
		drop += " ON jobs"
	}
	t.Cleanup(func() {
		if err := s.Script(context.Background(), drop); err != nil {
			t.Error(err)
		}
	})
}

// planned gives a form a table for its dead letters, and the cap that a claim ahead minds.
func planned(t *testing.T, s store.Store, table *dialect.Table) func(*forms.Options) {
	t.Helper()
	target := &dialect.Table{Name: "dead_letters", ID: table.ID, Key: table.Key, Roles: table.Roles}
	describe(t, s, target)
	return func(o *forms.Options) { o.MaxAttempts, o.DeadTable, o.Now, o.Indexed = 5, target, time.Now, true }
}

// ofEveryGroup has a FIFO subscription serve every group.
func ofEveryGroup(o *forms.Options) {
	o.FIFO, o.AllGroups, o.Group, o.DeadGroup = true, true, "", ""
}

// acrossGroups has a subscription claim from every group but that of its dead letters.
func acrossGroups(o *forms.Options) {
	o.AllGroups, o.Group, o.DeadGroup, o.Except = true, "", "", []string{"dead"}
}

// runPlans has a form run each of its statements.
func runPlans(t *testing.T, f forms.Form, limit int) {
	t.Helper()
	for _, change := range []forms.Change{forms.Return, forms.MoveToTable, forms.Finish, forms.Finish} {
		deliveries := claim(t, f, limit)
		if len(deliveries) != limit {
			t.Fatalf("claimed %d of %d rows", len(deliveries), limit)
		}
		extend(t, f, forms.Done, deliveries...)
		settle(t, f, forms.Done, settlements(deliveries, func(d *forms.Delivery) *forms.Settlement {
			return &forms.Settlement{Delivery: d, Change: change, Reason: "why"}
		})...)
	}
	deliveries, err := f.Claim(t.Context(), limit, true)
	if err != nil {
		t.Fatal(err)
	}
	settle(t, f, forms.Done, settlements(deliveries, back)...)
}

// recorder is a store that remembers each statement that it ran, with what it was given.
type recorder struct {
	store.Store
	ran map[string]asked
}

// note keeps of one statement the run about the largest list.
func (r *recorder) note(s *dialect.Statement, n int, args []any) {
	if known, ok := r.ran[s.SQL]; !ok || n >= known.n {
		r.ran[s.SQL] = asked{*s, n, slices.Clone(args)}
	}
}

// noter remembers statements.
type noter interface {
	note(s *dialect.Statement, n int, args []any)
}

func noteSteps(r noter, list []store.Step) {
	for _, step := range list {
		r.note(step.Statement, step.N, step.Args)
	}
}

func (r *recorder) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	r.note(s, n, args)
	return r.Store.Query(ctx, s, n, args, row)
}

func (r *recorder) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	r.note(s, n, args)
	return r.Store.Exec(ctx, s, n, args)
}

func (r *recorder) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := r.Store.Begin(ctx)
	return &recordedTx{tx, r}, err
}

func (r *recorder) Hold(ctx context.Context) (store.Session, error) {
	held, err := r.Store.Hold(ctx)
	return &recordedSession{held, r}, err
}

type recordedTx struct {
	store.Tx
	r noter
}

func (t *recordedTx) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	t.r.note(s, n, args)
	return t.Tx.Query(ctx, s, n, args, row)
}

func (t *recordedTx) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	t.r.note(s, n, args)
	return t.Tx.Exec(ctx, s, n, args)
}

type recordedSession struct {
	store.Session
	r noter
}

func (h *recordedSession) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	h.r.note(s, n, args)
	return h.Session.Query(ctx, s, n, args, row)
}

func (h *recordedSession) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	h.r.note(s, n, args)
	return h.Session.Exec(ctx, s, n, args)
}

func (h *recordedSession) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := h.Session.Begin(ctx)
	return &recordedTx{tx, h.r}, err
}

func (h *recordedSession) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	noteSteps(h.r, first)
	w, err := h.Session.BeginWork(ctx, o, first...)
	return &recordedWork{w, h.r}, err
}

type recordedWork struct {
	store.Work
	r noter
}

func (w *recordedWork) CommitWith(ctx context.Context, last ...store.Step) error {
	noteSteps(w.r, last)
	return w.Work.CommitWith(ctx, last...)
}

// checkReads runs a statement, takes it back, and fails where it read more than it should.
func checkReads(t *testing.T, s *recorder, database string, a asked) {
	t.Helper()
	if !strings.Contains(a.statement.SQL, s.Dialect().Quote("jobs")) {
		return // about locks and sessions
	}
	plan, why := map[string]func(*testing.T, store.Store, asked) (string, string){
		"postgres": readsOfPostgres, "mariadb": readsOfMariaDB, "sqlite": planOfSQLite}[database](t, s.Store, a)
	switch text := a.statement.SQL; {
	case why != "":
		t.Errorf("%s: %.900s\n%s", why, text, plan)
	case os.Getenv("INBOX_TEST_PLANS") != "":
		t.Logf("%.300s\n%s", text, plan)
	}
}

// step is a step of a Postgres plan that has run.
type step struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Joined   float64 `json:"Rows Removed by Join Filter"`
	Checked  float64 `json:"Rows Removed by Index Recheck"`
	Plans    []step  `json:"Plans"`
}

func readsOfPostgres(t *testing.T, s store.Store, a asked) (plan, why string) {
	t.Helper()
	var roots []struct{ Plan step }
	if err := json.Unmarshal([]byte(explain(t, s, a, "EXPLAIN (ANALYZE, FORMAT JSON) ")), &roots); err != nil {
		t.Fatal(err)
	}
	var lines []string
	var walk func(n *step, depth int)
	walk = func(n *step, depth int) {
		read := (n.Rows + n.Removed + n.Joined + n.Checked) * n.Loops
		lines = append(lines, fmt.Sprintf("%s%s %s %s: %.0f rows", strings.Repeat("  ", depth), n.Type, n.Relation, n.Index, read))
		// A plan of a server before 14 has both ways to run a subquery, of which one is taken.
		if n.Type == "Seq Scan" && n.Relation == "jobs" && n.Loops > 0 {
			why = "it scans the table"
		} else if read > readAtMost && why == "" {
			why = fmt.Sprintf("a step reads %.0f rows", read)
		}
		for i := range n.Plans {
			walk(&n.Plans[i], depth+1)
		}
	}
	walk(&roots[0].Plan, 0)
	return strings.Join(lines, "\n"), why
}

// readsOfMariaDB counts what the server asked its engine for.
func readsOfMariaDB(t *testing.T, s store.Store, a asked) (plan, why string) {
	t.Helper()
	plan = explain(t, s, a, "EXPLAIN ")
	tx := begin(t, s, "FLUSH STATUS")
	var err error
	if strings.HasPrefix(a.statement.SQL, "SELECT") {
		err = tx.Query(t.Context(), &a.statement, a.n, a.args, func([][]byte) error { return nil })
	} else {
		_, err = tx.Exec(t.Context(), &a.statement, a.n, a.args)
	}
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	err = tx.Query(t.Context(), &dialect.Statement{SQL: "SHOW SESSION STATUS LIKE 'Handler_read%'"}, 0, nil, func(v [][]byte) error {
		n, err := strconv.Atoi(string(v[1]))
		reads += n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if reads > readAtMost {
		why = fmt.Sprintf("it reads %d rows", reads)
	}
	return fmt.Sprintf("%s\n%d rows read", plan, reads), why
}

var scansAll = regexp.MustCompile(`SCAN (jobs|q)( USING COVERING INDEX)?|USE TEMP B-TREE FOR (ORDER|GROUP) BY`)

// planOfSQLite has no counts, but an index that gives the order lets LIMIT end the search. The look for
// groups walks an index to its first entry, and orders the groups of its page. A claim across groups walks
// the index of their order, or the key where that is the order.
func planOfSQLite(t *testing.T, s store.Store, a asked) (plan, why string) {
	t.Helper()
	plan = explain(t, s, a, "EXPLAIN QUERY PLAN ")
	walk := "SCAN jobs USING INDEX jobs_order_idx"
	if strings.Contains(a.statement.SQL, `"group" NOT IN (?)`) && strings.Contains(a.statement.SQL, `ORDER BY "id"`) {
		walk = "SCAN jobs"
	}
	for _, found := range scansAll.FindAllString(strings.ReplaceAll(plan, walk, ""), -1) {
		if !strings.HasPrefix(a.statement.SQL, "WITH RECURSIVE __groups") || found == "SCAN jobs" {
			return plan, found
		}
	}
	return plan, ""
}
