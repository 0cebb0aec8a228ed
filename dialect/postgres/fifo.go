package postgres

import "github.com/inbox-wasm/inbox-wasm/dialect"

// FifoLock implements [dialect.Fifo]: a lock of the transaction on a hash of the table and the group.
// Two groups with one hash wait for each other.
func (Dialect) FifoLock(t *dialect.Table) *dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT pg_try_advisory_xact_lock(hashtextextended(", literal("fifo "+t.String()+" "), " || ",
		b.Bind(dialect.GroupName), "::text, 0))::int::text")
	s := b.Statement()
	return &s
}

// FifoUnlock implements [dialect.Fifo]: the lock ends with its transaction.
func (Dialect) FifoUnlock(*dialect.Table) *dialect.Statement { return nil }

// LeaseHead implements [dialect.FifoLease].
func (Dialect) LeaseHead(t *dialect.Table) dialect.LeaseClaim {
	b := grammar.Builder()
	columns, outputs := claimed(t)
	b.Add("UPDATE ", grammar.Table(t), " SET ", grammar.Stamped(b, t), " WHERE ", key(t), " IN (SELECT ", grammar.IDs(t, ""),
		" FROM ", grammar.Table(t), " WHERE ", head(b, t), " FOR UPDATE SKIP LOCKED) RETURNING ", columns)
	return dialect.LeaseClaim{Take: b.Statement(outputs...), Ordered: true}
}

// RowLockHead implements [dialect.FifoRowLock].
func (Dialect) RowLockHead(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	columns, outputs := claimed(t)
	b.Add("SELECT ", columns, " FROM ", grammar.Table(t), " WHERE ", head(b, t), " FOR UPDATE SKIP LOCKED")
	return b.Statement(outputs...)
}

// head is the condition of the head of the group that is bound.
func head(b *dialect.Builder, t *dialect.Table) string {
	return grammar.Head(b, t, func() string { return b.Bind(dialect.GroupName) })
}

// key is a table's key as one expression.
func key(t *dialect.Table) string {
	if len(t.ID) > 1 {
		return "(" + grammar.IDs(t, "") + ")"
	}
	return grammar.IDs(t, "")
}
