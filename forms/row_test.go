package forms_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// cell is a column of a type, a value of it in SQL, and how row mode hands it over.
type cell struct{ typeName, literal, want string }

// cells are every type of each database.
var cells = map[string][]cell{
	"postgres": {
		{"smallint", "-32768", "-32768"},
		{"integer", "2147483647", "2147483647"},
		{"bigint", "9007199254740993", "9007199254740993"},
		{"bigint", "-9223372036854775808", "-9223372036854775808"},
		{"oid", "4294967295", "4294967295"},
		{"numeric", "123456789012345678901234567890.123456789012345678901234567890", "123456789012345678901234567890.123456789012345678901234567890"},
		{"numeric(10,4)", "-0.5", "-0.5000"},
		{"numeric", "'NaN'", `"NaN"`},
		{"real", "0.1", "0.1"},
		{"double precision", "0.1", "0.1"},
		{"double precision", "'1.7976931348623157e308'", "1.7976931348623157e+308"},
		{"double precision", "'5e-324'", "5e-324"},
		{"double precision", "'NaN'", `"NaN"`},
		{"double precision", "'Infinity'", `"Infinity"`},
		{"double precision", "'-Infinity'", `"-Infinity"`},
		{"boolean", "true", "true"},
		{"boolean", "false", "false"},
		{"text", `E'größer "<&>" \\ \n\t\x01'`, `"größer \"<&>\" \\ \n\t\u0001"`},
		{"text", "''", `""`},
		{"varchar(5)", "'abc  '", `"abc  "`},
		{"char(5)", "'abc'", `"abc"`},
		{"bytea", `'\x0001ff'`, `{"base64":"AAH/"}`},
		{"bytea", "''", `{"base64":""}`},
		{"timestamptz", "'2026-02-03 04:05:06.123456+02'", `"2026-02-03T02:05:06.123456Z"`},
		{"timestamptz(0)", "'2026-02-03 04:05:06'", `"2026-02-03T04:05:06Z"`},
		{"timestamptz", "'infinity'", `"infinity"`},
		{"timestamptz", "'0044-03-15 12:00:00 BC'", `"0044-03-15 12:00:00+00 BC"`},
		{"timestamp", "'2026-02-03 04:05:06.5'", `"2026-02-03T04:05:06.5Z"`},
		{"date", "'2026-02-03'", `"2026-02-03"`},
		{"time", "'04:05:06.5'", `"04:05:06.5"`},
		{"timetz", "'04:05:06+02'", `"04:05:06+02"`},
		{"interval", "'1 year 2 mons 3 days 04:05:06'", `"1 year 2 mons 3 days 04:05:06"`},
		{"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		{"json", `'{"b": 1.50, "a": [12345678901234567890, null]}'`, `{"b": 1.50, "a": [12345678901234567890, null]}`},
		{"jsonb", `'{"b": 1.50, "a": [12345678901234567890, null]}'`, `{"a": [12345678901234567890, null], "b": 1.50}`},
		{"jsonb", `'null'`, `null`},
		{"jsonb", `'"text"'`, `"text"`},
		{"integer[]", "'{1,2,NULL}'", `"{1,2,NULL}"`},
		{"text[]", `'{"a b","c"}'`, `"{\"a b\",c}"`},
		{"mood", "'glad'", `"glad"`},
		{"inet", "'192.168.0.1/24'", `"192.168.0.1/24"`},
		{"xml", "'<a/>'", `"<a/>"`},
		{"int4range", "'[1,5)'", `"[1,5)"`},
		{"bit(3)", "B'101'", `"101"`},
	},
	"mariadb": {
		{"tinyint", "-128", "-128"},
		{"tinyint unsigned", "255", "255"},
		{"boolean", "true", "1"},
		{"smallint", "-32768", "-32768"},
		{"mediumint", "8388607", "8388607"},
		{"int(8) zerofill", "42", "42"},
		{"bigint", "9007199254740993", "9007199254740993"},
		{"bigint", "-9223372036854775808", "-9223372036854775808"},
		{"bigint unsigned", "18446744073709551615", "18446744073709551615"},
		{"decimal(65,30)", "12345678901234567890123456789012345.123456789012345678901234567890", "12345678901234567890123456789012345.123456789012345678901234567890"},
		{"decimal(10,4)", "-0.5", "-0.5000"},
		{"decimal(10,4) zerofill", "1.5", "1.5000"},
		{"float", "0.1", "0.1"},
		{"float", "16777215", "1.6777215e+07"},
		{"double", "0.1", "0.1"},
		{"double", "1.7976931348623157e308", "1.7976931348623157e+308"},
		{"bit(1)", "b'1'", "1"},
		{"bit(64)", "0xffffffffffffffff", "18446744073709551615"},
		{"char(5)", "'abc'", `"abc"`},
		{"varchar(20)", `'größer'`, `"größer"`},
		{"varchar(20) character set latin1", `'größer'`, `"größer"`},
		{"text", `'a "<&>" \\ \n\0'`, `"a \"<&>\" \\ \n\u0000"`},
		{"longtext", "''", `""`},
		{"binary(4)", "x'00ff'", `{"base64":"AP8AAA=="}`},
		{"varbinary(4)", "x'00ff'", `{"base64":"AP8="}`},
		{"blob", "''", `{"base64":""}`},
		{"longblob", "x'0001ff'", `{"base64":"AAH/"}`},
		{"date", "'2026-02-03'", `"2026-02-03"`},
		{"time(3)", "'-04:05:06.5'", `"-04:05:06.500"`},
		{"datetime", "'2026-02-03 04:05:06'", `"2026-02-03T04:05:06Z"`},
		{"datetime(3)", "'2026-02-03 04:05:06.120'", `"2026-02-03T04:05:06.12Z"`},
		{"datetime(6)", "'2026-02-03 04:05:06.123456'", `"2026-02-03T04:05:06.123456Z"`},
		{"timestamp(6) null", "'2026-02-03 04:05:06.5'", `"2026-02-03T04:05:06.5Z"`},
		{"year", "2026", "2026"},
		{"json", `'{"b": 1.50, "a": [12345678901234567890, null]}'`, `{"b": 1.50, "a": [12345678901234567890, null]}`},
		{"json", `'"text"'`, `"text"`},
		{"enum('sad','glad')", "'glad'", `"glad"`},
		{"set('a','b','c')", "'a,c'", `"a,c"`},
		{"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		{"inet6", "'2001:db8::ff'", `"2001:db8::ff"`},
	},
	"sqlite": append(sqliteCells(),
		cell{"BOOLEAN", "1", "true"},
		cell{"BOOLEAN", "0", "false"},
		cell{"BOOLEAN", "2", "2"},
		cell{"DATETIME", "'2026-02-03 04:05:06.123456'", `"2026-02-03T04:05:06.123456Z"`},
		cell{"DATETIME", "'2026-02-03T04:05:06+02:00'", `"2026-02-03T04:05:06+02:00"`},
		cell{"TIMESTAMP", "'tomorrow'", `"tomorrow"`},
		cell{"TIMESTAMP", "1770000000", "1770000000"},
		cell{"DATE", "'2026-02-03'", `"2026-02-03"`},
		cell{"JSON", `'{"b": 1.50, "a": [12345678901234567890, null]}'`, `{"b": 1.50, "a": [12345678901234567890, null]}`},
		cell{"REAL", "9e999", `"Infinity"`},
		cell{"REAL", "-9e999", `"-Infinity"`},
		cell{"TEXT", "''", `""`},
		cell{"BLOB", "x''", `{"base64":""}`},
		cell{"TEXT", "'a' || char(0) || 'b'", `"a\u0000b"`},
	),
}

// sqliteCells are every storage class in a column of every affinity.
func sqliteCells() []cell {
	var list []cell
	for _, c := range []struct {
		typeName           string
		integer, real, num string
	}{
		{"INTEGER", "9007199254740993", "1.5", "12"},
		{"TEXT", `"9007199254740993"`, `"1.5"`, `"12"`},
		{"BLOB", "9007199254740993", "1.5", `"12"`},
		{"", "9007199254740993", "1.5", `"12"`},
		{"REAL", "9007199254740992", "1.5", "12"},
		{"NUMERIC", "9007199254740993", "1.5", "12"},
	} {
		number := c.integer
		if c.typeName == "REAL" {
			number = "9.007199254740992e+15"
		}
		list = append(list,
			cell{c.typeName, "9007199254740993", number},
			cell{c.typeName, "1.5", c.real},
			cell{c.typeName, "'12'", c.num},
			cell{c.typeName, "'größer'", `"größer"`},
			cell{c.typeName, "x'00ff'", `{"base64":"AP8="}`})
	}
	return list
}

// rowTable is a table without a payload, with a column c0, c1, … for each cell.
func rowTable(t *testing.T, s store.Store, database string, list []cell) *dialect.Table {
	t.Helper()
	columns := []string{"id bigint PRIMARY KEY", "locked_until timestamp NULL"}
	switch database {
	case "postgres":
		script(t, s, "CREATE TYPE mood AS ENUM ('sad', 'glad')")
	case "sqlite":
		columns = []string{"id integer PRIMARY KEY", "locked_until text"}
	}
	for i, c := range list {
		columns = append(columns, fmt.Sprintf("c%d %s", i, c.typeName))
	}
	script(t, s, "CREATE TABLE things ("+strings.Join(columns, ", ")+")")
	table := &dialect.Table{Name: "things", ID: []string{"id"}, Roles: roles(dialect.LockedUntil)}
	describe(t, s, table)
	return table
}

// Every type of every database reads as the mapping says, NULL reads as null, and what was read can be
// written and reads the same.
func TestRowModeMapsEveryType(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s, list := open(t, db), slices.Clone(cells[db.Name])
		if realMySQL(t, s) {
			// It has no such types, and its JSON is not the text that was written.
			list = slices.DeleteFunc(list, func(c cell) bool {
				return c.typeName == "uuid" || c.typeName == "inet6" || c.typeName == "json" && strings.Contains(c.literal, "1.50")
			})
		}
		if postgresBefore12(t, s) {
			// It writes all the digits of a number, not the fewest that mean it.
			list = slices.DeleteFunc(list, func(c cell) bool { return c.typeName == "real" && c.want == "0.1" })
		}
		table := rowTable(t, s, db.Name, list)
		literals := make([]string, len(list))
		for i, c := range list {
			literals[i] = c.literal
		}
		script(t, s, "INSERT INTO things VALUES (1, NULL, "+strings.Join(literals, ", ")+")")
		script(t, s, "INSERT INTO things (id) VALUES (2)")
		l := lease(t, s, table)
		deliveries := claim(t, l, 10)
		if len(deliveries) != 2 {
			t.Fatalf("%d rows", len(deliveries))
		}
		var row map[string]json.RawMessage
		checkCells(t, list, deliveries[0], "1", false, &row)
		checkCells(t, list, deliveries[1], "2", true, nil)

		row["id"] = json.RawMessage("3")
		write(t, s, table, forms.Message{Row: row})
		for i, c := range list {
			if c.typeName == "DATETIME" {
				// An instant is written in UTC, whatever its zone was.
				list[i].want = strings.Replace(c.want, "04:05:06+02:00", "02:05:06Z", 1)
			}
		}
		checkCells(t, list, claimOne(t, l), "3", false, nil)
	})
}

