package host

import "strings"

// realMySQL is a MySQL where the tests say mariadb, as scripts/test-versions.sh has it.
func (b *bench) realMySQL() bool {
	b.t.Helper()
	version, err := b.store.Version(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return b.store.Dialect().Name() == "MySQL" && !strings.Contains(version, "MariaDB")
}
