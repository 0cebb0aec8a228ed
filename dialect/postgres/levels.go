package postgres

import "github.com/inbox-wasm/inbox-wasm/dialect"

var _ dialect.Leveled = Dialect{}

// Levels implements [dialect.Leveled]. The server takes READ UNCOMMITTED for READ COMMITTED
// (PostgreSQL documentation, section 13.2), so it does not keep it.
func (Dialect) Levels() []dialect.Level {
	return []dialect.Level{dialect.ReadCommitted, dialect.RepeatableRead, dialect.Serializable}
}