func checkCells(t *testing.T, list []cell, d *forms.Delivery, id string, null bool, row *map[string]json.RawMessage) {
	t.Helper()
	if d.Flaw != "" {
		t.Fatalf("row %s: %s", id, d.Flaw)
	}
	if !strings.HasPrefix(string(d.Payload), `{"id":`+id+`,"c0":`) {
		t.Errorf("row %s is not in the table's order, or holds the lease: %s", id, d.Payload)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(d.Payload, &got); err != nil {
		t.Fatalf("row %s: %v: %s", id, err, d.Payload)
	}
	if len(got) != len(list)+1 {
		t.Errorf("row %s has %d columns, want %d", id, len(got), len(list)+1)
	}
	for i, c := range list {
		want := c.want
		if null {
			want = "null"
		}
		if text := string(got[fmt.Sprintf("c%d", i)]); text != want {
			t.Errorf("row %s: %s %s = %s, want %s", id, c.typeName, c.literal, text, want)
		}
	}
	if row != nil {
		*row = got
	}
}

// The whole row has the roles too, with the attempt as the delivery reads it; a list of columns leaves the
// key and those.
func TestRowModeColumns(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Attempt, dialect.LockedUntil, dialect.Headers)}
		createAs(t, s, table, nil, "note varchar(20)", "weight integer")
		write(t, s, table, forms.Message{Group: "g", Headers: []byte(`{"h":1}`), Row: map[string]json.RawMessage{
			"note": json.RawMessage(`"a"`), "weight": json.RawMessage("7")}})
		l := lease(t, s, table)
		d := claimOne(t, l)
		want := `{"id":1,"group":"g","attempt":1,"headers":{"h": 1},"note":"a","weight":7}`
		if s.Dialect().Name() != "PostgreSQL" && !realMySQL(t, s) {
			want = strings.Replace(want, `{"h": 1}`, `{"h":1}`, 1)
		}
		if s.Dialect().Name() == "SQLite" {
			want = strings.Replace(want, `{"h":1}`, `"{\"h\":1}"`, 1) // in a column of text
		}
		equal(t, "the whole row", string(d.Payload), want)
		settle(t, l, forms.Done, back(d))
		equal(t, "its second delivery", string(claimOne(t, l).Payload), strings.Replace(want, `"attempt":1`, `"attempt":2`, 1))

		table.Data = []string{"weight"}
		script(t, s, "UPDATE jobs SET locked_until = NULL")
		equal(t, "one column", string(claimOne(t, lease(t, s, table)).Payload), `{"id":1,"weight":7}`)

		table.Data = []string{"wieght"}
		if flaws := table.Check(s.Dialect()); len(flaws) != 1 || flaws[0].Role != "columns" || !strings.Contains(flaws[0].What, `no column "wieght"`) {
			t.Errorf("flaws: %+v", flaws)
		}
	})
}

