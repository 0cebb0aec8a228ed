package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// rowsVariable is how many rows [TestCrowd] delivers on each database, in each form, by two processes and
// then by eight. Without it the number is small, and eight processes run in one cell of each form.
const rowsVariable = "INBOX_TEST_ROWS"

// crowdKeys is how many groups or keys the rows have. There are fewer than threads of eight processes.
const crowdKeys = 20

// formTables are the roles that give a table its form, beside those that each has.
var formTables = map[string]string{
	"lease":    "group = \"name\"\nlocked_until = \"locked_until\"\nfifo = true\n",
	"row lock": "group = \"name\"\nfifo = true\n",
	"advisory": "partition_key = \"name\"\nadvisory_lock = \"crowd-{name}\"\n",
}

// newFormInbox is an inbox whose table has one of the forms. The log has a line for each row where it is
// not quiet.
func newFormInbox(t *testing.T, database testdb.Database, table, module, handler, level string) *inbox {
	t.Helper()
	program, err := plainProgram()
	if err != nil {
		t.Fatal(err)
	}
	b := &inbox{t: t, program: program, name: database.Name, config: filepath.Join(t.TempDir(), "inbox.toml")}
	text := fmt.Sprintf("[database]\nurl = '%s'\n[runtime]\ncache_dir = '%s'\nlog = \"json\"\nlog_level = %q\n"+
		"[tables.jobs]\nid = \"id\"\nattempt = \"attempt\"\nretry_after = \"retry_after\"\npayload = \"payload\"\nerror = \"last_error\"\n%s"+
		"[handlers.work]\nmodule = '%s'\ntable = \"jobs\"\npoll_interval = \"50ms\"\n%s",
		database.URL, filepath.Join(shared, "cache"), level, table, module, handler)
	if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.db = open(t, database)
	b.run("schema", "--apply")
	return b
}

// TestCrowd has several processes serve one table: each row is delivered once, and rows that share a key
// or a FIFO group are never in work together, by the times at which their handlers begin and end. The
// groups keep their order. With 20,000 rows:
//
//	INBOX_TEST_ROWS=20000 go run ./internal/testserver -- go test ./internal/e2e -run TestCrowd -v -timeout 30m
func TestCrowd(t *testing.T) {
	rows, whole := 1000, false
	if text := os.Getenv(rowsVariable); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", rowsVariable, err)
		}
		whole = true
	}
	// One cell of each form, each on another server.
	eight := map[string]string{"lease": "mariadb", "row lock": "postgres", "advisory": "postgres"}
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		for _, form := range []string{"lease", "row lock", "advisory"} {
			t.Run(form, func(t *testing.T) {
				switch {
				case database.Name != "sqlite":
				case form == "row lock":
					t.Skip("SQLite has no row locks")
				case form == "advisory":
					crowd(t, fresh(t, database), form, 1, rows)
					return
				}
				crowd(t, fresh(t, database), form, 2, rows)
				if whole || eight[form] == database.Name {
					crowd(t, fresh(t, database), form, 8, rows)
				}
			})
		}
	})
}

// fresh is another database of the same kind.
func fresh(t *testing.T, database testdb.Database) testdb.Database {
	t.Helper()
	return testdb.Database{Name: database.Name, URL: map[string]func(testing.TB) string{
		"postgres": testdb.Postgres, "mariadb": testdb.MariaDB, "sqlite": testdb.SQLite}[database.Name](t)}
}

func crowd(t *testing.T, database testdb.Database, form string, processes, rows int) {
	t.Helper()
	handler := "threads = 4\n"
	if form != "advisory" {
		handler += "group = \"*\"\n"
	}
	b := newFormInbox(t, database, formTables[form], testwasm.WATFile(t, "testdata/interval.wat"), handler, "info")
	ps := make([]*process, processes)
	for i := range ps {
		ps[i] = b.start("serve")
	}
	for _, p := range ps {
		p.says("that it serves", starting("serving"))
	}
	if processes == 1 {
		b.refusesSecond()
	}
	began := time.Now()
	b.fill(rows)
	for more := time.Now().Add(time.Duration(rows) * 20 * time.Millisecond); time.Now().Before(more) && b.count(everyRow) > 0; {
		time.Sleep(pause) // a condition is looked at, as by empty
	}
	b.empty()
	took := time.Since(began)
	for _, p := range ps {
		p.terminate()
	}
	healthy(t, ps...)
	works := worksOf(t, ps)
	gap, wrong := checkCrowd(works, rows, form != "advisory")
	for _, what := range wrong[:min(len(wrong), 20)] {
		t.Error(what)
	}
	share := make([]int, processes)
	for _, w := range works {
		share[w.process]++
	}
	t.Logf("%d processes: %d rows in %v (%.0f a second), shares %v, handed to another process %d times; the closest two of one key are %v apart",
		processes, rows, took.Round(time.Millisecond), float64(rows)/took.Seconds(), share, handovers(works), gap)
	if processes > 1 && handovers(works) == 0 {
		t.Error("no key was ever handed from one process to another, so nothing is shown")
	}
}

