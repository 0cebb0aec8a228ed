package forms_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// watched is a store that remembers the statements that it ran, with what they were given.
type watched struct {
	store.Store
	ran []asked
}

type asked struct {
	statement dialect.Statement
	n         int
	args      []any
}

func (w *watched) note(s *dialect.Statement, n int, args []any) {
	w.ran = append(w.ran, asked{*s, n, append([]any{}, args...)})
}

func (w *watched) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := w.Store.Begin(ctx)
	return &recordedTx{tx, w}, err
}

func (w *watched) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	w.note(s, n, args)
	return w.Store.Query(ctx, s, n, args, row)
}

func (w *watched) Hold(ctx context.Context) (store.Session, error) {
	held, err := w.Store.Hold(ctx)
	return &recordedSession{held, w}, err
}

// explain is the plan of a statement, run in a transaction that is rolled back.
func explain(t *testing.T, s store.Store, a asked, prefix string) string {
	t.Helper()
	tx := begin(t, s)
	explained := a.statement
	explained.SQL = prefix + explained.SQL
	var lines []string
	err := tx.Query(t.Context(), &explained, a.n, a.args, func(values [][]byte) error {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = string(v)
		}
		lines = append(lines, strings.Join(words, " "))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", explained.Text(1), err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestPlans: with 100,000 rows, some of which are held, a claim and every settlement of 500 finds its
// rows by an index, however the server plans.
func TestPlans(t *testing.T) {
	const thousand = "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999) SELECT n FROM s"
	fillings := map[string]string{
		"postgres": `INSERT INTO jobs ("group", priority, payload) SELECT 'g', i % 3, 'p' FROM generate_series(1, 100000) i; ANALYZE jobs`,
		"mariadb":  "INSERT INTO jobs (`group`, priority, payload) SELECT 'g', a.n % 3, 'p' FROM (" + thousand + ") a, (" + thousand + ") b WHERE b.n < 100",
		"sqlite": `INSERT INTO jobs ("group", priority, payload) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 5000)
			SELECT 'g', i % 3, 'p' FROM s; ANALYZE`,
	}
	for _, mode := range []string{"auto", "force_custom_plan", "force_generic_plan"} {
		t.Run(mode, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				switch {
				case db.Name == "postgres" && postgresBefore12(t, open(t, db)):
					if mode != "auto" {
						t.Skip("PostgreSQL before 12 has no modes")
					}
				case db.Name == "postgres":
					db.URL += "&plan_cache_mode=" + mode
				case mode != "auto":
					t.Skip("only Postgres has modes")
				}
				s := &watched{Store: open(t, db)}
				table := create(t, s, leased())
				target := dead(t, s, table)
				script(t, s, fillings[db.Name])
				if db.Name == "mariadb" {
					query(t, s, "ANALYZE TABLE jobs")
				}
				l := lease(t, s, table, deadTable(target), func(o *forms.Options) { o.MaxAttempts = 5 })

				s.ran = nil
				deliveries := claim(t, l, 500)
				extend(t, l, forms.Done, deliveries...)
				for _, of := range []func(*forms.Delivery) *forms.Settlement{back, toGroup, toTable, finish} {
					began := time.Now()
					settle(t, l, forms.Done, settlements(deliveries, of)...)
					t.Logf("settled in %v", time.Since(began))
					began = time.Now()
					deliveries = claim(t, l, 500)
					t.Logf("claimed in %v", time.Since(began))
				}
				settle(t, l, forms.Done, finish(deliveries[0]))
				seen := map[string]bool{}
				for _, a := range s.ran {
					if text := a.statement.Text(a.n); !seen[text] {
						seen[text] = true
						checkPlan(t, s, db.Name, a)
					}
				}
			})
		})
	}
}

var (
	sequential = regexp.MustCompile(`(?m)Seq Scan on jobs`)
	scanned    = regexp.MustCompile(`(?m)^\S+ \S+ (jobs|q) (ALL|index) `)
)

func checkPlan(t *testing.T, s store.Store, database string, a asked) {
	t.Helper()
	if !strings.Contains(a.statement.SQL, "jobs") || strings.Contains(a.statement.SQL, "EXPLAIN") {
		return
	}
	plan := explain(t, s, a, map[string]string{"postgres": "EXPLAIN ", "mariadb": "EXPLAIN ", "sqlite": "EXPLAIN QUERY PLAN "}[database])
	bad := sequential.MatchString(plan)
	switch database {
	case "mariadb":
		bad = scanned.MatchString(plan) || strings.Contains(plan, "filesort")
	case "sqlite":
		bad = strings.Contains(plan, "SCAN jobs") || strings.Contains(plan, "TEMP B-TREE")
	}
	text := a.statement.SQL
	if bad {
		t.Errorf("%.300s\n%s", text, plan)
	} else {
		t.Logf("%.100s\n%s", text, plan)
	}
}
