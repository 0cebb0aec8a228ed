package forms_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// open connects to a test's database.
func open(t *testing.T, db testdb.Database) store.Store {
	t.Helper()
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// each runs a test on every database.
func each(t *testing.T, run func(t *testing.T, s store.Store)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db testdb.Database) { run(t, open(t, db)) })
}

// roles gives each role a column of its own name.
func roles(list ...dialect.Role) map[dialect.Role]string {
	named := map[dialect.Role]string{}
	for _, r := range list {
		named[r] = r.String()
	}
	return named
}

// everyRole is a table with all of them.
func everyRole() *dialect.Table {
	return &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Roles()...)}
}

// leased is a table that keeps what most tests need.
func leased() *dialect.Table {
	return &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Priority,
		dialect.RetryAfter, dialect.Attempt, dialect.LockedUntil, dialect.Headers, dialect.Payload, dialect.Error)}
}

// create makes a table as the dialect's schema has it and describes it.
func create(t *testing.T, s store.Store, table *dialect.Table) *dialect.Table {
	t.Helper()
	schema := s.Dialect().Schema(table)
	script(t, s, schema.Table)
	if schema.Index != "" {
		script(t, s, schema.Index)
	}
	describe(t, s, table)
	return table
}

func script(t *testing.T, s store.Store, sql string) {
	t.Helper()
	if err := s.Script(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func describe(t *testing.T, s store.Store, table *dialect.Table) {
	t.Helper()
	if err := forms.Describe(t.Context(), s, table); err != nil {
		t.Fatal(err)
	}
	if flaws := table.Check(s.Dialect()); len(flaws) > 0 {
		t.Fatalf("table %s: %+v", table, flaws)
	}
}

// lease is the form over a table, reading the group "g" for 30 s at a time.
func lease(t *testing.T, s store.Store, table *dialect.Table, change ...func(*forms.Options)) *forms.Lease {
	t.Helper()
	o := forms.Options{Table: table, Lease: 30 * time.Second, Now: time.Now}
	if table.Has(dialect.Group) {
		o.Group = "g"
		o.DeadGroup = "dead"
	}
	for _, c := range change {
		c(&o)
	}
	l, err := forms.NewLease(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// fill writes n rows into the group "g" with the payloads "1", "2", ….
func fill(t *testing.T, s store.Store, table *dialect.Table, n int) {
	t.Helper()
	messages := make([]forms.Message, n)
	for i := range messages {
		messages[i] = forms.Message{Payload: []byte(strconv.Itoa(i + 1))}
		if table.Has(dialect.Group) {
			messages[i].Group = "g"
		}
	}
	write(t, s, table, messages...)
}

func write(t *testing.T, s store.Store, table *dialect.Table, messages ...forms.Message) {
	t.Helper()
	if err := forms.NewWriter(s, table, time.Now).Write(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, l forms.Form, limit int) []*forms.Delivery {
	t.Helper()
	deliveries, err := l.Claim(t.Context(), limit, false)
	if err != nil {
		t.Fatal(err)
	}
	return deliveries
}

// claimOne claims exactly one row.
func claimOne(t *testing.T, l forms.Form) *forms.Delivery {
	t.Helper()
	deliveries := claim(t, l, 1)
	if len(deliveries) != 1 {
		t.Fatalf("claimed %d rows, want 1", len(deliveries))
	}
	return deliveries[0]
}

// settle ends deliveries and wants the same state from each.
func settle(t *testing.T, l forms.Form, want forms.State, settlements ...*forms.Settlement) {
	t.Helper()
	for i, answer := range l.Settle(t.Context(), settlements) {
		if answer.State != want {
			t.Fatalf("settlement %d of row %s: %v (%v), want %v", i, settlements[i].Delivery.ID, answer.State, answer.Err, want)
		}
	}
}

func payloads(deliveries []*forms.Delivery) string {
	var text []string
	for _, d := range deliveries {
		text = append(text, string(d.Payload))
	}
	return strings.Join(text, " ")
}

// query reads a whole answer as text, rows on lines, NULL as a dash.
func query(t *testing.T, s store.Store, sql string) string {
	t.Helper()
	var lines []string
	statement := dialect.Statement{SQL: sql}
	err := s.Query(context.WithoutCancel(t.Context()), &statement, 0, nil, func(values [][]byte) error {
		var line []string
		for _, v := range values {
			if v == nil {
				line = append(line, "-")
			} else {
				line = append(line, string(v))
			}
		}
		lines = append(lines, strings.Join(line, "|"))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// content is every column of every row as text, in the order of the key.
func content(t *testing.T, s store.Store, table *dialect.Table) string {
	t.Helper()
	names := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		names[i] = c.Name
	}
	return columns(t, s, table, names...)
}

// columns is the content of some columns of every row, in the order of the key. Bytes that are text
// are written as text.
func columns(t *testing.T, s store.Store, table *dialect.Table, names ...string) string {
	t.Helper()
	d := s.Dialect()
	cast := make([]string, len(names))
	for i, name := range names {
		cast[i] = d.Quote(name)
		switch {
		case d.Name() != "PostgreSQL":
		case table.Named(name).Kind == dialect.Bytes:
			cast[i] = "encode(" + cast[i] + ", 'escape')"
		default:
			cast[i] += "::text"
		}
	}
	keys := make([]string, len(table.ID))
	for i, name := range table.ID {
		keys[i] = d.Quote(name)
	}
	return query(t, s, "SELECT "+strings.Join(cast, ", ")+" FROM "+quoted(s, table)+" ORDER BY "+strings.Join(keys, ", "))
}

func quoted(s store.Store, table *dialect.Table) string {
	name := s.Dialect().Quote(table.Name)
	if table.Schema != "" {
		name = s.Dialect().Quote(table.Schema) + "." + name
	}
	return name
}

// count is the number of rows of a table.
func count(t *testing.T, s store.Store, table *dialect.Table) string {
	t.Helper()
	return strings.TrimSpace(query(t, s, "SELECT CAST(COUNT(*) AS CHAR(20)) FROM "+quoted(s, table)))
}

// createAs is create with some columns of other types, and with more columns.
func createAs(t *testing.T, s store.Store, table *dialect.Table, types map[string]string, more ...string) *dialect.Table {
	t.Helper()
	script(t, s, createSQL(s, table, types, more...))
	describe(t, s, table)
	return table
}

func createSQL(s store.Store, table *dialect.Table, types map[string]string, more ...string) string {
	lines := strings.Split(s.Dialect().Schema(table).Table, "\n")
	for i, line := range lines {
		for column, typeName := range types {
			if start := "  " + s.Dialect().Quote(column) + " "; strings.HasPrefix(line, start) {
				lines[i] = start + typeName
				if strings.HasSuffix(line, ",") {
					lines[i] += ","
				}
			}
		}
	}
	last := len(lines) - 1
	for _, column := range more {
		lines[last-1] += ","
		lines = append(lines[:last], "  "+column, lines[last])
		last++
	}
	return strings.Join(lines, "\n")
}

// clock is a host's clock that a test moves. It starts a minute ahead, so that whatever the database
// wrote by its own clock is due.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(time.Now().Add(time.Minute).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }
func (c *clock) use(o *forms.Options)    { o.Now = c.now }

// afterLease is when a lease that starts now has certainly ended: its end is random within a second.
const afterLease = 32 * time.Second

// finish and back are the settlements that most tests make.
func finish(d *forms.Delivery) *forms.Settlement {
	return &forms.Settlement{Delivery: d, Change: forms.Finish}
}

func back(d *forms.Delivery) *forms.Settlement {
	return &forms.Settlement{Delivery: d, Change: forms.Return}
}

func settlements(deliveries []*forms.Delivery, of func(*forms.Delivery) *forms.Settlement) []*forms.Settlement {
	list := make([]*forms.Settlement, len(deliveries))
	for i, d := range deliveries {
		list[i] = of(d)
	}
	return list
}

// extend extends deliveries and wants the same state from each.
func extend(t *testing.T, l forms.Form, want forms.State, deliveries ...*forms.Delivery) {
	t.Helper()
	for i, answer := range l.Extend(t.Context(), deliveries) {
		if answer.State != want {
			t.Fatalf("extension of row %s: %v (%v), want %v", deliveries[i].ID, answer.State, answer.Err, want)
		}
	}
}

// states are the states of answers in words.
func states(answers []forms.Answer) string {
	words := make([]string, len(answers))
	for i, a := range answers {
		words[i] = a.State.String()
	}
	return strings.Join(words, " ")
}

// equal compares what a test found with what it wants.
func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got +, want -\n%s", what, diff)
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// eventually asks again and again until there is something to be told.
func eventually(t *testing.T, ask func() string) string {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if answer := ask(); answer != "" {
			return answer
		}
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		time.Sleep(time.Millisecond)
	}
}
