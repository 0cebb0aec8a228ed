package host

import (
	"context"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// Rows that another session has locked are passed over by claims, and are due all the same: a run until
// empty does not end before them.
func TestUntilEmptyWaitsForLockedRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for _, form := range []string{"lease", "row lock"} {
			t.Run(form, func(t *testing.T) {
				toml := tables
				if form == "row lock" {
					toml = inForm("")
				}
				other := another(t, db)
				if db.Name == "sqlite" {
					t.Skip("SQLite has no row locks")
				}
				b := open(t, other, toml+handler(t, "work", "jobs", ""), untilEmpty)
				b.enqueue("jobs", "work", many("ok", 20)...)
				tx, err := connect(t, other).Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				lock := &dialect.Statement{SQL: "SELECT id FROM jobs FOR UPDATE"}
				if err := tx.Query(t.Context(), lock, 0, nil, func([][]byte) error { return nil }); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- b.Run(context.WithoutCancel(t.Context()), nil) }()
				eventually(t, "claims come back empty", func() bool { return b.subscriptions()[0].emptyClaims.Load() >= 4 })
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				equal(t, "counts", b.counts("work"), Counts{Acked: 20})
			})
		}
	})
}
