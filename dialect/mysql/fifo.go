package mysql

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// FifoLock implements [dialect.Fifo] by a lock of the session, on a hash of the table and the group: a
// name may have 64 characters. Locking the rows of the group instead would read all of them for each
// claim. Texts that the column takes for one group, such as 'a' and 'A', have one lock: it is named by what
// they are compared by. A group without rows has none to claim, and no lock.
func (d Dialect) FifoLock(t *dialect.Table) *dialect.Statement {
	b := d.Builder()
	column := d.Role(t, "", dialect.Group)
	group := d.Text(column)
	if t.Column(dialect.Group).Kind == dialect.Text {
		group = "HEX(WEIGHT_STRING(RTRIM(" + column + ")))"
	}
	b.Add("SELECT COALESCE(GET_LOCK(__name, 0), 0) FROM (SELECT SHA2(CONCAT('fifo ', LOWER(DATABASE()), '.', ", literal(t.String()),
		", ' ', ", group, "), 256) AS __name FROM ", d.Table(t), " WHERE ", column, " = ", b.Bind(dialect.GroupName), " LIMIT 1) AS __group")
	s := b.Statement()
	return &s
}

// FifoUnlock implements [dialect.Fifo]: the lock is the session's, not the transaction's. The row that named
// it may be gone by now; the session holds no lock of another kind.
func (d Dialect) FifoUnlock(*dialect.Table) *dialect.Statement {
	return &dialect.Statement{SQL: "SELECT RELEASE_ALL_LOCKS()"}
}

// FifoGroups implements [dialect.Fifo]. Neither server seeks in an index by a value that a query finds on its
// way, so that stepping from group to group reads every row of the table for each. Both skip from one
// distinct value to the next where groups are large, and read the entries of an index where they are small.
func (d Dialect) FifoGroups(t *dialect.Table, s dialect.Selection, first bool) dialect.Statement {
	b := d.Builder()
	column := d.Role(t, "", dialect.Group)
	b.Add("SELECT ", d.Text("__group"), ", CASE WHEN ",
		d.GroupDue(b, t, func() string { return "__groups.__group" }), " THEN '1' ELSE '0' END FROM (SELECT DISTINCT ", column,
		" AS __group FROM ", d.Table(t), " WHERE ", column)
	if first {
		b.Add(" IS NOT NULL")
	} else {
		b.Add(" > ", b.Bind(dialect.After))
	}
	b.Add(" ORDER BY ", column, " LIMIT ", b.Bind(dialect.Page), ") AS __groups")
	if s.Except > 0 {
		names := make([]string, s.Except)
		for i := range names {
			names[i] = b.BindPart(dialect.Except, i)
		}
		b.Add(" WHERE __group NOT IN (", strings.Join(names, ", "), ")")
	}
	b.Add(" ORDER BY __group")
	return b.Statement()
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
