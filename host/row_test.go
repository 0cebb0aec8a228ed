package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// echo is a handler that says what it was given: "N:" and the payload, or "absent", as the reason of a dead
// letter. N is the payload's length.
const echo = `(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (memory (export "memory") 300)
  (data (i32.const 0) "absent")
  (global $at (mut i32) (i32.const 0))
  (func $digits (param $n i32)
    (if (i32.ge_u (local.get $n) (i32.const 10)) (then (call $digits (i32.div_u (local.get $n) (i32.const 10)))))
    (i32.store8 (global.get $at) (i32.add (i32.const 0x30) (i32.rem_u (local.get $n) (i32.const 10))))
    (global.set $at (i32.add (global.get $at) (i32.const 1))))
  (func (export "inbox_handle") (result i32) (local $n i32) (local $all i32)
    (local.set $n (call $payload (i32.const 0) (i32.const 0)))
    (if (i32.eq (local.get $n) (i32.const -1)) (then
      (drop (call $reason (i32.const 0) (i32.const 6))) (return (i32.const 4))))
    (global.set $at (i32.const 16))
    (call $digits (local.get $n))
    (i32.store8 (global.get $at) (i32.const 0x3a))
    (global.set $at (i32.add (global.get $at) (i32.const 1)))
    (if (i32.ne (call $payload (global.get $at) (local.get $n)) (local.get $n)) (then unreachable))
    (local.set $all (i32.add (i32.sub (global.get $at) (i32.const 16)) (local.get $n)))
    (if (i32.gt_u (local.get $all) (i32.const 1000)) (then (local.set $all (i32.const 1000))))
    (drop (call $reason (i32.const 16) (local.get $all)))
    (i32.const 4)))`

func echoHandler(t testing.TB, table, keys string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "echo.wasm")
	if err := os.WriteFile(path, testwasm.WAT(t, echo), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = %q\npoll_interval = \"20ms\"\ndead_letter = \"dead\"\n%s\n", path, table, keys)
}

// things is a table in row mode.
const things = `
[tables.things]
id = "id"
group = "name"
attempt = "attempt"
locked_until = "locked_until"
error = "error"
columns = ["note", "weight", "data"]
`

func createThings(t *testing.T, db testdb.Database) {
	t.Helper()
	types := map[string][3]string{
		"postgres": {"timestamptz", "bytea", "numeric"}, "mariadb": {"datetime(6)", "varbinary(20)", "decimal(30,1)"},
		"sqlite": {"text", "blob", "numeric"},
	}[db.Name]
	script(t, connect(t, db), "CREATE TABLE things (id integer PRIMARY KEY, name varchar(20) NOT NULL, attempt integer NOT NULL DEFAULT 1, locked_until "+
		types[0]+", error varchar(2000), note varchar(100), weight "+types[2]+", data "+types[1]+")")
}

func row(t testing.TB, text string) forms.Message {
	t.Helper()
	m := forms.Message{Group: "work"}
	if err := json.Unmarshal([]byte(text), &m.Row); err != nil {
		t.Fatal(err)
	}
	return m
}

// The guest's payload is the row.
func TestRowModeHandsTheRowToTheGuest(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		createThings(t, db)
		b := reopen(t, parse(t, db, things+echoHandler(t, "things", "max_payload = 100")), untilEmpty)
		b.write("things", row(t, `{"id":1,"note":"größer \u0001","weight":12.5,"data":{"base64":"AP8="}}`), row(t, `{"id":2}`),
			row(t, `{"id":3,"note":"`+strings.Repeat("x", 100)+`"}`))
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{DeadLettered: 3})
		equal(t, "what the guest was given", b.query("SELECT error FROM things ORDER BY id"),
			`72:{"id":1,"note":"größer \u0001","weight":12.5,"data":{"base64":"AP8="}}
46:{"id":2,"note":null,"weight":null,"data":null}
the payload of 144 bytes is above max_payload, 100 bytes
`)
	})
}

// A row that cannot be handed over is settled by the policy for it, where a target is declared, and is kept
// and tried again where none is. The rows beside it go on.
func TestRowModeUndecodableRow(t *testing.T) {
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	for _, c := range []struct {
		name, remove string
		counts       Counts
		left         string
	}{
		{"target", "", Counts{DeadLettered: 2}, "1|dead|1\n2|dead|1\n"},
		{"no target", "dead_letter = \"dead\"\n", Counts{Delayed: 2}, "1|work|2\n2|work|2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := db
			db.URL = testdb.SQLite(t)
			createThings(t, db)
			toml := things + strings.Replace(echoHandler(t, "things", ""), c.remove, "", 1)
			b := reopen(t, parse(t, db, toml), untilEmpty)
			b.write("things", row(t, `{"id":1}`), row(t, `{"id":2}`))
			b.script("UPDATE things SET note = CAST(x'61ff' AS TEXT) WHERE id = 1")
			b.drain()
			equal(t, "counts", b.counts("work"), c.counts)
			equal(t, "rows", b.query("SELECT id, name, attempt FROM things ORDER BY id"), c.left)
			reason := b.query("SELECT error FROM things WHERE id = 1")
			equal(t, "reason", reason, "column \"note\" cannot be handed over: it is not UTF-8\n")
		})
	}
}
