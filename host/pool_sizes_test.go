package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// At every size of the pool, from the smallest that is not refused to one with room for all, handlers of all forms side by
// side come to the end of their rows: those that hold a connection a claim, those that hold one a transaction, those that keep
// sessions for their locks, and beside them claims, settlements, publications and the listener.
func TestEveryPoolSize(t *testing.T) {
	const rows = 12
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		forms := map[string]string{"lease": `locked_until = "locked_until"`, "row": "", "advisory": `advisory_lock = "jobs-{id}"`}
		if db.Name == "sqlite" {
			delete(forms, "row") // it has none, and its pool has one connection whatever is declared
		}
		var toml strings.Builder
		payloads := map[string][]string{}
		for name, form := range forms {
			for guest, keys := range map[string]string{"writes": "transactional = true\nallow = { db = \"tx\" }\n", "publisher": "allow = { publish = [\"plain\"] }\n"} {
				table := name + "_" + guest
				fmt.Fprintf(&toml, "[tables.%s]\nid = \"id\"\nattempt = \"attempt\"\npayload = \"payload\"\n%s\n", table, form)
				fmt.Fprintf(&toml, "[handlers.%s]\nmodule = %q\ntable = %q\npoll_interval = \"20ms\"\nthreads = 2\nclaim = 1\n%s",
					table, testwasm.WATFile(t, filepath.Join("testdata", guest+".wat")), table, keys)
				payloads[table] = many(map[string]string{"writes": "aINSERT INTO notes VALUES ('x')", "publisher": `{"payload":"yes"}`}[guest], rows)
			}
		}
		toml.WriteString("[tables.plain]\nid = \"id\"\npayload = \"payload\"\nlocked_until = \"locked_until\"\n")
		toml.WriteString(handler(t, "reader", "plain", map[bool]string{true: "listen = true\n"}[db.Name == "postgres"]))
		first := parse(t, db, toml.String())
		create(t, connect(t, db), first)
		script(t, connect(t, db), "CREATE TABLE notes (note varchar(200))")
		refused, most := 0, 1
		for size := 1; size <= most; size++ {
			cfg := parse(t, db, fmt.Sprintf("max_connections = %d\n%s", size, toml.String()))
			o := Options{Config: cfg, Log: (&lines{}).logger(), UntilEmpty: true}
			s, err := Open(t.Context(), o)
			if err != nil {
				if !strings.Contains(err.Error(), "database.max_connections") {
					t.Fatal(err)
				}
				refused, most = size, size+1
				continue
			}
			if db.Name != "sqlite" {
				sum, _, _ := holds(s.subscriptions())
				most = sum + 1
			}
			b := &bench{Service: s, t: t, log: &lines{}}
			for table, list := range payloads {
				b.enqueue(table, "", list...)
			}
			b.drain()
			for table := range payloads {
				equal(t, fmt.Sprintf("with %d connections, %s", size, table), b.counts(table), Counts{Acked: rows})
			}
			equal(t, fmt.Sprintf("with %d connections, what was published", size), b.counts("reader"), Counts{Acked: int64(rows * len(forms))})
			equal(t, fmt.Sprintf("with %d connections, what was written", size), strings.Count(b.query("SELECT note FROM notes"), "x"), rows*len(forms))
			b.script("DELETE FROM notes")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d are refused, %d to %d work", refused, refused+1, most)
	})
}
