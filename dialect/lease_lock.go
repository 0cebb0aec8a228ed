package dialect

// LeaseTransactional is a dialect whose lease form can give a delivery a transaction of its own.
type LeaseTransactional interface {
	Lease
	// LeaseLock locks one row that still holds its token, for the rest of the transaction, and answers a row;
	// none where the token is gone. It waits for others that have the row locked.
	LeaseLock(t *Table) Statement
}

// LeaseTouch is [LeaseTransactional]'s statement for a database without row locks: the write takes the lock
// that the database has.
func (l *Listed) LeaseTouch(t *Table) Statement {
	b := l.Builder()
	column := l.Role(t, "", LockedUntil)
	b.Add("UPDATE ", l.Table(t), " SET ", column, " = ", column)
	l.held(b, t)
	b.Add(" RETURNING 1")
	return b.Statement()
}