// A value that JSON cannot hold makes its row undecodable, and no other.
func TestRowModeUndecodableValue(t *testing.T) {
	s := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)})
	table := rowTable(t, s, "sqlite", []cell{{"JSON", "", ""}, {"TEXT", "", ""}})
	script(t, s, `INSERT INTO things VALUES (1, NULL, '{"a":', 'fine'), (2, NULL, '{}', CAST(x'61ff' AS TEXT)), (3, NULL, '{}', 'fine')`)
	deliveries := claim(t, lease(t, s, table), 10)
	var got []string
	for _, d := range deliveries {
		got = append(got, d.ID.String()+": "+d.Flaw+string(d.Payload))
	}
	equal(t, "rows", strings.Join(got, "\n"), `1: column "c0" cannot be handed over: it is not valid JSON
2: column "c1" cannot be handed over: it is not UTF-8
3: {"id":3,"c0":{},"c1":"fine"}`)
}

func TestRowsThatCannotBeWritten(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil)}
		createAs(t, s, table, nil, "weight integer")
		w := forms.NewWriter(s, table, nil)
		for text, want := range map[string]string{
			`{"wieght":1}`:     `a message has a value for column "wieght", which the table does not have`,
			`{}`:               "a message has no value for any column",
			`{"weight":"abc"}`: "write into jobs",
		} {
			var row map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &row); err != nil {
				t.Fatal(err)
			}
			err := w.Write(t.Context(), []forms.Message{{Row: row}})
			if s.Dialect().Name() == "SQLite" && strings.Contains(text, "abc") {
				want = "" // which takes anything anywhere
			}
			if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", text, err, want)
			}
		}
		err := w.Write(t.Context(), []forms.Message{{Payload: []byte("x")}})
		if err == nil || !strings.Contains(err.Error(), "a value for payload") {
			t.Errorf("a payload: %v", err)
		}
	})
}
