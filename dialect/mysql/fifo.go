package mysql

import "github.com/inbox-wasm/inbox-wasm/dialect"

// FifoLock implements [dialect.Fifo] by a lock of the session, on a hash of the table and the group: a
// name may have 64 characters. Locking the rows of the group instead would read all of them for each
// claim.
func (d Dialect) FifoLock(t *dialect.Table) *dialect.Statement { return d.fifo("GET_LOCK", ", 0", t) }

// FifoUnlock implements [dialect.Fifo]: the lock is the session's, not the transaction's.
func (d Dialect) FifoUnlock(t *dialect.Table) *dialect.Statement {
	return d.fifo("RELEASE_LOCK", "", t)
}

func (d Dialect) fifo(function, timeout string, t *dialect.Table) *dialect.Statement {
	b := d.Builder()
	b.Add("SELECT ", function, "(SHA2(CONCAT('fifo ', LOWER(DATABASE()), '.', ", literal(t.String()), ", ' ', ",
		b.Bind(dialect.GroupName), "), 256)", timeout, ")")
	s := b.Statement()
	return &s
}

// LeaseHead implements [dialect.FifoLease].
func (d Dialect) LeaseHead(t *dialect.Table) dialect.LeaseClaim {
	return dialect.LeaseClaim{Take: d.RowLockHead(t), Stamp: d.Stamp(t), Reread: d.Reread(t), Ordered: true}
}

// RowLockHead implements [dialect.FifoRowLock].
func (d Dialect) RowLockHead(t *dialect.Table) dialect.Statement {
	b := d.Builder()
	outputs := d.selectClaimed(b, t)
	b.Add(" WHERE ", d.Head(b, t, func() string { return b.Bind(dialect.GroupName) }), d.LockClause)
	return b.Statement(outputs...)
}
