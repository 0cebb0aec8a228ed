package dialect

import (
	"slices"
	"strings"
)

// Listed writes the lease form's changes for a database that cannot answer which rows of a list it
// changed: it locks the rows first, answers their tokens for the caller to compare, and then changes
// exactly those. All of it is one transaction.
type Listed struct {
	Grammar
	// ByKey stands behind a table whose rows are to be found by their primary key, whatever the planner
	// would rather do: on the way along another index it would lock rows that it does not want, and
	// whoever claims would pass over them. It is empty where the planner needs no such word.
	ByKey string
	// LockClause ends a SELECT that locks the rows it reads and passes over those that another
	// session has locked; empty where a transaction that writes has the database to itself.
	LockClause string
	// RowList stands before a list of keys of several columns.
	RowList string
	// Elements is a query for the elements of an array, for a database that spends much on the text of a list; nil
	// where a list has to do.
	Elements func(placeholder string) string
	// Later is the later of two times.
	Later func(a, b string) string
}

// Item is the text of one key in a list, and what it binds.
func (l *Listed) item(t *Table) (string, []Param) {
	params := make([]Param, len(t.ID))
	marks := make([]string, len(t.ID))
	for i, c := range t.IDColumns() {
		params[i] = Param{ID, i}
		marks[i] = l.boundKey("?", c)
	}
	if len(marks) == 1 {
		return marks[0], params
	}
	return "(" + strings.Join(marks, ", ") + ")", params
}

// inList completes a statement with the condition that a row is of the list.
func (l *Listed) inList(b *Builder, t *Table, after string, returns ...Output) *Statement {
	b.Add(" WHERE ")
	return l.listed(b, t, after, returns...)
}

// listed completes it where other conditions stand in front.
func (l *Listed) listed(b *Builder, t *Table, after string, returns ...Output) *Statement {
	keys, rows := l.IDs(t, ""), ""
	if len(t.ID) > 1 {
		keys, rows = "("+keys+")", l.RowList
	}
	b.Add(keys, " IN (", rows, ListMark, ")", after)
	s := b.Statement(returns...)
	s.Item, s.ItemParams = l.item(t)
	return &s
}

// KeyOutputs are the columns of a table's key.
func KeyOutputs(t *Table) []Output {
	outputs := make([]Output, len(t.ID))
	for i := range t.ID {
		outputs[i] = Output{Field: FieldID, Part: i}
	}
	return outputs
}

// Stamp is the second half of a claim: it writes the lease into the rows that the first half locked.
func (l *Listed) Stamp(t *Table) *Statement {
	b := l.Builder()
	b.Add("UPDATE ", l.Table(t), l.byKey(t), " SET ", l.Stamped(b, t))
	return l.inList(b, t, "")
}

// Stamped is the SET list of a claim: the expiry, and the attempt counted up to the top of its type.
func (g *Grammar) Stamped(b *Builder, t *Table) string {
	set := g.Role(t, "", LockedUntil) + " = " + b.Bind(Expiry)
	if t.Has(Attempt) {
		set += ", " + g.Role(t, "", Attempt) + " = " + g.Counted(t)
	}
	return set
}

// Current is the attempt as it stands in a row: one that was never counted is the first.
func (g *Grammar) Current(t *Table) string {
	column := g.Role(t, "", Attempt)
	if t.Column(Attempt).Nullable {
		return "COALESCE(" + column + ", 1)"
	}
	return column
}

// lock reads and locks the rows of a list with their tokens.
func (l *Listed) lock(t *Table) *Statement {
	b := l.Builder()
	b.Add("SELECT ", l.AnswerIDs(t), ", ", l.token(t))
	returns := append(KeyOutputs(t), Output{Field: FieldToken})
	if t.Has(Attempt) {
		b.Add(", ", l.Role(t, "", Attempt))
		returns = append(returns, Output{Field: FieldAttempt})
	}
	b.Add(" FROM ", l.Table(t), l.byKey(t))
	return l.inList(b, t, " ORDER BY "+l.IDs(t, "")+l.LockClause, returns...)
}

// byKey is ByKey for a table whose key is its primary key.
func (l *Listed) byKey(t *Table) string {
	if t.KeyIsPrimary() {
		return l.ByKey
	}
	return ""
}

// token is the lease column as text, whatever a driver makes of its type.
func (l *Listed) token(t *Table) string {
	return l.Text(l.Role(t, "", LockedUntil))
}

// held writes the condition that one row still holds its token.
func (l *Listed) held(b *Builder, t *Table) {
	b.Add(" WHERE ", l.KeyIs(b, t), " AND ")
	l.holds(b, t)
}

