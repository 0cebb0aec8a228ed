package host

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// letters is a queue with a payload of some type, and another table for its dead letters, so that every row
// keeps the id by which these tests find it.
const letters = `
[tables.letters]
id = "id"
locked_until = "locked_until"
payload = "payload"
error = "error"
[tables.dead]
id = "id"
locked_until = "locked_until"
payload = "payload"
error = "error"
`

// Every payload reaches the guest as it is, from every type of column, and NULL is absent.
func TestPayloadsReachTheGuest(t *testing.T) {
	type payload struct{ literal, want string }
	raw := func(hex func(string) string) []payload {
		return []payload{{"NULL", "absent"}, {hex(""), "0:"}, {hex("00"), "1:\uFFFD"}, {hex("610062"), "3:a\uFFFDb"},
			{hex("61ff62"), "3:a\uFFFDb"}, {hex("c3bcf09fa680"), "6:ü🦀"}}
	}
	text := []payload{{"NULL", "absent"}, {"''", "0:"}, {"'it''s ü🦀'", "11:it's ü🦀"}}
	json := []payload{{"NULL", "absent"}, {`'{"a": [1, "ü"]}'`, `16:{"a": [1, "ü"]}`}, {`'null'`, "4:null"}, {`'"x"'`, `3:"x"`}}
	types := map[string]map[string][]payload{
		"postgres": {"bytea": raw(func(hex string) string { return `'\x` + hex + `'` }), "text": text, "varchar(100)": text, "json": json, "jsonb": json},
		"mariadb":  {"longblob": raw(func(hex string) string { return "x'" + hex + "'" }), "longtext": text, "varchar(100)": text, "json": json},
		"sqlite":   {"BLOB": raw(func(hex string) string { return "x'" + hex + "'" }), "TEXT": text, "JSON": json},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		cfg := parse(t, db, letters+echoHandler(t, "letters", ""))
		s := connect(t, db)
		leaseType := map[string]string{"postgres": "timestamptz", "mariadb": "datetime(6)", "sqlite": "text"}[db.Name]
		for typeName, payloads := range types[db.Name] {
			t.Run(typeName, func(t *testing.T) {
				for _, table := range []string{"letters", "dead"} {
					script(t, s, "DROP TABLE IF EXISTS "+table)
					script(t, s, "CREATE TABLE "+table+" (id integer PRIMARY KEY, locked_until "+leaseType+", payload "+typeName+", error text)")
				}
				var want strings.Builder
				for i, p := range payloads {
					script(t, s, fmt.Sprintf("INSERT INTO letters (id, payload) VALUES (%d, %s)", i, p.literal))
					want.WriteString(p.want + "\n")
				}
				b := reopen(t, cfg, untilEmpty)
				b.drain()
				equal(t, "counts", b.counts("work"), Counts{DeadLettered: int64(len(payloads))})
				equal(t, "what the guest was given", b.query("SELECT error FROM dead ORDER BY id"), want.String())
			})
		}
	})
}

// A payload of 16 MiB is the guest's where the limits allow for it.
func TestPayloadOf16MiBReachesTheGuest(t *testing.T) {
	const size = 16<<20 - 1024 // MariaDB takes 16 MiB with the statement around it
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, letters+echoHandler(t, "letters", "max_payload = \"16MiB\"\nmemory = \"64MiB\""), untilEmpty)
		b.write("letters", forms.Message{Payload: bytes.Repeat([]byte{0}, size)})
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{DeadLettered: 1})
		if reason := b.query("SELECT error FROM dead"); !strings.HasPrefix(reason, fmt.Sprint(size)+":\uFFFD") {
			t.Errorf("the guest was given %.40q", reason)
		}
	})
}

// Headers in SQLite's text may be any bytes.
func TestHeadersThatAreNotUTF8(t *testing.T) {
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+handler(t, "work", "jobs", "dead_letter = \"dead\""), untilEmpty)
	b.write("jobs", forms.Message{Group: "work", Payload: []byte("i"), Headers: []byte(`{"a":"b"}`)}, forms.Message{Group: "work", Payload: []byte("i")})
	b.script(`UPDATE jobs SET headers = CAST(x'7b2261223a22ff227d' AS TEXT) WHERE id = 1`)
	b.drain()
	equal(t, "counts", b.counts("work"), Counts{Acked: 1, DeadLettered: 1})
	equal(t, "rows", b.rows("jobs", "id", "name", "error"), "1|dead|the headers are not a JSON object\n")
}
