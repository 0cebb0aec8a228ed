package forms_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// The tests run on other servers than the machine's too (scripts/test-versions.sh), which lack some of what
// the tests make use of.

func serverVersion(t *testing.T, s store.Store) string {
	t.Helper()
	version, err := s.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// postgresBefore12 has no generated columns and no plan_cache_mode.
func postgresBefore12(t *testing.T, s store.Store) bool {
	t.Helper()
	return s.Dialect().Name() == "PostgreSQL" && dialect.CheckVersion("PostgreSQL", serverVersion(t, s), "12") != nil
}

// realMySQL is a MySQL where the tests say mariadb.
func realMySQL(t *testing.T, s store.Store) bool {
	t.Helper()
	return s.Dialect().Name() == "MySQL" && !strings.Contains(serverVersion(t, s), "MariaDB")
}
