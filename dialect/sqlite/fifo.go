package sqlite

import "github.com/inbox-wasm/inbox-wasm/dialect"

// FifoLock implements [dialect.Fifo]: a claim's transaction has the database to itself.
func (Dialect) FifoLock(*dialect.Table) *dialect.Statement { return nil }

// FifoUnlock implements [dialect.Fifo].
func (Dialect) FifoUnlock(*dialect.Table) *dialect.Statement { return nil }

// LeaseHead implements [dialect.FifoLease].
func (d Dialect) LeaseHead(t *dialect.Table) dialect.LeaseClaim {
	b := d.Builder()
	b.Add("UPDATE ", d.Table(t), " SET ", d.Stamped(b, t), " WHERE ",
		d.Head(b, t, func() string { return b.Bind(dialect.GroupName) }))
	return dialect.LeaseClaim{Take: b.Statement(d.returning(b, t)...), Ordered: true}
}
