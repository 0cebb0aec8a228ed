package forms_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// channels is a table whose rows share a key where they share a channel.
func channels() *dialect.Table {
	return &dialect.Table{Name: "jobs", ID: []string{"id"}, Key: []dialect.KeyPart{{Literal: "jobs-"}, {Column: "channel"}},
		Roles: roles(dialect.Group, dialect.RetryAfter, dialect.Attempt, dialect.Payload, dialect.Error)}
}

// keyed creates a table for the form; when the test's forms are closed, no lock may be left.
func keyed(t *testing.T, s store.Store, table *dialect.Table) *dialect.Table {
	t.Helper()
	t.Cleanup(func() { noLocks(t, s) })
	return create(t, s, table)
}

// advisory is the form over a table, as another process would have it: with a registry of its own. It is
// closed with the test.
func advisory(t *testing.T, s store.Store, table *dialect.Table, change ...func(*forms.Options)) *forms.Advisory {
	t.Helper()
	o := forms.Options{Table: table, Now: newClock().now, Locks: forms.NewLocks()}
	if table.Has(dialect.Group) {
		o.Group, o.DeadGroup = "g", "dead"
	}
	for _, c := range change {
		c(&o)
	}
	a, err := forms.NewAdvisory(s, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// sharing gives forms one registry, as those of one process have it.
func sharing(locks *forms.Locks) func(*forms.Options) {
	return func(o *forms.Options) { o.Locks = locks }
}

// noLocks looks for a lock that a session has left behind.
func noLocks(t *testing.T, s store.Store) {
	t.Helper()
	if s.Dialect().Name() == "PostgreSQL" {
		equal(t, "advisory locks", heldLocks(t, s), "")
	}
}

// heldLocks lists the advisory locks of a test's own database.
func heldLocks(t *testing.T, s store.Store) string {
	t.Helper()
	return query(t, s, "SELECT pid::text, classid::text, objid::text FROM pg_locks WHERE locktype = 'advisory' "+
		"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
}

// put writes n rows of a channel into the group "g"; their payloads are the channel and a number.
func put(t *testing.T, s store.Store, table *dialect.Table, channel string, n int) {
	t.Helper()
	q := s.Dialect().Quote
	for start := 0; start < n; start += 1000 {
		var rows []string
		for i := start; i < min(n, start+1000); i++ {
			rows = append(rows, fmt.Sprintf("('g', '%s', '%s%d')", channel, channel, i+1))
		}
		script(t, s, "INSERT INTO "+quoted(s, table)+" ("+q("group")+", "+q("channel")+", "+q("payload")+") VALUES "+strings.Join(rows, ", "))
	}
}

// take claims at most limit rows and names them by their payloads.
func take(t *testing.T, f forms.Form, limit int) ([]*forms.Delivery, string) {
	t.Helper()
	deliveries, err := f.Claim(t.Context(), limit, false)
	if err != nil {
		t.Fatal(err)
	}
	return deliveries, payloads(deliveries)
}

// takes claims rows and wants those of these payloads.
func takes(t *testing.T, f forms.Form, limit int, want string) []*forms.Delivery {
	t.Helper()
	deliveries, got := take(t, f, limit)
	if got != want {
		t.Fatalf("claimed %q, want %q", got, want)
	}
	return deliveries
}

// ends settles deliveries and wants one state of each.
func ends(t *testing.T, f forms.Form, want forms.State, settlements ...*forms.Settlement) {
	t.Helper()
	for i, answer := range f.Settle(t.Context(), settlements) {
		if answer.State != want {
			t.Fatalf("settlement of row %s: %v (%v), want %v", settlements[i].Delivery.ID, answer.State, answer.Err, want)
		}
	}
}

// second is another store of the same database, as another process would open it.
func second(t *testing.T, db testdb.Database, connections int) store.Store {
	t.Helper()
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// met waits for a condition.
func met(t *testing.T, what string, done func() bool) {
	t.Helper()
	const patience = 20 * time.Second
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, patience)
		case <-look.C:
		}
	}
}

// attempts are the attempts of every row in the order of the key.
func attempts(t *testing.T, s store.Store, table *dialect.Table) string {
	t.Helper()
	return strings.ReplaceAll(columns(t, s, table, "attempt"), "\n", " ")
}

func integer(n int) string { return strconv.Itoa(n) }
