package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// Rows that have been processed for longer than the table retains them go while the service runs, and no others; a
// reload that asks for it begins with it.
func TestRetain(t *testing.T) {
	const table = `
[tables.jobs]
id = "id"
group = "name"
locked_until = "locked_until"
processed_at = "processed_at"
payload = "payload"
`
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		r := openReloading(t, db, table+work(""), answering(t, 0, 0))
		r.enqueue("jobs", "work", "1", "2", "3")
		r.start()
		eventually(t, "the rows are processed", func() bool { return r.counts("work").Acked == 3 })
		r.script("UPDATE jobs SET processed_at = '2001-01-01 00:00:00' WHERE id = 2")
		r.mustReload(table + "retain = \"1h\"\n" + work(""))
		eventually(t, "the old row is gone", func() bool { return r.rows("jobs", "id") == "1\n3\n" })
		warnings := r.Warnings()
		i := slices.IndexFunc(warnings, func(w config.Problem) bool { return strings.HasSuffix(w.Key, "retain") })
		if i < 0 {
			t.Fatalf("nothing warns of the missing index: %v", warnings)
		}
		r.script(warnings[i].Remedy)
		r.mustReload(table + "retain = \"1h\"\n" + work(""))
		for _, w := range r.Warnings() {
			if strings.Contains(w.Key, "retain") {
				t.Errorf("with the index there is still a warning: %v", w)
			}
		}
	})
}
