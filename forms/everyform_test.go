package forms_test

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// awkward is a table whose names all need quotes, with a key of two parts, in one of the three forms.
func awkward(form string) *dialect.Table {
	table := &dialect.Table{Name: `My "Jobs"`, ID: []string{"tenant", "order"}, Roles: map[dialect.Role]string{
		dialect.Group: "group", dialect.Priority: "select", dialect.RetryAfter: "Due At", dialect.Attempt: "Tries",
		dialect.Headers: "head-ers", dialect.Payload: `Pay"load`, dialect.PartitionKey: "from", dialect.Error: "what's wrong"}}
	switch form {
	case "lease":
		table.Roles[dialect.LockedUntil] = "Locked Until"
	case "advisory":
		table.Key = []dialect.KeyPart{{Literal: "it's {"}, {Column: "order"}}
	}
	return table
}

// TestEveryForm hands over ids, payloads, headers and keys as they are, in the order of priority and time,
// from a table of awkward names, and moves them to another.
func TestEveryForm(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for _, form := range []string{"lease", "row lock", "advisory"} {
			t.Run(form, func(t *testing.T) {
				s := open(t, db)
				if _, ok := s.Dialect().(dialect.RowLock); !ok && form == "row lock" {
					t.Skip("no row locks")
				}
				everyValue(t, s, form)
			})
		}
	})
}

func everyValue(t *testing.T, s store.Store, name string) {
	table := awkward(name)
	target := &dialect.Table{Name: "dead", ID: table.ID, Roles: table.Roles}
	nullable, bytes := "longblob", "x'00ff27'"
	if s.Dialect().Name() == "PostgreSQL" {
		nullable, bytes = "bytea", `'\x00ff27'::bytea`
	}
	types := map[string]string{"order": "varchar(40) NOT NULL", `Pay"load`: nullable}
	for _, made := range []*dialect.Table{table, target} {
		createAs(t, s, made, types)
		t.Cleanup(func() { scriptAfter(t, s, "DROP TABLE "+quoted(s, made)) })
	}
	host := newClock()
	var form forms.Form
	options := func(o *forms.Options) { o.Now, o.DeadTable = host.now, target }
	if name == "advisory" {
		form = advisory(t, s, table, options)
	} else {
		form = anyForm(t, s, table, options)
	}

	q := s.Dialect().Quote
	script(t, s, "INSERT INTO "+quoted(s, table)+" ("+q("tenant")+", "+q("order")+", "+q("group")+", "+q("select")+", "+q("from")+", "+q("head-ers")+", "+q(`Pay"load`)+
		`) VALUES (9007199254740993, 'it''s "ü"', 'g', 2, 'ü''s', '{"a": "ü"}', `+bytes+`), (-9007199254740993, 'b', 'g', 1, NULL, NULL, NULL)`)

	deliveries := claim(t, form, 2)
	if len(deliveries) != 2 {
		t.Fatalf("claimed %d rows, want 2", len(deliveries))
	}
	first, second := deliveries[0], deliveries[1]
	equal(t, "the id that comes first", first.ID.String(), "-9007199254740993,b")
	if first.Payload != nil || first.Headers != nil || first.HasPartitionKey {
		t.Errorf("NULL was handed over as %q, %q, %q", first.Payload, first.Headers, first.PartitionKey)
	}
	equal(t, "the id that comes second", second.ID.String(), `9007199254740993,it's "ü"`)
	same(t, second.Payload, []byte("\x00\xff'"))
	equal(t, "headers", string(second.Headers), `{"a": "ü"}`)
	equal(t, "partition key", second.PartitionKey, "ü's")
	extend(t, form, forms.Done, deliveries...)

	later := back(second)
	later.Until, later.Reason = host.now().Add(time.Hour), "it's \"ü\""
	settle(t, form, forms.Done, finish(first), later)
	host.advance(59 * time.Minute)
	equal(t, "rows before their time", payloads(claim(t, form, 2)), "")
	host.advance(2 * time.Minute)
	equal(t, "reason", columns(t, s, table, "what's wrong"), "it's \"ü\"")
	second = claimOne(t, form)
	equal(t, "attempt", number(second.Attempt), "2")
	settle(t, form, forms.Done, toTable(second))
	equal(t, "rows left", count(t, s, table), "0")
	equal(t, "the dead letter", columns(t, s, target, "tenant", "order", "Tries", "what's wrong"), `9007199254740993|it's "ü"|2|spent`)
	equal(t, "dead letters with its payload", query(t, s, "SELECT CAST(COUNT(*) AS CHAR(1)) FROM dead WHERE "+q(`Pay"load`)+" = "+bytes+
		" AND "+q("from")+" = 'ü''s'"), "1")
}
