package forms_test

import (
	"context"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// eachWithRowLocks runs a test on the databases where another session can lock a row.
func eachWithRowLocks(t *testing.T, run func(t *testing.T, db testdb.Database)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has no row locks")
		}
		run(t, db)
	})
}

// begin starts a transaction in another session and runs statements in it; it ends with the test.
func begin(t *testing.T, s store.Store, statements ...string) store.Tx {
	t.Helper()
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	})
	for _, sql := range statements {
		err := tx.Query(t.Context(), &dialect.Statement{SQL: sql}, 0, nil, func([][]byte) error { return nil })
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return tx
}

// soon is a context for what must not wait for a lock: it ends before a lock wait times out.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestLockedRow: a row that another session has locked does not hold the others of its group up, is
// told from one that was lost, and settles when the lock is gone.
func TestLockedRow(t *testing.T) {
	changes := map[string]func(d *forms.Delivery) *forms.Settlement{
		"finish": finish,
		"return": back,
		"move to group": func(d *forms.Delivery) *forms.Settlement {
			return &forms.Settlement{Delivery: d, Change: forms.MoveToGroup}
		},
		"move to table": func(d *forms.Delivery) *forms.Settlement {
			return &forms.Settlement{Delivery: d, Change: forms.MoveToTable}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
				s, outside := open(t, db), open(t, db)
				table := create(t, s, leased())
				target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
				l := lease(t, s, table, func(o *forms.Options) { o.DeadTable = target })
				fill(t, s, table, 5)
				deliveries := claim(t, l, 5)
				settle(t, l, forms.Done, finish(deliveries[4]))
				lock := begin(t, outside, "SELECT id FROM jobs WHERE id = 2 FOR UPDATE")

				equal(t, "extensions", states(l.Extend(soon(t), deliveries)), "done busy done done lost")
				equal(t, "settlements", states(l.Settle(soon(t), settlements(deliveries, change))), "done busy done done lost")
				equal(t, "alone", states(l.Settle(soon(t), settlements(deliveries[1:2], change))), "busy")

				if err := lock.Rollback(); err != nil {
					t.Fatal(err)
				}
				extend(t, l, forms.Done, deliveries[1])
				settle(t, l, forms.Done, change(deliveries[1]))
			})
		})
	}
}

// TestLockedRowsAmongMany: what does not find its rows by key waits for rows of others, so the group
// is as large as a planner may be tempted by.
func TestLockedRowsAmongMany(t *testing.T) {
	for _, kind := range []string{"finish", "return", "move to group"} {
		t.Run(kind, func(t *testing.T) {
			eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
				s, outside := open(t, db), open(t, db)
				table := create(t, s, leased())
				l := lease(t, s, table)
				fill(t, s, table, 620)
				deliveries := claim(t, l, 600)
				// One is ours and two are nobody's.
				begin(t, outside, "SELECT id FROM jobs WHERE id IN (300, 605, 620) FOR UPDATE")
				var list []*forms.Settlement
				for _, d := range deliveries {
					list = append(list, &forms.Settlement{Delivery: d, Change: map[string]forms.Change{
						"finish": forms.Finish, "return": forms.Return, "move to group": forms.MoveToGroup}[kind]})
				}
				for i, a := range l.Extend(soon(t), deliveries) {
					if want := busyAt(i, 299); a.State != want {
						t.Fatalf("extension %d: %v (%v), want %v", i, a.State, a.Err, want)
					}
				}
				for i, a := range l.Settle(soon(t), list) {
					if want := busyAt(i, 299); a.State != want {
						t.Fatalf("settlement %d: %v (%v), want %v", i, a.State, a.Err, want)
					}
				}
				if more, err := l.Claim(soon(t), 18, false); err != nil || len(more) != 18 {
					t.Errorf("claimed %d rows (%v), want the 18 that nobody has locked", len(more), err)
				}
			})
		})
	}
}

func busyAt(i, locked int) forms.State {
	if i == locked {
		return forms.Busy
	}
	return forms.Done
}

// TestRowWithAChildOfItsHandler: a handler's own open transaction may refer to the row by a foreign
// key, which locks the row against deletion. Its lease is extended all the same.
func TestRowWithAChildOfItsHandler(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name != "postgres" {
			t.Skip("a foreign key takes a lock on its parent that an update does not pass")
		}
		s, handler := open(t, db), open(t, db)
		table := create(t, s, leased())
		script(t, s, "CREATE TABLE children (job bigint REFERENCES jobs ON DELETE CASCADE)")
		l := lease(t, s, table)
		fill(t, s, table, 2)
		deliveries := claim(t, l, 2)
		begin(t, handler, "INSERT INTO children VALUES (1), (2)")
		equal(t, "extensions", states(l.Extend(soon(t), deliveries)), "done done")
		equal(t, "a retry and an ack", states(l.Settle(soon(t), []*forms.Settlement{back(deliveries[0]), finish(deliveries[1])})), "done busy")
	})
}
