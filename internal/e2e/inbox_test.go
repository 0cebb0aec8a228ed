package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	_ "modernc.org/sqlite"             // registers the driver "sqlite"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// inbox is a table with a handler on a database of its own.
type inbox struct {
	t       *testing.T
	program string
	config  string // the file
	db      *sql.DB
	name    string // of the kind of database
}

// options are what inbox.toml says beyond what every test has: lines of its sections.
type options struct {
	module   string
	runtime  string
	tables   string
	handler  string
	settings string
	race     bool
	quiet    bool // the log has no line for each row
}

const settings = `
[database]
url = '%s'

[runtime]
cache_dir = '%s'
log = "json"
log_level = "%s"
%s

[tables.jobs]
id = "id"
group = "name"
attempt = "attempt"
retry_after = "retry_after"
locked_until = "locked_until"
headers = "headers"
payload = "payload"
error = "last_error"
%s

[handlers.work]
module = '%s'
table = "jobs"
%s

[handlers.work.config]
%s
`

// newInbox writes inbox.toml and creates the table by the program's own command.
func newInbox(t *testing.T, database testdb.Database, o options) *inbox {
	t.Helper()
	build := plainProgram
	if o.race {
		build = raceProgram
	}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	b := &inbox{t: t, program: program, name: database.Name, config: filepath.Join(t.TempDir(), "inbox.toml")}
	level := "debug"
	if o.quiet {
		level = "info"
	}
	text := fmt.Sprintf(settings, database.URL, filepath.Join(shared, "cache"), level, o.runtime, o.tables, o.module, o.handler, o.settings)
	if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.db = open(t, database)
	b.run("schema", "--apply")
	return b
}

// slow is the module of testdata/slow.wat.
func slow(t *testing.T) string { return testwasm.WATFile(t, "testdata/slow.wat") }

