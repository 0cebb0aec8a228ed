package dialect

import "strings"

// Fifo is a dialect's FIFO groups: a claim takes the head of a group alone, its first unfinished row in
// claim order, and only while no other row of the group is in work.
//
// Whether a group is in work cannot be read safely while another claim of the same group is on its
// way: a row that is committed late may come before one that was just taken. So claims of one group
// are made one at a time, by a lock on the table and the group.
type Fifo interface {
	Dialect
	// FifoGroups answers at most Page groups in order, behind the group After unless first is set:
	// each with 1 where its head can be claimed, and 0 where it cannot.
	FifoGroups(t *Table, s Selection, first bool) Statement
	// FifoLock tries the lock on the table and the group GroupName, without waiting, and answers 1
	// where it was taken. It is nil where a transaction that writes has the database to itself. The
	// lock ends with the transaction, or with FifoUnlock where that is not nil.
	FifoLock(t *Table) *Statement
	FifoUnlock(t *Table) *Statement
}

// FifoLease is a dialect's FIFO groups in the lease form.
type FifoLease interface {
	Fifo
	Lease
	// LeaseHead takes the head of the group GroupName under a lease.
	LeaseHead(t *Table) LeaseClaim
}

// FifoRowLock is a dialect's FIFO groups in the row lock form: the lock on the table and the group is
// kept until the head is settled, since nobody sees that a locked row is in work.
type FifoRowLock interface {
	Fifo
	RowLock
	// RowLockHead locks and answers the head of the group GroupName.
	RowLockHead(t *Table) Statement
}

// unfinished is the condition that a row was not marked as processed, and that its key names it.
func (g *Grammar) unfinished(t *Table) string {
	terms := g.named(t)
	if t.Has(ProcessedAt) {
		terms = append([]string{g.open(t)}, terms...)
	}
	if len(terms) == 0 {
		return ""
	}
	return " AND " + strings.Join(terms, " AND ")
}

// Head is the condition that a row is the head of a group, due and free, and that no row of its group
// is in work. The group is an expression, which is evaluated twice.
func (g *Grammar) Head(b *Builder, t *Table, group func() string) string {
	column := g.Role(t, "", Group)
	key := g.IDs(t, "")
	if len(t.ID) > 1 {
		key = "(" + key + ")"
	}
	var text strings.Builder
	text.WriteString(key + " = (SELECT " + g.IDs(t, "") + " FROM " + g.Table(t) + " WHERE " + column + " = " + group() +
		g.unfinished(t) + " ORDER BY " + g.Order(t) + " LIMIT 1)")
	if t.Has(RetryAfter) {
		text.WriteString(" AND " + g.past(b, t, RetryAfter))
	}
	text.WriteString(g.groupFree(b, t, group))
	return text.String()
}

// groupFree is the condition that no row of a group is in work, as far as the table shows it.
func (g *Grammar) groupFree(b *Builder, t *Table, group func() string) string {
	column, lease := g.Role(t, "", Group), g.Role(t, "", LockedUntil)
	switch {
	case !t.Has(LockedUntil):
		return ""
	case g.LastLease:
		return " AND COALESCE((SELECT " + lease + " FROM " + g.Table(t) + " WHERE " + column + " = " + group() +
			" ORDER BY " + lease + " DESC LIMIT 1) <= " + b.Bind(Now) + ", 1 = 1)"
	}
	return " AND NOT EXISTS (SELECT 1 FROM " + g.Table(t) + " WHERE " + column + " = " + group() +
		g.unfinished(t) + " AND " + lease + " > " + b.Bind(Now) + ")"
}

// GroupDue is the condition that a group, which has a row, has a head that can be claimed. A head that nothing
// hides is due, whichever row it is, and is not looked for.
func (g *Grammar) GroupDue(b *Builder, t *Table, group func() string) string {
	switch {
	case t.Has(RetryAfter):
		return "EXISTS (SELECT 1 FROM " + g.Table(t) + " WHERE " + g.Head(b, t, group) + ")"
	case g.unfinished(t) != "":
		return "EXISTS (SELECT 1 FROM " + g.Table(t) + " WHERE " + g.Role(t, "", Group) + " = " + group() + g.unfinished(t) + ")" +
			g.groupFree(b, t, group)
	}
	return "1 = 1" + g.groupFree(b, t, group)
}

// FifoGroups implements [Fifo]. It steps from group to group along the index instead of reading every
// row of each (the loose index scan of the PostgreSQL wiki), which all of the databases can do with a
// recursive query.
func (g *Grammar) FifoGroups(t *Table, s Selection, first bool) Statement {
	b := g.Builder()
	column := g.Role(t, "", Group)
	next := func(condition string) string {
		if unfinished := g.unfinished(t); g.Partial && unfinished != "" {
			if condition == "" {
				condition = " WHERE 1 = 1"
			}
			condition += unfinished
		}
		return "(SELECT " + column + " FROM " + g.Table(t) + condition + " ORDER BY " + column + " LIMIT 1)"
	}
	start := ""
	if !first {
		start = " WHERE " + column + " > " + b.Bind(After)
	}
	b.Add("WITH RECURSIVE __groups(__group, __n) AS (SELECT ", next(start), ", 1 UNION ALL SELECT ",
		next(" WHERE "+column+" > __groups.__group"), ", __n + 1 FROM __groups WHERE __group IS NOT NULL AND __n < ", b.Bind(Page),
		") SELECT ", g.Text("__group"), ", CASE WHEN ",
		g.GroupDue(b, t, func() string { return "__groups.__group" }), " THEN '1' ELSE '0' END FROM __groups WHERE __group IS NOT NULL")
	if s.Except > 0 {
		names := make([]string, s.Except)
		for i := range names {
			names[i] = b.BindPart(Except, i)
		}
		b.Add(" AND __group NOT IN (", strings.Join(names, ", "), ")")
	}
	b.Add(" ORDER BY __n")
	return b.Statement()
}
