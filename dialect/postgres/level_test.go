package postgres_test

import (
	"net/url"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// A transaction that writes is at READ COMMITTED, whatever the database's default: a FIFO claim reads a group
// after it has the group's lock, and must see what the lock's last holder took.
func TestTransactionsReadWhatIsCommitted(t *testing.T) {
	u, err := url.Parse(testdb.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("default_transaction_isolation", "serializable")
	u.RawQuery = query.Encode()
	s, err := postgres.Open(t.Context(), postgres.New(), u.String(), store.Options{MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	level := func(name string, tx store.Tx, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		err = tx.Query(t.Context(), &dialect.Statement{SQL: "SHOW transaction_isolation"}, 0, nil, func(v [][]byte) error {
			found = string(v[0])
			return nil
		})
		if err != nil || found != "read committed" {
			t.Errorf("%s is at %q (%v)", name, found, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	tx, err := s.Begin(t.Context())
	level("a transaction of the pool", tx, err)
	session, err := s.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx, err = session.Begin(t.Context())
	level("a transaction of a session", tx, err)
	if err := session.Release(); err != nil {
		t.Error(err)
	}
}
