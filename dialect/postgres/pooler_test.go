package postgres_test

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestServerSharesNoSessions finds no pooler where there is none.
func TestServerSharesNoSessions(t *testing.T) {
	s, err := postgres.Open(t.Context(), postgres.New(), testdb.Postgres(t), store.Options{MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	shares, err := s.(store.Pooled).SharesSessions(t.Context())
	if err != nil || shares {
		t.Errorf("shares %v, error %v", shares, err)
	}
}
