package forms_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// keys are types of keys with values that are easily confused, as SQL and in claim order.
type keys struct {
	name   string
	types  []string // one for each column of the key
	values []string
}

func keysOf(database string) []keys {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	half := fmt.Sprintf("%x", everyByte[:128])
	other := fmt.Sprintf("%x", everyByte[128:])
	texts := []string{"''", "' '", "'\"'", "'$1'", "'%s'", "'''; DROP TABLE jobs; --'", "'?'", "'NULL'", "'\t\n'", "'{a,b}'", "'ü'", "'🦀'", "'/*list*/'"}
	backslash := `'\'`
	if database == "mariadb" {
		backslash = `'\\'`
		texts = texts[1:] // its collations take the empty text for a blank
	}
	texts = append(texts, backslash, strings.TrimSuffix(backslash, "'")+`"'`)
	integers := keys{"bigint", []string{"bigint"}, []string{"-9223372036854775808", "-1", "0", "2147483648",
		"9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775806", "9223372036854775807"}}
	switch database {
	case "postgres":
		return []keys{
			integers,
			{"smallint", []string{"smallint"}, []string{"-32768", "0", "32767"}},
			{"uuid", []string{"uuid"}, []string{"'00000000-0000-0000-0000-000000000000'", "'123e4567-e89b-12d3-a456-426614174000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"}},
			{"text", []string{"text"}, texts},
			{"varchar", []string{"varchar(30)"}, texts},
			{"char", []string{"char(10)"}, []string{"'a'", "'b c'"}},
			{"bytea", []string{"bytea"}, []string{`'\x'`, `'\x00'`, `'\x` + half + `'`, `'\x` + other + `'`, `'\x5c'`}},
			{"numeric", []string{"numeric"}, []string{"-1.5", "0.00000000000000000001", "9", "10", "9007199254740992.5", "9007199254740993.5", "123456789012345678901234567890"}},
			{"time", []string{"timestamptz"}, []string{"'2026-01-01 00:00:00.000001+00'", "'2026-01-01 00:00:00.000002+00'"}},
			{"enum", []string{`"My Mood"`}, []string{"'sad'", "'it''s ok'"}},
			{"domain", []string{"positive"}, []string{"1", "2"}},
			{"int and text", []string{"integer", "text"}, []string{"1, 'a'", "1, 'a,b'", "1, '\"'", "2, 'a'", "12, ''", "1, '2'"}},
			{"uuid, bytea and time", []string{"uuid", "bytea", "timestamp"}, []string{
				`'123e4567-e89b-12d3-a456-426614174000', '\x00ff', '2026-01-01 00:00:00.5'`, `'123e4567-e89b-12d3-a456-426614174000', '\x00ff', '2026-01-01 00:00:00.25'`}},
		}
	case "mariadb":
		return []keys{
			integers,
			{"bigint unsigned", []string{"bigint unsigned"}, []string{"0", "1", "9007199254740993", "9007199254740992", "9223372036854775807",
				"9223372036854775808", "9223372036854775809", "18446744073709551614", "18446744073709551615"}},
			{"char(36)", []string{"char(36)"}, []string{"'123e4567-e89b-12d3-a456-426614174000'"}},
			{"varchar", []string{"varchar(60)"}, texts},
			{"varchar latin1", []string{"varchar(60) CHARACTER SET latin1 COLLATE latin1_bin"}, []string{"'a'", "'A'", "'ü'"}},
			{"varbinary", []string{"varbinary(200)"}, []string{"X'20'", "X'00'", "X'0000'", "X'" + half + "'", "X'" + other + "'", "X'5c'", "X'27'", "X'5c27'", "X'22'"}},
			{"binary", []string{"binary(16)"}, []string{"X'123e4567e89b12d3a456426614174000'", "X'000000000000000000000000000000ff'"}},
			{"decimal", []string{"decimal(40,10)"}, []string{"-1.5", "9", "10", "9007199254740992.5", "9007199254740993.5", "9007199254740992.4999999999", "123456789012345678901234567890"}},
			{"time", []string{"datetime(6)"}, []string{"'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'"}},
			{"int and text", []string{"int", "varchar(20)"}, []string{"1, 'a'", "1, 'a,b'", "1, '\"'", "2, 'a'", "12, ''", "1, '2'"}},
			{"unsigned and decimal", []string{"bigint unsigned", "decimal(30,5)"}, []string{"18446744073709551615, 9007199254740992.5",
				"18446744073709551615, 9007199254740993.5", "18446744073709551614, 1", "1, 1", "9223372036854775807, 1"}},
			{"binary and time", []string{"varbinary(20)", "datetime(3)"}, []string{"X'00ff', '2026-01-01 00:00:00.5'", "X'00ff', '2026-01-01 00:00:00.25'"}},
		}
	default:
		return []keys{
			integers,
			{"INTEGER", []string{"INTEGER"}, integers.values},
			{"TEXT", []string{"TEXT"}, texts},
			{"BLOB", []string{"BLOB"}, []string{"X''", "X'00'", "X'" + half + "'", "X'" + other + "'"}},
			{"NUMERIC", []string{"NUMERIC"}, []string{"-1.5", "9", "10", "0.1", "1e300", "9007199254740993"}},
			{"DATETIME", []string{"DATETIME"}, []string{"'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'", "'2026-01-01'"}},
			{"UUID", []string{"UUID"}, []string{"'123e4567-e89b-12d3-a456-426614174000'", "'5'"}},
			{"BOOLEAN and DATE", []string{"BOOLEAN", "DATE"}, []string{"0, '2026-01-01'", "1, '2026-01-01'", "1, '2026-01-02'"}},
			{"int and text", []string{"INTEGER", "TEXT"}, []string{"1, 'a'", "1, 'a,b'", "1, '\"'", "2, 'a'", "12, ''", "1, '2'"}},
		}
	}
}

