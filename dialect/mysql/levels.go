package mysql

import (
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var _ dialect.Leveled = Dialect{}

// Levels implements [dialect.Leveled].
func (Dialect) Levels() []dialect.Level {
	return []dialect.Level{dialect.ReadUncommitted, dialect.ReadCommitted, dialect.RepeatableRead, dialect.Serializable}
}

// begin lists the statements that start a transaction. Every session is at READ COMMITTED, so that
// level needs no statement of its own.
func begin(o store.TxOptions) []string {
	const start = "START TRANSACTION"
	if o.Level == "" || o.Level == dialect.ReadCommitted {
		return []string{start}
	}
	return []string{"SET TRANSACTION ISOLATION LEVEL " + o.Level.SQL(), start}
}
