package forms_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestAdvisoryLocksUnderEveryPlan pushes the planner to each plan it can choose (bensheldon/good_job#1735):
// a session holds exactly one lock for each delivery, once, and none when they have ended.
func TestAdvisoryLocksUnderEveryPlan(t *testing.T) {
	db := testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	table := keyed(t, open(t, db), channels())
	watch := open(t, db)
	for _, channel := range []string{"a", "b", "c", "d"} {
		put(t, watch, table, channel, 300)
	}
	script(t, watch, "ANALYZE jobs")
	for _, setting := range []string{
		"enable_seqscan=off", "enable_indexscan=off", "enable_bitmapscan=off", "enable_indexonlyscan=off", "enable_hashjoin=off",
		"enable_nestloop=off", "enable_mergejoin=off", "enable_sort=off", "enable_material=off", "enable_hashagg=off", "enable_tidscan=off",
		"plan_cache_mode=force_generic_plan", "plan_cache_mode=force_custom_plan", "work_mem=64kB", "from_collapse_limit=1",
	} {
		t.Run(setting, func(t *testing.T) {
			if strings.HasPrefix(setting, "plan_cache_mode") && postgresBefore12(t, watch) {
				t.Skip("PostgreSQL before 12 has no such modes")
			}
			s, err := databases.Open(t.Context(), databases.Builtin(), db.URL+"&options=-c%20"+url.QueryEscape(setting), store.Options{MaxConnections: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			a, other := advisory(t, s, table), advisory(t, s, table)
			first, _ := take(t, a, 3)
			second, _ := take(t, other, 3)
			equal(t, "deliveries", integer(len(first))+" "+integer(len(second)), "3 1")
			equal(t, "locks", query(t, watch, "SELECT count(*)::text, count(DISTINCT (classid, objid))::text FROM pg_locks WHERE locktype = 'advisory' "+
				"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"), "4|4")
			for _, d := range first {
				ends(t, a, forms.Done, finish(d))
			}
			ends(t, other, forms.Done, finish(second[0]))
			equal(t, "locks that are left", heldLocks(t, watch), "")
			for _, f := range []*forms.Advisory{a, other} {
				if _, err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