// holds writes the condition that a row has a token.
func (l *Listed) holds(b *Builder, t *Table) {
	b.Add(l.Role(t, "", LockedUntil), " = ", b.Bind(Token))
	if t.Has(Attempt) {
		b.Add(" AND ", l.Role(t, "", Attempt), " = ", b.Bind(Count))
	}
}

// Reread answers the keys and tokens of a list.
func (l *Listed) Reread(t *Table) *Statement {
	b := l.Builder()
	b.Add("SELECT ", l.AnswerIDs(t), ", ", l.token(t), " FROM ", l.Table(t))
	return l.inList(b, t, "", append(KeyOutputs(t), Output{Field: FieldToken})...)
}

// LeaseExtend implements [Lease].
func (l *Listed) LeaseExtend(t *Table) Held {
	b := l.Builder()
	column := l.Role(t, "", LockedUntil)
	b.Add("UPDATE ", l.Table(t), l.byKey(t), " SET ", column, " = ", l.Later(column, b.Bind(Expiry)))
	return Held{Lock: l.lock(t), Many: l.inList(b, t, ""), Reread: l.Reread(t)}
}

// LeaseFinish implements [Lease].
func (l *Listed) LeaseFinish(t *Table) Held {
	if !t.Has(ProcessedAt) {
		h := Held{Lock: l.lock(t), Many: l.remove(t)}
		if l.LockClause != "" {
			h.Whole = l.removeWhole(t)
		} else {
			h.Whole, h.Partial = l.finishAlike(t), true
		}
		return h
	}
	h := Held{Lock: l.lock(t), Many: l.inList(l.markFinished(t), t, "")}
	if l.LockClause == "" {
		h.Whole, h.Partial = l.finishAlike(t), true
	}
	return h
}

// markFinished begins the statement that marks rows as processed.
func (l *Listed) markFinished(t *Table) *Builder {
	b := l.Builder()
	return b.Add("UPDATE ", l.Table(t), l.byKey(t), " SET ", l.Role(t, "", ProcessedAt), " = ", b.Bind(Now), ", ",
		l.Role(t, "", LockedUntil), " = NULL")
}

// finishAlike finishes those rows of a list that have a token. Keys that are no integers stand in the text: no array says
// every text and every sequence of bytes as a column keeps it.
func (l *Listed) finishAlike(t *Table) *Statement {
	var b *Builder
	if t.Has(ProcessedAt) {
		b = l.markFinished(t)
	} else {
		b = l.Builder().Add("DELETE FROM ", l.Table(t))
	}
	b.Add(" WHERE ")
	l.holds(b, t)
	b.Add(" AND ")
	if keys := t.IDColumns(); l.Elements == nil || len(keys) > 1 || keys[0].Kind != Integer {
		return l.listed(b, t, "")
	}
	b.Add(l.IDs(t, ""), " IN (", l.Elements(b.Bind(IDs)), ")")
	s := b.Statement()
	return &s
}

// remove deletes the rows of a list. Where a small table is read as a whole, a plain DELETE waits for
// every row that another session has locked, of the list or not (an UPDATE passes over those that it
// would not change). So the rows are found by a read that waits for none, and deleted by their key. The
// read asks for the lease too: an index that has the key alone may be locked by a claim on its way, entry
// by entry, even where the rows are ours.
func (l *Listed) remove(t *Table) *Statement {
	b := l.Builder()
	if l.LockClause == "" {
		b.Add("DELETE FROM ", l.Table(t))
		return l.inList(b, t, "")
	}
	b.Add("DELETE q FROM (SELECT ", l.IDs(t, ""), ", ", l.Role(t, "", LockedUntil), " FROM ", l.Table(t), l.byKey(t))
	return l.inList(b, t, unlimited+l.LockClause+") AS h STRAIGHT_JOIN "+l.Table(t)+
		" AS q"+l.byKey(t)+" ON "+l.sameKey(t))
}

// removeWhole deletes the rows of a list that one claim has taken, or none of them: it locks those that still hold the token,
// as remove does, and counts them.
func (l *Listed) removeWhole(t *Table) *Statement {
	b := l.Builder()
	b.Add("DELETE q FROM (SELECT ", l.IDs(t, ""), ", COUNT(*) OVER () = ", b.Bind(Size), " AS __whole FROM (SELECT ", l.IDs(t, ""),
		" FROM ", l.Table(t), l.byKey(t), " WHERE ")
	l.holds(b, t)
	b.Add(" AND ")
	return l.listed(b, t, unlimited+l.LockClause+") AS k) AS h STRAIGHT_JOIN "+l.Table(t)+" AS q"+l.byKey(t)+
		" ON "+l.sameKey(t)+" AND h.__whole")
}

