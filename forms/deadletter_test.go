package forms_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func toGroup(d *forms.Delivery) *forms.Settlement {
	return &forms.Settlement{Delivery: d, Change: forms.MoveToGroup, Reason: "spent"}
}

func toTable(d *forms.Delivery) *forms.Settlement {
	return &forms.Settlement{Delivery: d, Change: forms.MoveToTable, Reason: "spent"}
}

// dead creates a target with the same columns as a table.
func dead(t *testing.T, s store.Store, table *dialect.Table) *dialect.Table {
	t.Helper()
	return create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
}

func deadTable(target *dialect.Table) func(*forms.Options) {
	return func(o *forms.Options) { o.DeadTable = target }
}

// letter writes a row that comes back twice, the last time as a delivery on attempt 2.
func letter(t *testing.T, s store.Store, l *forms.Lease, table *dialect.Table) *forms.Delivery {
	t.Helper()
	priority := int64(7)
	write(t, s, table, forms.Message{Payload: []byte("p"), Group: "g", Headers: []byte(`{"a": 1}`), Priority: &priority})
	settle(t, l, forms.Done, back(claimOne(t, l)))
	return claimOne(t, l)
}

// TestMoveToGroup keeps the row and the attempt that failed, says where it came from, and leaves
// neither a lease nor a delay.
func TestMoveToGroup(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, everyRole()), newClock()
		l := lease(t, s, table, host.use)
		settle(t, l, forms.Done, toGroup(letter(t, s, l, table)))
		equal(t, "row", columns(t, s, table, "id", "payload", "headers", "priority", "group", "attempt", "locked_until",
			"processed_at", "origin", "error"), `1|p|{"a": 1}|7|dead|2|-|-|g|spent`)
		equal(t, "its group", payloads(claim(t, l, 1)), "")

		graveyard := lease(t, s, table, host.use, func(o *forms.Options) { o.Group = "dead" })
		settle(t, graveyard, forms.Done, finish(attempt(t, graveyard, 2)))
	})
}

// TestMoveToTable does the same from one table to another.
func TestMoveToTable(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, everyRole()), newClock()
		target := dead(t, s, table)
		l := lease(t, s, table, host.use, deadTable(target))
		settle(t, l, forms.Done, toTable(letter(t, s, l, table)))
		equal(t, "rows", count(t, s, table), "0")
		equal(t, "dead letter", columns(t, s, target, "id", "payload", "headers", "priority", "group", "attempt", "locked_until",
			"processed_at", "origin", "error"), `1|p|{"a": 1}|7|g|2|-|-|g|spent`)

		graveyard := lease(t, s, target, host.use)
		settle(t, graveyard, forms.Done, finish(attempt(t, graveyard, 2)))
	})
}

// TestMoveToTableWithoutGroups names the table that the row came from.
func TestMoveToTableWithoutGroups(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := &dialect.Table{Name: "it's jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload, dialect.Origin)}
		create(t, s, table)
		target := dead(t, s, table)
		l := lease(t, s, table, deadTable(target))
		fill(t, s, table, 1)
		settle(t, l, forms.Done, toTable(claimOne(t, l)))
		equal(t, "dead letter", columns(t, s, target, "payload", "origin", "locked_until"), "1|it's jobs|-")
	})
}

// TestMoveToTableWithOtherRoles: a target may have a column for the reason that the table lacks, and
// lack what the table has.
func TestMoveToTableWithOtherRoles(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		delete(table.Roles, dialect.Error)
		table.Name = "plain"
		create(t, s, table)
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: roles(dialect.Payload, dialect.Error, dialect.Origin)})
		l := lease(t, s, table, deadTable(target))
		fill(t, s, table, 1)
		settle(t, l, forms.Done, toTable(claimOne(t, l)))
		equal(t, "dead letter", columns(t, s, target, "payload", "error", "origin"), "1|spent|g")
	})
}