// open connects to the database beside the program.
func open(t *testing.T, database testdb.Database) *sql.DB {
	t.Helper()
	driver, source := "", ""
	switch database.Name {
	case "postgres":
		driver, source = "pgx", database.URL
	case "mariadb":
		u, err := url.Parse(database.URL)
		if err != nil {
			t.Fatal(err)
		}
		c := mysqldriver.NewConfig()
		c.User, c.Net, c.Addr, c.DBName = u.User.Username(), "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
		c.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
		c.Logger = &mysqldriver.NopLogger{}
		driver, source = "mysql", c.FormatDSN()
	case "sqlite":
		driver = "sqlite"
		source = "file:" + strings.TrimPrefix(database.URL, "sqlite:") + "?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// run runs a command of the program to its successful end and returns what it printed.
func (b *inbox) run(args ...string) string {
	b.t.Helper()
	p := b.start(args...)
	p.succeed()
	return p.output()
}

// start starts a command of the program.
func (b *inbox) start(args ...string) *process {
	b.t.Helper()
	return start(b.t, b.program, append(args, "-c", b.config)...)
}

// enqueue writes a row for each payload, in one command. The first row of a table has the id 1.
func (b *inbox) enqueue(payloads ...string) {
	b.t.Helper()
	var lines bytes.Buffer
	for _, payload := range payloads {
		if err := json.NewEncoder(&lines).Encode(map[string]string{"payload": payload}); err != nil {
			b.t.Fatal(err)
		}
	}
	name := filepath.Join(b.t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(name, lines.Bytes(), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.run("enqueue", "jobs", "--jsonl", name, "--envelope")
}

// nows is the time in a query, and in an hour less a bit, by database.
var nows = map[string]struct{ now, soon string }{
	"postgres": {"now()", "now() + interval '30 minutes'"},
	"mariadb":  {"UTC_TIMESTAMP(6)", "UTC_TIMESTAMP(6) + INTERVAL 30 MINUTE"},
	"sqlite":   {"strftime('%Y-%m-%d %H:%M:%f', 'now')", "strftime('%Y-%m-%d %H:%M:%f', 'now', '+30 minutes')"},
}

// query fills in {now} and {soon}.
func (b *inbox) query(where string) string {
	n := nows[b.name]
	return strings.NewReplacer("{now}", n.now, "{soon}", n.soon).Replace(where)
}

// countError counts rows; the database may be down.
func (b *inbox) countError(where string) (n int, err error) {
	err = b.db.QueryRowContext(b.t.Context(), b.query("SELECT COUNT(*) FROM jobs WHERE "+where)).Scan(&n)
	return n, err
}

// count counts rows.
func (b *inbox) count(where string) int {
	b.t.Helper()
	n, err := b.countError(where)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// rows gives a text for each row by its id.
func (b *inbox) rows(text, where string) map[string]string {
	b.t.Helper()
	answer, err := b.db.QueryContext(b.t.Context(), b.query("SELECT id, "+text+" FROM jobs WHERE "+where))
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Close()
	rows := map[string]string{}
	for answer.Next() {
		var id string
		var value sql.NullString
		if err := answer.Scan(&id, &value); err != nil {
			b.t.Fatal(err)
		}
		rows[id] = value.String
	}
	if err := answer.Err(); err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// Conditions of rows.
const (
	everyRow = "1 = 1"
	leased   = "locked_until > {now}"
	unheld   = "(locked_until IS NULL OR locked_until <= {now})"
	hidden   = "name = 'work' AND retry_after > {soon} AND " + unheld
	due      = "name = 'work' AND retry_after <= {now}"
)

// empty waits until the table has no row left.
func (b *inbox) empty() {
	b.t.Helper()
	eventually(b.t, "the table is empty", func() bool {
		n, err := b.countError(everyRow)
		return err == nil && n == 0
	})
}

// report is what serve --until-empty --json prints of its only handler.
type report struct {
	Acked        int `json:"acked"`
	Dropped      int `json:"dropped"`
	DeadLettered int `json:"dead_lettered"`
	Retried      int `json:"retried"`
	Delayed      int `json:"delayed"`
	Released     int `json:"released"`
	Interrupted  int `json:"interrupted"`
	Lost         int `json:"lost"`
	Unsettled    int `json:"unsettled"`
	Waiting      struct {
		Held    int `json:"held"`
		Due     int `json:"due"`
		Delayed int `json:"delayed"`
	} `json:"waiting"`
}

func (p *process) report() report {
	p.t.Helper()
	var reports []report
	if err := json.Unmarshal([]byte(p.output()), &reports); err != nil || len(reports) != 1 {
		p.t.Fatalf("the report is %q: %v", p.output(), err)
	}
	return reports[0]
}

// final are the outcomes after which a row is not delivered again.
var final = []string{"acked", "dropped", "dead_lettered"}

// settledOnce checks that over all of the processes no row came twice to one of the outcomes, after
// which it should not be delivered again, and returns the outcome of each row that has one.
func settledOnce(t *testing.T, last []string, processes ...*process) map[string]string {
	t.Helper()
	outcomes := map[string]string{}
	for i, p := range processes {
		for _, l := range p.read() {
			if l.Message != "settled" || !slices.Contains(last, l.Outcome) {
				continue
			}
			if before, twice := outcomes[l.Row]; twice {
				t.Errorf("row %s is settled twice: %s, and %s by process %d", l.Row, before, l.Outcome, i+1)
			}
			outcomes[l.Row] = l.Outcome
		}
	}
	return outcomes
}

// with are the rows of an outcome, sorted.
func with(outcomes map[string]string, outcome string) []string {
	var rows []string
	for row, o := range outcomes {
		if o == outcome {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// healthy checks that no process has panicked or raced.
func healthy(t *testing.T, processes ...*process) {
	t.Helper()
	for i, p := range processes {
		for _, l := range p.read() {
			if l.Level == "NONE" {
				t.Errorf("process %d says outside of its log: %s", i+1, l.Message)
				break
			}
		}
	}
}

// at is a time for a message.
func at(t time.Time) string { return t.UTC().Format("15:04:05.000") }