// TestKeys holds rows by keys of every type: each settlement reaches its own row and no other
// (graphile/worker#617).
func TestKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		if db.Name == "postgres" {
			script(t, s, `CREATE TYPE "My Mood" AS ENUM ('sad', 'it''s ok')`)
			script(t, s, `CREATE DOMAIN positive AS bigint CHECK (VALUE > 0)`)
		}
		for i, k := range keysOf(db.Name) {
			// A statement that a session has prepared knows the types that its table had.
			t.Run(k.name, func(t *testing.T) { checkKeys(t, s, fmt.Sprintf("jobs_%d", i), k) })
		}
	})
}

func checkKeys(t *testing.T, s store.Store, name string, k keys) {
	table := &dialect.Table{Name: name, Roles: roles(dialect.LockedUntil, dialect.Payload, dialect.Attempt, dialect.Error)}
	target := &dialect.Table{Name: name + "_dead", Roles: table.Roles}
	types := map[string]string{}
	var names []string
	for i, typeName := range k.types {
		column := fmt.Sprintf("key %d", i)
		table.ID = append(table.ID, column)
		names = append(names, s.Dialect().Quote(column))
		types[column] = typeName + " NOT NULL"
		if len(k.types) == 1 {
			types[column] += " PRIMARY KEY"
		}
	}
	target.ID = table.ID
	createAs(t, s, table, types)
	createAs(t, s, target, types)
	for i, value := range k.values {
		script(t, s, fmt.Sprintf("INSERT INTO %s (%s, payload) VALUES (%s, '%d')", name,
			strings.Join(names, ", "), value, i))
	}
	host := newClock()
	l := lease(t, s, table, host.use, func(o *forms.Options) { o.DeadTable = target })
	deliveries := claim(t, l, 100)
	for _, d := range deliveries {
		read, err := forms.Read(t.Context(), s, table, d.ID.String())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the row that is read by its key", string(read.Payload)+read.ID.String(), string(d.Payload)+d.ID.String())
	}
	if len(deliveries) != len(k.values) {
		t.Fatalf("claimed %d rows of %d", len(deliveries), len(k.values))
	}
	extend(t, l, forms.Done, deliveries...)

	// Every second row is given back, and the others are finished and moved by turns.
	var list []*forms.Settlement
	kept, moved := map[string]bool{}, map[string]bool{}
	for i, d := range deliveries {
		switch i % 4 {
		case 0, 2:
			kept[string(d.Payload)] = true
			list = append(list, &forms.Settlement{Delivery: d, Change: forms.Return, Reason: d.ID.String()})
		case 1:
			list = append(list, finish(d))
		case 3:
			moved[string(d.Payload)] = true
			list = append(list, &forms.Settlement{Delivery: d, Change: forms.MoveToTable})
		}
	}
	// What is finished is settled first, and alone: only its own rows may go.
	for _, change := range []forms.Change{forms.Finish, forms.MoveToTable, forms.Return} {
		var some []*forms.Settlement
		for _, one := range list {
			if one.Change == change {
				some = append(some, one)
			}
		}
		settle(t, l, forms.Done, some...)
		settle(t, l, forms.Lost, some...)
	}
	same := func(what string, table *dialect.Table, want map[string]bool) {
		t.Helper()
		got := map[string]bool{}
		for _, line := range strings.Split(columns(t, s, table, "payload"), "\n") {
			if line != "" {
				got[line] = true
			}
		}
		equal(t, what, fmt.Sprint(got), fmt.Sprint(want))
	}
	same("rows", table, kept)
	same("dead letters", target, moved)
}