// TestMovedRowCanBeMovedAgain: after somebody has put it back by hand.
func TestMovedRowCanBeMovedAgain(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		target := dead(t, s, table)
		l := lease(t, s, table, host.use, deadTable(target))
		fill(t, s, table, 2)
		deliveries := claim(t, l, 2)
		settle(t, l, forms.Done, toTable(deliveries[0]), toGroup(deliveries[1]))
		script(t, s, "INSERT INTO jobs SELECT * FROM dead_letters")
		script(t, s, "DELETE FROM dead_letters")
		script(t, s, "UPDATE jobs SET "+s.Dialect().Quote("group")+" = 'g', attempt = 1")
		again := claim(t, l, 2)
		// The row that was never moved by retry_after comes in its place in the order, whichever that is.
		if len(again) != 2 {
			t.Fatalf("claimed %d rows", len(again))
		}
		settle(t, l, forms.Done, settlements(again, toTable)...)
		equal(t, "dead letters", columns(t, s, target, "id", "payload", "attempt"), "1|1|1\n2|2|1")
	})
}

// TestMoveToTableThatHasMoreColumns: generated ones, defaults, and an identity that insists.
func TestMoveToTableThatHasMoreColumns(t *testing.T) {
	more := map[string][]string{
		"postgres": {"size integer GENERATED ALWAYS AS (length(payload)) STORED", "moved_at timestamptz NOT NULL DEFAULT now()", `"Note" text NOT NULL DEFAULT 'new'`},
		"mariadb":  {"size int GENERATED ALWAYS AS (length(payload)) VIRTUAL", "size2 int GENERATED ALWAYS AS (length(payload)) STORED", "moved_at timestamp NOT NULL DEFAULT current_timestamp", "`Note` varchar(20) NOT NULL DEFAULT 'new'"},
		"sqlite":   {"size INTEGER GENERATED ALWAYS AS (length(payload)) VIRTUAL", "size2 INTEGER GENERATED ALWAYS AS (length(payload)) STORED", "moved_at TEXT NOT NULL DEFAULT current_timestamp", `"Note" TEXT NOT NULL DEFAULT 'new'`},
	}
	identity := map[string]map[string]string{"postgres": {"id": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		if postgresBefore12(t, s) {
			more[db.Name][0] = "size integer NOT NULL DEFAULT 1"
		}
		// The table that the rows leave has the generated column too.
		table := createAs(t, s, leased(), identity[db.Name], more[db.Name][0])
		target := createAs(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles}, identity[db.Name], more[db.Name]...)
		l := lease(t, s, table, deadTable(target))
		fill(t, s, table, 3)
		deliveries := claim(t, l, 3)
		settle(t, l, forms.Done, finish(deliveries[0]), toTable(deliveries[1]), toTable(deliveries[2]))
		equal(t, "dead letters", columns(t, s, target, "id", "payload", "size", "Note"), "2|2|1|new\n3|3|1|new")
	})
}

// TestMoveOntoADuplicate fails that row alone: the others of its call settle, and the row stays.
func TestMoveOntoADuplicate(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		target := dead(t, s, table)
		l := lease(t, s, table, host.use, deadTable(target))
		fill(t, s, table, 6)
		script(t, s, "INSERT INTO dead_letters (id, payload, "+s.Dialect().Quote("group")+") VALUES (3, 'old', 'g')")
		d := claim(t, l, 6)
		answers := l.Settle(t.Context(), []*forms.Settlement{finish(d[0]), toTable(d[1]), toTable(d[2]), toTable(d[3]), back(d[4]), toGroup(d[5])})
		equal(t, "answers", states(answers), "done done failed done done done")
		if answers[2].Err == nil {
			t.Error("the failure has no error")
		}
		equal(t, "dead letters", columns(t, s, target, "payload"), "2\nold\n4")
		equal(t, "rows", columns(t, s, table, "payload", "group"), "3|g\n5|g\n6|dead")
		extend(t, l, forms.Done, d[2])
		host.advance(afterLease)
		equal(t, "claim", payloads(claim(t, l, 9)), "3 5")
	})
}

// TestMoveOfALockedGroupOfTables: a row is never in both tables or in neither, however many move.
func TestMoveManyToTable(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		target := dead(t, s, table)
		l := lease(t, s, table, deadTable(target))
		fill(t, s, table, 700)
		settle(t, l, forms.Done, settlements(claim(t, l, 700), toTable)...)
		equal(t, "rows", count(t, s, table), "0")
		equal(t, "dead letters", count(t, s, target), "700")
		if errors := columns(t, s, target, "error"); strings.Count(errors, "spent") != 700 {
			t.Error("not every dead letter has its reason")
		}
	})
}