// sameKey joins the rows of q with those of h.
func (l *Listed) sameKey(t *Table) string {
	match := make([]string, len(t.ID))
	for i, name := range t.ID {
		match[i] = "q." + l.Quote(name) + " = h." + l.Quote(name)
	}
	return strings.Join(match, " AND ")
}

// unlimited keeps a read of rows a step of its own.
const unlimited = " LIMIT 18446744073709551615"

// LeaseReturn implements [Lease].
func (l *Listed) LeaseReturn(t *Table) Held {
	b := l.Builder()
	lease := l.Role(t, "", LockedUntil)
	until := "NULL"
	if !t.Has(RetryAfter) {
		until = b.Bind(Until)
	}
	return l.one(b, t, append([]string{lease + " = " + until}, l.returned(b, t)...))
}

// LeaseMoveToGroup implements [Lease].
func (l *Listed) LeaseMoveToGroup(t *Table) Held {
	b := l.Builder()
	return l.one(b, t, append([]string{l.Role(t, "", LockedUntil) + " = NULL"}, l.buried(b, t)...))
}

// one changes held rows one by one.
func (l *Listed) one(b *Builder, t *Table, set []string) Held {
	b.Add("UPDATE ", l.Table(t), l.byKey(t), " SET ", strings.Join(set, ", "))
	l.held(b, t)
	return Held{Lock: l.lock(t), One: []Statement{b.Statement()}}
}

// LeaseMoveToTable implements [Lease].
func (l *Listed) LeaseMoveToTable(t, target *Table) Held {
	insert := l.Builder()
	columns, values := l.Moved(t, target, "", func(name ParamName, c Column) string {
		return l.Typed(insert.Bind(name), c)
	})
	insert.Add("INSERT INTO ", l.Table(target), " (", columns, ") SELECT ", values, " FROM ", l.Table(t))
	l.held(insert, t)
	remove := l.Builder()
	remove.Add("DELETE FROM ", l.Table(t))
	l.held(remove, t)
	return Held{Lock: l.lock(t), One: []Statement{insert.Statement(), remove.Statement()}}
}

// Moved lists the columns of a dead letter's target and the values that a row of t arrives with:
// every column that both tables have keeps its value, but for those whose role says otherwise. What
// is bound for a column goes through bind.
func (g *Grammar) Moved(t, target *Table, qualifier string, bind func(ParamName, Column) string) (columns, values string) {
	var names, sources []string
	for _, c := range target.Columns {
		source := g.movedValue(t, target, c, qualifier, bind)
		if source == "" {
			continue
		}
		names = append(names, g.Quote(c.Name))
		sources = append(sources, source)
	}
	return strings.Join(names, ", "), strings.Join(sources, ", ")
}

// movedValue is the value that one column of the target arrives with, empty where it keeps its
// default.
func (g *Grammar) movedValue(t, target *Table, c Column, qualifier string, bind func(ParamName, Column) string) string {
	shared := slices.ContainsFunc(t.Columns, func(own Column) bool { return own.Name == c.Name })
	plays := func(r Role) bool { return target.Roles[r] == c.Name }
	switch {
	case c.Generated:
		return ""
	case plays(LockedUntil), plays(ProcessedAt):
		return "NULL"
	case plays(RetryAfter) && t.DatabaseClock:
		return g.Clock
	case plays(RetryAfter):
		return bind(Now, c)
	case plays(Origin) && t.Has(Group):
		return g.Text(g.Role(t, qualifier, Group))
	case plays(Origin):
		return bind(From, c)
	case plays(Attempt) && t.Has(Attempt):
		return "COALESCE(" + bind(Restore, c) + ", " + g.Role(t, qualifier, Attempt) + ")"
	case plays(Error) && t.Has(Error):
		return "COALESCE(" + bind(Reason, c) + ", " + g.Role(t, qualifier, Error) + ")"
	case plays(Error):
		return bind(Reason, c)
	case shared:
		return qualifier + g.Quote(c.Name)
	default:
		return ""
	}
}

// LeaseHeld implements [Lease].
func (l *Listed) LeaseHeld(t *Table) Statement {
	b := l.Builder()
	b.Add("SELECT 1 FROM ", l.Table(t))
	l.held(b, t)
	return b.Statement()
}
