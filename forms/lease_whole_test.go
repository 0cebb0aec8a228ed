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

// The rows of a claim are settled together, and each is answered for itself, also where one is locked, another one's token is
// somebody else's, and a third is gone.
func TestRowsOfAClaimThatAreNotAllHeld(t *testing.T) {
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s, outside := open(t, db), open(t, db)
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 20)
		deliveries := claim(t, l, 20)
		script(t, s, "UPDATE jobs SET attempt = attempt + 1 WHERE id = 3")
		script(t, s, "DELETE FROM jobs WHERE id = 20")
		begin(t, outside, "SELECT id FROM jobs WHERE id = 7 FOR UPDATE")
		var want []string
		for _, d := range deliveries {
			switch string(d.Payload) {
			case "3", "20":
				want = append(want, forms.Lost.String())
			case "7":
				want = append(want, forms.Busy.String())
			default:
				want = append(want, forms.Done.String())
			}
		}
		equal(t, "answers", states(l.Settle(soon(t), settlements(deliveries, finish))), strings.Join(want, " "))
		equal(t, "rows", columns(t, outside, table, "payload"), "3\n7")
	})
}

// Two claims whose settlements arrive together keep to their own tokens.
func TestClaimsSettledTogether(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 40)
		first, second := claim(t, l, 20), claim(t, l, 20)
		var list []*forms.Settlement
		for i := range first {
			change := back
			if i%2 == 0 {
				change = finish
			}
			list = append(list, change(first[i]), finish(second[i]))
		}
		settle(t, l, forms.Done, list...)
		settle(t, l, forms.Lost, list...)
		equal(t, "rows", count(t, s, table), "10")
	})
}

// TestManyKeys finishes claims of as many rows as are settled together, by keys of every type.
func TestManyKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for i, k := range keysOf(db.Name) {
			if len(k.values) < 8 {
				continue
			}
			t.Run(k.name, func(t *testing.T) {
				table := &dialect.Table{Name: fmt.Sprintf("jobs_%d", i), ID: []string{"key"}, Roles: roles(dialect.LockedUntil, dialect.Payload, dialect.Attempt)}
				createAs(t, s, table, map[string]string{"key": k.types[0] + " NOT NULL PRIMARY KEY"})
				for n, value := range k.values {
					script(t, s, fmt.Sprintf("INSERT INTO %s (%s, payload) VALUES (%s, '%d')", table.Name, s.Dialect().Quote("key"), value, n))
				}
				l := lease(t, s, table)
				rows := claim(t, l, 100)
				settle(t, l, forms.Done, settlements(rows[1:], finish)...)
				settle(t, l, forms.Lost, settlements(rows[1:], finish)...)
				equal(t, "what is left", columns(t, s, table, "payload"), string(rows[0].Payload))
			})
		}
	})
}
