package forms_test

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestAdvisoryHeldKeyStarvesNobody puts 10,000 rows of a held key in front of one row of a free key
// (timgit/pg-boss#756): whoever holds the key, the free one is claimed by the next claim.
func TestAdvisoryHeldKeyStarvesNobody(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := keyed(t, s, channels())
		put(t, s, table, "held", 10_000)
		put(t, s, table, "free", 1)
		locks := forms.NewLocks()
		held := takes(t, advisory(t, s, table, sharing(locks)), 1, "held1")
		own := advisory(t, s, table, sharing(locks))
		free := takes(t, own, 1, "free1")
		ends(t, own, forms.Done, back(free[0]))
		if db.Name == "sqlite" {
			return // another process is refused
		}
		other := advisory(t, second(t, db, 4), table)
		takes(t, other, 10, "free1")
		_ = held
	})
}

// TestAdvisoryManyRowsOfFreeKeys fills one claim with a row of each key, however many rows of one key
// stand in front.
func TestAdvisoryManyRowsOfFreeKeys(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 2_000)
		put(t, s, table, "b", 1_000)
		put(t, s, table, "c", 1)
		takes(t, advisory(t, s, table), 3, "a1 b1 c1")
	})
}
