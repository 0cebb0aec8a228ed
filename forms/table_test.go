package forms_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestDescribeWithoutATable says so, whichever part of its name is wrong.
func TestDescribeWithoutATable(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		create(t, s, leased())
		for _, table := range []*dialect.Table{
			{Name: "missing"}, {Name: "JOBS;"}, {Name: "it's"}, {Name: `jobs"`}, {Name: "jobs`"}, {Name: `\`}, {Schema: "nowhere", Name: "jobs"}, {Name: ""},
		} {
			if table.Schema != "" && s.Dialect().Name() == "SQLite" {
				continue // it is an error of another kind there
			}
			if err := forms.Describe(t.Context(), s, table); !errors.Is(err, forms.ErrNoTable) {
				t.Errorf("table %q: %v, want ErrNoTable", table, err)
			}
		}
	})
}

// TestDescribe reads types, what they hold, and what their columns refuse.
func TestDescribe(t *testing.T) {
	tables := map[string]struct{ sql, want string }{
		"postgres": {
			`CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY, s smallint NOT NULL, i integer, u uuid, t text, v varchar(20), b bytea,
				z timestamptz, z0 timestamptz(0), p3 timestamp(3), j jsonb, n numeric(10,2), a text[], o boolean,
				g integer GENERATED ALWAYS AS (s + 1) STORED, "Q""q" text, d date)`,
			`id bigint integer 9223372036854775807 0 identity
s smallint integer 32767 0
i integer integer 2147483647 0 null
u uuid identifier 0 0 null
t text text 0 0 null
v character varying(20) text 0 0 null
b bytea bytes 0 0 null
z timestamp with time zone time 0 6 null
z0 timestamp(0) with time zone time 0 0 null
p3 timestamp(3) without time zone time 0 3 null
j jsonb JSON 0 0 null
n numeric(10,2) number 0 0 null
a text[] other 0 0 null
o boolean other 0 0 null
g integer integer 2147483647 0 null generated
Q"q text text 0 0 null
d date other 0 0 null`,
		},
		"mariadb": {
			"CREATE TABLE jobs (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, b1 tinyint, s smallint unsigned NOT NULL, i int, u bigint unsigned, " +
				"t text, v varchar(20), b varbinary(16), z datetime, z6 datetime(6), p3 timestamp(3) NULL, n decimal(10,2), " +
				"g int GENERATED ALWAYS AS (s + 1) STORED, `Q``q` text, d date, `bit` bit(3))",
			`id bigint integer 9223372036854775807 0
b1 tinyint integer 127 0 null
s smallint unsigned integer 65535 0
i int integer 2147483647 0 null
u bigint unsigned integer 9223372036854775807 0 null
t text text 0 0 null
v varchar(20) text 0 0 null
b varbinary(16) bytes 0 0 null
z datetime time 0 0 null
z6 datetime(6) time 0 6 null
p3 timestamp(3) time 0 3 null
n decimal(10,2) number 0 0 null
g int integer 2147483647 0 null generated
Q` + "`" + `q text text 0 0 null
d date other 0 0 null
bit bit(3) other 0 0 null`,
		},
		"sqlite": {
			`CREATE TABLE jobs (id INTEGER PRIMARY KEY, s SMALLINT NOT NULL, t TEXT, v VARCHAR(20), b BLOB, z DATETIME, j JSON, n NUMERIC(10,2), u UUID, x,
				g INTEGER GENERATED ALWAYS AS (s + 1) VIRTUAL, "Q""q" TEXT)`,
			`id INTEGER integer 9223372036854775807 6
s SMALLINT integer 9223372036854775807 6
t TEXT text 0 6 null
v VARCHAR(20) text 0 6 null
b BLOB bytes 0 6 null
z DATETIME time 0 6 null
j JSON JSON 0 6 null
n NUMERIC(10,2) number 0 6 null
u UUID identifier 0 6 null
x  bytes 0 6 null
g INTEGER integer 9223372036854775807 6 null generated
Q"q TEXT text 0 6 null`,
		},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		if postgresBefore12(t, s) {
			t.Skip("PostgreSQL before 12 has no generated columns")
		}
		script(t, s, tables[db.Name].sql)
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}}
		// Asked again, it says the same.
		for range 2 {
			describe(t, s, table)
			var lines []string
			for _, c := range table.Columns {
				// MariaDB says how wide a number is shown, MySQL does not.
				typeName := regexp.MustCompile(`int\(\d+\)`).ReplaceAllString(c.Type, "int")
				line := c.Name + " " + typeName + " " + c.Kind.String() + " " + number(c.Max) + " " + number(int64(c.Precision))
				if c.Nullable {
					line += " null"
				}
				if c.Generated {
					line += " generated"
				}
				if c.AlwaysIdentity {
					line += " identity"
				}
				lines = append(lines, line)
			}
			equal(t, "columns", strings.Join(lines, "\n"), tables[db.Name].want)
		}
	})
}