// fill writes rows with the ids from 1 on, all at once.
func (b *inbox) fill(rows int) {
	b.t.Helper()
	name := fmt.Sprintf("'k' || (n %% %d)", crowdKeys)
	numbers := fmt.Sprintf("generate_series(1, %d) AS n", rows)
	switch b.name {
	case "mariadb":
		name = fmt.Sprintf("CONCAT('k', n %% %d)", crowdKeys)
		numbers = fmt.Sprintf("(SELECT seq AS n FROM seq_1_to_%d) AS s", rows)
	case "sqlite":
		numbers = fmt.Sprintf("(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s)", rows)
	}
	if _, err := b.db.ExecContext(b.t.Context(), "INSERT INTO jobs (id, name, payload) SELECT n, "+name+", '0' FROM "+numbers); err != nil {
		b.t.Fatal(err)
	}
}

// refusesSecond starts one more process, which must not serve.
func (b *inbox) refusesSecond() {
	b.t.Helper()
	p := b.start("serve")
	if code := p.code(); code == 0 {
		b.t.Error("a second process serves the file")
	}
	if text := tail(p.log); !strings.Contains(text, "another process serves") {
		b.t.Errorf("the second process says: %s", text)
	}
}

// work is one delivery, between the lines that its handler logs at its begin and at its end.
type work struct {
	id         int
	process    int
	begin, end time.Time
}

func (w work) key() int { return w.id % crowdKeys }

// worksOf reads the deliveries of all of the processes out of their logs, in the order of their begins.
func worksOf(t *testing.T, processes []*process) []work {
	t.Helper()
	var works []work
	for i, p := range processes {
		works = append(works, readWorks(t, i, p.log)...)
	}
	slices.SortFunc(works, func(a, b work) int { return a.begin.Compare(b.begin) })
	return works
}

func readWorks(t *testing.T, number int, log string) []work {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var works []work
	open := map[string]time.Time{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var l struct {
			Time time.Time `json:"time"`
			Msg  string    `json:"msg"`
			Row  string    `json:"row"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		switch l.Msg {
		case "begin":
			if _, twice := open[l.Row]; twice {
				t.Errorf("row %s began twice in one process", l.Row)
			}
			open[l.Row] = l.Time
		case "end":
			id, err := strconv.Atoi(l.Row)
			if err != nil {
				t.Fatal(err)
			}
			works = append(works, work{id: id, process: number, begin: open[l.Row], end: l.Time})
			delete(open, l.Row)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for id := range open {
		t.Errorf("row %s did not end", id)
	}
	return works
}

// checkCrowd says what is wrong where a row was not delivered once, one of a key overlaps another, or the
// order of the ids is lost where it is kept. It gives the shortest time between two rows of a key.
func checkCrowd(works []work, rows int, ordered bool) (gap time.Duration, wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	gap = time.Hour
	seen := make(map[int]bool, rows)
	last := map[int]work{} // of each key, the one that ended last
	for _, w := range works {
		if seen[w.id] {
			say("row %d was delivered twice", w.id)
		}
		seen[w.id] = true
		before, ok := last[w.key()]
		if ok {
			gap = min(gap, w.begin.Sub(before.end))
			if w.begin.Before(before.end) {
				say("row %d of process %d began at %s, before row %d of process %d ended at %s", w.id, w.process, stamp(w.begin), before.id, before.process, stamp(before.end))
			}
			if ordered && w.id < before.id {
				say("row %d came after row %d of its group", w.id, before.id)
			}
		}
		if !ok || w.end.After(before.end) {
			last[w.key()] = w
		}
	}
	if len(seen) != rows {
		say("%d of %d rows were delivered", len(seen), rows)
	}
	return gap, wrong
}

func stamp(t time.Time) string { return t.Format("15:04:05.000000") }

// handovers counts the rows that were delivered by another process than the one of their key before them.
func handovers(works []work) int {
	n := 0
	last := map[int]int{}
	for _, w := range works {
		if p, ok := last[w.key()]; ok && p != w.process {
			n++
		}
		last[w.key()] = w.process
	}
	return n
}

// TestCheckCrowdSeesOverlaps: what the proof would miss, it would not prove.
func TestCheckCrowdSeesOverlaps(t *testing.T) {
	start := time.Now()
	at := func(id, begin, end int) work {
		return work{id: id, begin: start.Add(time.Duration(begin) * time.Microsecond), end: start.Add(time.Duration(end) * time.Microsecond)}
	}
	for want, works := range map[string][]work{
		"before row 1":    {at(1, 0, 20), at(1+crowdKeys, 19, 30)},
		"before row 21":   {at(1, 0, 100), at(1+crowdKeys, 101, 200), at(1+2*crowdKeys, 210, 220), at(1+3*crowdKeys, 150, 160)},
		"delivered twice": {at(1, 0, 10), at(1, 20, 30)},
		"came after":      {at(1+crowdKeys, 0, 10), at(1, 20, 30)},
		"1 of 2 rows":     {at(1, 0, 10)},
		"":                {at(1, 0, 10), at(2, 5, 9), at(1+crowdKeys, 11, 20)},
	} {
		slices.SortFunc(works, func(a, b work) int { return a.begin.Compare(b.begin) })
		_, wrong := checkCrowd(works, max(2, len(works)), true)
		if text := strings.Join(wrong, "\n"); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%q is not said, but %q", want, text)
		}
	}
}
