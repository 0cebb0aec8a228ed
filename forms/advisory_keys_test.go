package forms_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// renders asks the database for the keys of every row, and their locks' names.
func renders(t *testing.T, s store.Store, table *dialect.Table) (keys, names string) {
	t.Helper()
	d := s.Dialect().(dialect.Advisory)
	candidates := d.AdvisoryClaim(table, dialect.Selection{AllGroups: true})
	var lines, others []string
	var args []any
	for _, p := range candidates.Params {
		switch p.Name {
		case dialect.Now:
			args = append(args, s.Dialect().FormatTime(newClock().now(), 6))
		case dialect.LockNames:
			args = append(args, []any{})
		case dialect.Limit:
			if candidates.IsList() {
				args = append(args, "")
			}
			args = append(args, int64(100))
		default:
			t.Fatalf("the candidates bind %s", p)
		}
	}
	err := s.Query(t.Context(), &candidates, 1, args, func(v [][]byte) error {
		for i, output := range candidates.Returns {
			switch output.Field {
			case dialect.FieldLock:
				lines = append(lines, string(v[i]))
			case dialect.FieldName:
				others = append(others, string(v[i]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n"), strings.Join(others, "\n")
}

// TestKeyOfAnyText renders quotes, backslashes, braces and characters of all kinds as they stand, NULL as
// a key of the row's own, and locks each of them.
func TestKeyOfAnyText(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.PartitionKey, dialect.Payload),
			Key: []dialect.KeyPart{{Literal: `{it's "a" \n?$1%s` + "`;--/*list*/ é}-"}, {Column: "partition_key"}, {Literal: "/"}, {Column: "payload"}}})
		values := []string{`it's`, `"q"`, `back\slash\`, `{brace}`, `{{}}`, ``, ` `, `%s $1 ? :x`, "é", "日本", "😀", "new\nline", "A", "a", strings.Repeat("x", 150)}
		insert := s.Dialect().Insert(table, []dialect.Role{dialect.PartitionKey, dialect.Payload})
		var want []string
		var rows [][]any
		for _, v := range values {
			rows = append(rows, []any{v, []byte("p")})
			want = append(want, table.Key[0].Literal+v+"/70")
		}
		rows = append(rows, []any{nil, []byte("p")})
		want = append(want, "jobs 16")
		if err := s.ExecEach(t.Context(), &insert, rows); err != nil {
			t.Fatal(err)
		}
		keys, names := renders(t, s, table)
		equal(t, "keys", keys, strings.Join(want, "\n"))
		for _, name := range strings.Split(names, "\n") {
			if s.Dialect().Name() == "MySQL" && len([]rune(name)) > 64 {
				t.Errorf("the name %q has more than 64 characters", name)
			}
		}
		a := advisory(t, s, table)
		for _, n := range differentLocks(t, s, len(want)) {
			d, _ := take(t, a, 100)
			if len(d) != n {
				t.Errorf("claimed %d rows of %d keys", len(d), n)
			}
			for _, delivery := range d {
				ends(t, a, forms.Done, finish(delivery))
			}
		}
		equal(t, "rows", count(t, s, table), "0")
	})
}

// differentLocks is how many of the keys are claimed at once, one claim after the other: to MySQL, and not to
// MariaDB, A and a are one lock.
func differentLocks(t *testing.T, s store.Store, keys int) []int {
	t.Helper()
	if realMySQL(t, s) {
		return []int{keys - 1, 1}
	}
	return []int{keys}
}

// TestKeyNames names MariaDB's locks by the database, and by a hash where that is too long.
func TestKeyNames(t *testing.T) {
	db := testdb.Database{Name: "mariadb", URL: testdb.MariaDB(t)}
	s := open(t, db)
	table := keyed(t, s, channels())
	long := strings.Repeat("x", 60)
	put(t, s, table, "a", 1)
	put(t, s, table, long, 1)
	_, names := renders(t, s, table)
	database := query(t, s, "SELECT LOWER(DATABASE())")
	equal(t, "names", names, database+".jobs-a\n"+query(t, s, "SELECT SHA2('"+database+".jobs-"+long+"', 256)"))
	a := advisory(t, s, table)
	d := takes(t, a, 2, "a1 "+long+"1")
	equal(t, "used", query(t, s, "SELECT IS_USED_LOCK('"+database+".jobs-a') IS NOT NULL"), "1")
	ends(t, a, forms.Done, finish(d[0]), finish(d[1]))
	equal(t, "used", query(t, s, "SELECT IS_USED_LOCK('"+database+".jobs-a') IS NOT NULL"), "0")
}

// TestKeyOfEveryID takes rows by ids of every type, each row by a key of its own.
func TestKeyOfEveryID(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		types := map[string][2]string{
			"bigint": {"bigint", "9007199254740993"}, "text": {"varchar(40)", "'it''s'"}, "bytes": {"varbinary(8)", "X'00FF27'"},
			"number": {"decimal(20, 4)", "3.5000"}, "time": {"datetime(6)", "'2026-01-02 03:04:05.678901'"},
		}
		switch s.Dialect().Name() {
		case "PostgreSQL":
			types["bytes"] = [2]string{"bytea", `'\x00ff27'`}
			types["time"] = [2]string{"timestamptz", "'2026-01-02 03:04:05.678901+00'"}
			types["uuid"] = [2]string{"uuid", "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'"}
		case "SQLite":
			types["bytes"] = [2]string{"BLOB", "X'00FF27'"}
			delete(types, "time") // read as a time by the driver
		}
		for name, column := range types {
			t.Run(name, func(t *testing.T) {
				s := second(t, db, 4) // which remembers no other type of the column
				table := &dialect.Table{Name: "jobs", ID: []string{"id", "part"}, Roles: roles(dialect.Attempt, dialect.Payload),
					Key: []dialect.KeyPart{{Column: "id"}, {Literal: "/"}, {Column: "part"}}}
				createAs(t, s, table, map[string]string{"id": column[0] + " NOT NULL"})
				defer script(t, s, "DROP TABLE jobs")
				script(t, s, "INSERT INTO jobs (id, part, payload) VALUES ("+column[1]+", 1, 'x'), ("+column[1]+", 2, 'y')")
				a := advisory(t, s, table)
				d := takes(t, a, 5, "x y")
				takes(t, a, 5, "")
				ends(t, a, forms.Done, finish(d[0]), &forms.Settlement{Delivery: d[1], Change: forms.Return, Uncount: true})
				takes(t, a, 5, "y")
				if _, err := a.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}