// TestCheck finds every column that is missing, cannot play its role, or must be allowed to be NULL.
func TestCheck(t *testing.T) {
	wrong := map[string]map[string]string{
		"postgres": {"group": "bytea", "priority": "boolean", "partition_key": "jsonb", "retry_after": "date", "attempt": "text", "processed_at": "boolean",
			"locked_until": "bigint", "headers": "bytea", "payload": "integer", "error": "bytea", "origin": "integer", "created_at": "text", "id": "jsonb"},
		"mariadb": {"group": "datetime", "priority": "blob", "partition_key": "datetime", "retry_after": "date", "attempt": "text", "processed_at": "int",
			"locked_until": "bigint", "headers": "blob", "payload": "int", "error": "blob", "origin": "int", "created_at": "text", "id": "bit(3)"},
		"sqlite": {"group": "BLOB", "priority": "BLOB", "partition_key": "DATETIME", "retry_after": "INTEGER", "attempt": "TEXT", "processed_at": "INTEGER",
			"locked_until": "REAL", "headers": "BLOB", "payload": "INTEGER", "error": "BLOB", "origin": "INTEGER", "created_at": "REAL", "id": "JSON"},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		d := s.Dialect()
		check := func(table *dialect.Table) []dialect.Flaw {
			t.Helper()
			if err := forms.Describe(t.Context(), s, table); err != nil {
				t.Fatal(err)
			}
			return table.Check(d)
		}

		table := everyRole()
		script(t, s, createSQL(s, table, wrong[db.Name]))
		flaws := check(table)
		found := map[string]bool{}
		for _, f := range flaws {
			if f.Column != f.Role || f.What == "" || f.Remedy == "" || !strings.Contains(f.What, `"`+f.Column+`"`) {
				t.Errorf("%+v", f)
			}
			found[f.Role] = true
		}
		for role := range wrong[db.Name] {
			if !found[role] {
				t.Errorf("%s of type %s has no flaw", role, wrong[db.Name][role])
			}
		}
		equal(t, "flaws", number(int64(len(flaws))), number(int64(len(wrong[db.Name]))))

		missing := &dialect.Table{Name: "jobs", ID: []string{"key"}, Roles: map[dialect.Role]string{
			dialect.Payload: "body", dialect.LockedUntil: "until"}}
		equal(t, "missing columns", number(int64(len(check(missing)))), "3")
		if what := check(missing)[0].What + check(missing)[0].Remedy; !strings.Contains(what, `"key"`) || !strings.Contains(what, "locked_until") {
			t.Errorf("the flaw does not help: %s", what)
		}

		strict := everyRole()
		strict.Name = "strict"
		types := map[string]string{}
		for _, line := range strings.Split(d.Schema(strict).Table, "\n") {
			for _, column := range []string{"locked_until", "processed_at", "error", "origin"} {
				if rest, found := strings.CutPrefix(line, "  "+d.Quote(column)+" "); found {
					types[column] = strings.TrimSuffix(rest, ",") + " NOT NULL"
				}
			}
		}
		script(t, s, createSQL(s, strict, types))
		var roles []string
		for _, f := range check(strict) {
			roles = append(roles, f.Role)
		}
		equal(t, "columns that must take NULL", strings.Join(roles, " "), "processed_at locked_until error origin")
	})
}