// TestReadTakesNothing: a row that is read by its key is as its next claim makes it, and claimed as if it had not been.
func TestReadTakesNothing(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, everyRole())
		key := "k"
		write(t, s, table, forms.Message{Group: "g", Payload: []byte("one"), Headers: []byte(`{"a":"b"}`), PartitionKey: &key}, forms.Message{Group: "g", Payload: []byte("two")})
		l := lease(t, s, table)
		before := content(t, s, table)
		read, err := forms.Read(t.Context(), s, table, "1")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the table", content(t, s, table), before)
		d := claimOne(t, l)
		equal(t, "the delivery", fmt.Sprintf("%s %s %s %d %s %v %s", read.ID, read.Payload, read.Group, read.Attempt, read.PartitionKey, read.HasPartitionKey, strings.ReplaceAll(string(read.Headers), " ", "")),
			fmt.Sprintf("%s %s %s %d %s %v %s", d.ID, d.Payload, d.Group, d.Attempt, d.PartitionKey, d.HasPartitionKey, strings.ReplaceAll(string(d.Headers), " ", "")))
		for key, want := range map[string]string{"77": "there is no such row", "x": "column id takes an integer", "": "column id takes an integer"} {
			if _, err := forms.Read(t.Context(), s, table, key); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("key %q: %v, want %q", key, err, want)
			}
		}
	})
}

// TestIDForPeopleAndHandlers: its text and its JSON.
func TestIDForPeopleAndHandlers(t *testing.T) {
	for _, c := range []struct {
		id           forms.ID
		text, asJSON string
	}{
		{forms.ID{int64(-5)}, "-5", "-5"},
		{forms.ID{int64(1<<53 + 1)}, "9007199254740993", "9007199254740993"},
		{forms.ID{"18446744073709551615"}, "18446744073709551615", `"18446744073709551615"`},
		{forms.ID{"it's \"so\"\n"}, "it's \"so\"\n", `"it's \"so\"\n"`},
		{forms.ID{[]byte{0, 255}}, "00ff", `{"base64":"AP8="}`},
		{forms.ID{int64(1), "a,b", []byte{}}, "1,a,b,", `[1,"a,b",{"base64":""}]`},
	} {
		equal(t, "text", c.id.String(), c.text)
		equal(t, "JSON", string(c.id.AppendJSON(nil)), c.asJSON)
	}
}
