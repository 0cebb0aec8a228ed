package dialect

import "strings"

// Keyed is what the forms share that hold a row by a lock: the changes to one row, named by its key
// alone. A statement without text is one that has nothing to do.
type Keyed interface {
	Dialect
	// Finish removes a row, or marks it processed.
	Finish(t *Table) Statement
	// Return makes a row due again at Until, where it has a column for it, with the attempt Restore
	// and the reason Reason.
	Return(t *Table) Statement
	// MoveToGroup makes a row a dead letter in the group Target.
	MoveToGroup(t *Table) Statement
	// MoveToTable makes a row a dead letter in another table, by statements that run in order in one
	// transaction.
	MoveToTable(t, target *Table) []Statement
}

// RowLock is a dialect's row lock form: a claim locks its rows in a transaction that stays open while
// they are handled, and passes over those that another transaction has locked.
type RowLock interface {
	Keyed
	// RowLockClaim locks and answers claimable rows in claim order, with the attempt as it stands.
	RowLockClaim(t *Table, s Selection) Statement
}

// KeyIs is the condition that a row has the bound key.
func (g *Grammar) KeyIs(b *Builder, t *Table) string {
	terms := make([]string, len(t.ID))
	for i, c := range t.IDColumns() {
		terms[i] = g.Quote(c.Name) + " = " + g.boundKey(b.BindPart(ID, i), c)
	}
	return strings.Join(terms, " AND ")
}

// FinisherOfMany is a dialect that finishes the rows of an array with one statement, where their locks are held.
type FinisherOfMany interface {
	// FinishMany is Finish for the rows that [IDs] names.
	FinishMany(t *Table) Statement
}

// Finish implements [Keyed].
func (g *Grammar) Finish(t *Table) Statement {
	b := g.Builder()
	if t.Has(ProcessedAt) {
		b.Add("UPDATE ", g.Table(t), " SET ", g.Role(t, "", ProcessedAt), " = ", g.Instant(b, t))
	} else {
		b.Add("DELETE FROM ", g.Table(t))
	}
	b.Add(" WHERE ", g.KeyIs(b, t))
	return b.Statement()
}

// Return implements [Keyed].
func (g *Grammar) Return(t *Table) Statement {
	b := g.Builder()
	return g.update(b, t, g.returned(b, t))
}

// MoveToGroup implements [Keyed].
func (g *Grammar) MoveToGroup(t *Table) Statement {
	b := g.Builder()
	return g.update(b, t, g.buried(b, t))
}

// MoveToTable implements [Keyed].
func (g *Grammar) MoveToTable(t, target *Table) []Statement {
	insert := g.Builder()
	columns, values := g.Moved(t, target, "", func(name ParamName, c Column) string {
		return g.Typed(insert.Bind(name), c)
	})
	insert.Add("INSERT INTO ", g.Table(target), " (", columns, ")", g.Override(target), " SELECT ", values,
		" FROM ", g.Table(t), " WHERE ", g.KeyIs(insert, t))
	remove := g.Builder()
	remove.Add("DELETE FROM ", g.Table(t), " WHERE ", g.KeyIs(remove, t))
	return []Statement{insert.Statement(), remove.Statement()}
}

// update changes one row, or does nothing where there is nothing to set.
func (g *Grammar) update(b *Builder, t *Table, set []string) Statement {
	if len(set) == 0 {
		return Statement{}
	}
	b.Add("UPDATE ", g.Table(t), " SET ", strings.Join(set, ", "), " WHERE ", g.KeyIs(b, t))
	return b.Statement()
}

// returned are the assignments of a row that goes back to its queue.
func (g *Grammar) returned(b *Builder, t *Table) []string {
	var set []string
	if t.Has(RetryAfter) {
		column := g.Role(t, "", RetryAfter)
		set = append(set, column+" = COALESCE("+g.until(b, t)+", "+column+")")
	}
	return append(set, g.kept(b, t)...)
}

// buried are the assignments of a row that becomes a dead letter in another group. The origin is
// written before the group that it reads: MySQL assigns from left to right, and every later
// expression sees the new value.
func (g *Grammar) buried(b *Builder, t *Table) []string {
	var set []string
	group := g.Role(t, "", Group)
	if t.Has(Origin) {
		set = append(set, g.Role(t, "", Origin)+" = "+g.Text(group))
	}
	set = append(set, group+" = "+b.Bind(Target))
	if t.Has(RetryAfter) {
		set = append(set, g.Role(t, "", RetryAfter)+" = "+g.Instant(b, t))
	}
	return append(set, g.kept(b, t)...)
}

// kept are the assignments of the attempt and the reason of a row that was not finished.
func (g *Grammar) kept(b *Builder, t *Table) []string {
	var set []string
	if t.Has(Attempt) {
		column := g.Role(t, "", Attempt)
		set = append(set, column+" = COALESCE("+b.Bind(Restore)+", "+column+")")
	}
	if t.Has(Error) {
		column := g.Role(t, "", Error)
		set = append(set, column+" = COALESCE("+g.Typed(b.Bind(Reason), t.Column(Error))+", "+column+")")
	}
	return set
}