// TestWriteAllOrNone: one message that the database refuses takes the others with it.
func TestWriteAllOrNone(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := leased()
		create(t, s, table)
		script(t, s, "CREATE UNIQUE INDEX one_priority ON jobs (priority)")
		w := forms.NewWriter(s, table, time.Now)
		message := func(priority int64) forms.Message {
			return forms.Message{Payload: []byte("p"), Group: "g", Priority: &priority}
		}
		if err := w.Write(t.Context(), []forms.Message{message(1), message(2), message(1)}); err == nil || !strings.Contains(err.Error(), "jobs") {
			t.Errorf("a duplicate: %v", err)
		}
		equal(t, "rows", count(t, s, table), "0")
		if err := w.Write(t.Context(), []forms.Message{message(1), {Payload: []byte("q"), Group: "g"}, message(2)}); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Write(ctx, []forms.Message{message(3)}); err == nil {
			t.Error("written without a context")
		}
		if err := w.Write(t.Context(), nil); err != nil {
			t.Errorf("no messages: %v", err)
		}
		equal(t, "rows", columns(t, s, table, "payload", "priority"), "p|1\nq|0\np|2")
	})
}

// TestWriteWhatTheTableLacks is an error that names the role, and a table without a payload takes a
// message without one, and hands over the row.
func TestWriteWhatTheTableLacks(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Group)})
		w := forms.NewWriter(s, table, time.Now)
		key := "k"
		for role, m := range map[string]forms.Message{
			"payload": {Payload: []byte("p")}, "headers": {Headers: []byte("{}")}, "retry_after": {Delay: time.Second}, "partition_key": {PartitionKey: &key},
		} {
			if err := w.Write(t.Context(), []forms.Message{{Group: "g"}, m}); err == nil || !strings.Contains(err.Error(), role) {
				t.Errorf("%s: %v", role, err)
			}
		}
		equal(t, "rows", count(t, s, table), "0")
		if err := w.Write(t.Context(), []forms.Message{{Group: "g"}}); err != nil {
			t.Error(err)
		}
		if err := w.Write(t.Context(), []forms.Message{{}}); err == nil {
			t.Error("a message with no values at all was written")
		}
		l := lease(t, s, table)
		if d := claimOne(t, l); !strings.HasSuffix(string(d.Payload), `,"group":"g"}`) || d.Attempt != 0 {
			t.Errorf("%+v", d)
		}
	})
}

// TestWriteDelay, in columns that keep less: never early.
func TestWriteDelay(t *testing.T) {
	types := map[string][]string{"postgres": {"timestamptz(0)", "timestamp(3)"}, "mariadb": {"datetime", "datetime(3)"}, "sqlite": {"TEXT"}}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for _, typeName := range types[db.Name] {
			table, host := leased(), newClock()
			table.Name = "jobs " + typeName
			createAs(t, s, table, map[string]string{"retry_after": typeName})
			if err := forms.NewWriter(s, table, host.now).Write(t.Context(), []forms.Message{{Payload: []byte("p"), Group: "g", Delay: 5 * time.Second}}); err != nil {
				t.Fatal(err)
			}
			l := lease(t, s, table, host.use)
			host.advance(5*time.Second - time.Microsecond)
			equal(t, typeName+" before", payloads(claim(t, l, 1)), "")
			host.advance(time.Second + time.Microsecond)
			equal(t, typeName+" after", payloads(claim(t, l, 1)), "p")
		}
	})
}
