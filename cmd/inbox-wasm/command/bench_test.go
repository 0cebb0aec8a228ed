package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/bench"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// benched are the contestants of each form by database, the host first.
var benched = map[string]map[bench.Form][]string{
	"sqlite": {
		bench.Lease:    {"host", "loop, one row", "loop, groups of 100", "loop, groups of 1000", "another"},
		bench.Advisory: {"host", "loop, a key a worker"},
	},
	"postgres": benchedServer, "mariadb": benchedServer,
}

var benchedServer = map[bench.Form][]string{
	bench.Lease:    {"host", "loop, one row", "loop, groups of 100", "loop, groups of 1000", "another"},
	bench.RowLock:  {"host", "host, 16 a transaction", "loop, one row", "loop, 16 a transaction"},
	bench.Advisory: {"host", "loop, a key a session"},
}

func TestBench(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := newFolder(t, db, "")
		answer := f.must("", "bench", "--url", db.URL, "--rows", "300", "--rounds", "2", "--workers", "2", "--limit", "20s", "--json",
			"--beside", `another=echo "{\"rows\": $BENCH_ROWS, \"seconds\": 0.5}"`)
		var r bench.Report
		if err := json.Unmarshal([]byte(answer), &r); err != nil {
			t.Fatalf("%v\n%s", err, answer)
		}
		equal(t, "rows", r.Rows, 300)
		got := map[bench.Form][]string{}
		for _, x := range r.Results {
			got[x.Form] = append(got[x.Form], x.Name)
			if x.Rows.Min <= 0 || x.Rows.Min > x.Rows.Median || x.Rows.Median > x.Rows.Max {
				t.Errorf("%s, %s: rows a second are %+v", x.Form, x.Name, x.Rows)
			}
			if (x.Ratio == nil) != strings.HasPrefix(x.Name, "host") {
				t.Errorf("%s, %s: the ratio is %+v", x.Form, x.Name, x.Ratio)
			}
			if x.Name == "another" {
				equal(t, "rows a second of another program", x.Rows.Median, 600)
				continue
			}
			if x.CPU == nil || x.Allocations == nil {
				t.Errorf("%s, %s: CPU or allocations are missing: %+v", x.Form, x.Name, x)
			}
			if (x.Transactions == nil) != (db.Name == "sqlite") || x.Transactions != nil && *x.Transactions <= 0 {
				t.Errorf("%s, %s: transactions a row are %v", x.Form, x.Name, x.Transactions)
			}
		}
		equal(t, "contestants", got, benched[db.Name])
		f.gone()
	})
}

// gone checks that a bench left no table behind: it can be made.
func (f *folder) gone() {
	f.t.Helper()
	f.sql("CREATE TABLE inbox_wasm_bench (id integer)", "DROP TABLE inbox_wasm_bench")
}

func TestBenchLatency(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := newFolder(t, db, "")
		text := f.must("", "bench", "--url", db.URL, "--form", "advisory", "--rows", "100", "--rounds", "1", "--workers", "2", "--limit", "500ms", "--latency")
		for _, want := range []string{"100 rows of 100 bytes", "host ÷ it", "loop, a key a", "p99"} {
			if !strings.Contains(text, want) {
				t.Errorf("the text has no %q:\n%s", want, text)
			}
		}
		f.gone()
	})
}

func TestBenchTouchesNothingThatExists(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := newFolder(t, db, "")
		f.sql("CREATE TABLE inbox_wasm_bench (id integer)", "INSERT INTO inbox_wasm_bench VALUES (7)")
		r := f.run("", "bench", "--url", db.URL, "--rows", "10", "--form", "lease")
		equal(t, "answer", r, result{exitFailed, "", "inbox-wasm: the database has a table inbox_wasm_bench already, and a bench touches nothing that it did not make: drop it if an earlier bench was killed\n"})
		equal(t, "its rows", f.query("SELECT CAST(COUNT(*) AS CHAR) FROM inbox_wasm_bench WHERE id = 7"), "1")
	})
}

func TestBenchRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--form", "leases"}, exitUsage, "--form leases is none of lease, row-lock, advisory and all"},
		{[]string{"--rows", "0"}, exitUsage, "--rows 0 is less than 1"},
		{[]string{"--workers", "4,0"}, exitUsage, "--workers 0 is less than 1"},
		{[]string{"--rounds", "-1"}, exitUsage, "--rounds -1 is less than 1"},
		{[]string{"--limit", "0s"}, exitUsage, "--limit 0s is no time"},
		{[]string{"--beside", "river"}, exitUsage, `--beside "river" is not NAME=COMMAND`},
		{[]string{"--form", "row-lock"}, exitFailed, "SQLite has no row-lock form"},
		{[]string{"--module", "nowhere.wasm"}, exitFailed, "read the handler: stat nowhere.wasm: no such file or directory"},
		{[]string{"--url", "oracle://scott:tiger@localhost/inbox"}, exitFailed, "open the database: the URL selects no known database"},
		{[]string{"--form", "lease", "--rows", "10", "--beside", "broken=exit 3"}, exitFailed, "lease, broken, 1 workers: exit status 3"},
		{[]string{"--form", "lease", "--rows", "10", "--beside", "mute=echo done"}, exitFailed, `lease, mute, 1 workers: it printed "done\n"`},
	} {
		r := invoke("", append([]string{"bench"}, test.args...)...)
		if r.code != test.code || r.stdout != "" || !strings.HasPrefix(r.stderr, "inbox-wasm: "+test.want) {
			t.Errorf("%v: exit code %d\n%s%s", test.args, r.code, r.stdout, r.stderr)
		}
	}
}

// TestBenchSaysWhatIsWrongWithAModule gives it a module that finishes no row.
func TestBenchSaysWhatIsWrongWithAModule(t *testing.T) {
	module := filepath.Join(t.TempDir(), "retry.wasm")
	f := &folder{t: t, dir: filepath.Dir(module)}
	f.file("retry.wasm", string(wat(t, strings.Replace(ackWAT, "i32.const 0", "i32.const 1", 1))))
	r := invoke("", "bench", "--form", "lease", "--rows", "10", "--workers", "1", "--limit", "300ms", "--module", module)
	equal(t, "answer", r, result{exitFailed, "", "inbox-wasm: lease, host, 1 workers: no row was settled in 300ms\n"})
}
