package dialect

import (
	"strconv"
	"strings"
)

// Builder writes a statement's text and keeps what its placeholders bind, in step.
type Builder struct {
	// Numbered placeholders are $1, $2, … and a value that is bound twice keeps its number;
	// otherwise each placeholder is a question mark.
	Numbered bool
	// Mark stands before a placeholder's number where that is not a dollar sign.
	Mark string

	sql    strings.Builder
	params []Param
}

// Add writes text.
func (b *Builder) Add(parts ...string) *Builder {
	for _, part := range parts {
		b.sql.WriteString(part)
	}
	return b
}

// Bind names the next placeholder and gives its text.
func (b *Builder) Bind(name ParamName) string { return b.BindPart(name, 0) }

// BindPart is Bind for a value that has parts.
func (b *Builder) BindPart(name ParamName, part int) string {
	p := Param{name, part}
	if !b.Numbered {
		b.params = append(b.params, p)
		return "?"
	}
	mark := b.Mark
	if mark == "" {
		mark = "$"
	}
	for i, known := range b.params {
		if known == p {
			return mark + strconv.Itoa(i+1)
		}
	}
	b.params = append(b.params, p)
	return mark + strconv.Itoa(len(b.params))
}

// Statement is what was written, with what it answers.
func (b *Builder) Statement(returns ...Output) Statement {
	return Statement{SQL: b.sql.String(), Params: b.params, Returns: returns}
}

// Grammar is what the databases' texts have in common, given how each of them quotes and orders.
type Grammar struct {
	Quote func(identifier string) string
	// Numbered and Mark are those of its builders.
	Numbered bool
	Mark     string
	// Look stands behind a table that is only looked at, so that nobody who has locked its rows is
	// waited for; empty where readers never wait.
	Look string
	// Nulls orders a nullable column with its NULLs first or last.
	Nulls func(column string, first bool) string
	// IndexNulls does so in an index; nil where an index takes no such words.
	IndexNulls func(column string, first bool) string
	// Text renders an expression as text.
	Text func(expression string) string
	// StoredKey renders a column of a key so that the driver answers what the database keeps; nil where
	// it always does.
	StoredKey func(c Column, column string) string
	// BoundKey renders a bound column of a key so that it is compared as its column is; nil where a
	// value always is.
	BoundKey func(placeholder string, c Column) string
	// Typed renders a bound value so that it meets its column: with its type, or cut to the length
	// that the column takes.
	Typed func(placeholder string, c Column) string
	// Clock is the database's own time, and After that time and so many microseconds, NULL for NULL.
	Clock string
	After func(microseconds string) string
	// LastLease has a group's latest lease, which an index answers from its end, tell whether a row of the
	// group is in work: for a database that seeks no lease of a group that a query finds on its way. NULL is
	// the smallest value there, and a finished row has no lease.
	LastLease bool
	// Partial indexes hold the rows that are not processed alone: for a database that takes no order from an
	// index behind a column that is NULL.
	Partial bool
	// Named is the condition that a column of the key can name its row, empty where it always can; nil asks of
	// a nullable column that it is not NULL.
	Named func(t *Table, c Column) string
	// Seek renders the condition on the group so that the planner looks for its rows by an index of it, however
	// many they are; nil where it does.
	Seek func(condition string) string
	// Skip ends an insert that leaves out a row for which there is another in the unique index of the columns, which are
	// quoted; nil where the database has no such insert.
	Skip func(columns []string) string
	// Override stands in an insert that gives identity columns of the table their values.
	Override func(t *Table) string
}

// Builder is a new builder of the grammar.
func (g *Grammar) Builder() *Builder { return &Builder{Numbered: g.Numbered, Mark: g.Mark} }

// Table is the table's quoted name.
func (g *Grammar) Table(t *Table) string {
	if t.Schema == "" {
		return g.Quote(t.Name)
	}
	return g.Quote(t.Schema) + "." + g.Quote(t.Name)
}

// Role is the quoted column that plays the role, behind a qualifier such as "q." or none.
func (g *Grammar) Role(t *Table, qualifier string, r Role) string {
	return qualifier + g.Quote(t.Roles[r])
}

// IDs lists the key's quoted columns, each behind the qualifier.
func (g *Grammar) IDs(t *Table, qualifier string) string {
	names := make([]string, len(t.ID))
	for i, name := range t.ID {
		names[i] = qualifier + g.Quote(name)
	}
	return strings.Join(names, ", ")
}

// boundKey renders a bound column of a key.
func (g *Grammar) boundKey(placeholder string, c Column) string {
	if g.BoundKey == nil {
		return placeholder
	}
	return g.BoundKey(placeholder, c)
}

// AnswerIDs lists the key's columns for an answer.
func (g *Grammar) AnswerIDs(t *Table) string {
	if g.StoredKey == nil {
		return g.IDs(t, "")
	}
	columns := make([]string, len(t.ID))
	for i, c := range t.IDColumns() {
		columns[i] = g.StoredKey(c, g.Quote(c.Name))
	}
	return strings.Join(columns, ", ")
}

// Order is the claim order: priority, retry_after, key.
func (g *Grammar) Order(t *Table) string { return g.order(t, g.Nulls) }

// order is the claim order with NULLs in a place of their own, or in the database's where nulls is nil.
func (g *Grammar) order(t *Table, place func(column string, first bool) string) string {
	var terms []string
	nulls := func(r Role, first bool) {
		if !t.Has(r) {
			return
		}
		if column := g.Role(t, "", r); t.Column(r).Nullable && place != nil {
			terms = append(terms, place(column, first))
		} else {
			terms = append(terms, column)
		}
	}
	nulls(Priority, false)
	nulls(RetryAfter, true)
	return strings.Join(append(terms, g.IDs(t, "")), ", ")
}

// selected is the condition on the group and the finished mark: which rows a subscription reads at
// all, whether they are due or not.
func (g *Grammar) selected(b *Builder, t *Table, s Selection) string {
	var terms []string
	if t.Has(Group) {
		column := g.Role(t, "", Group)
		switch {
		case !s.AllGroups:
			term := column + " = " + b.Bind(GroupName)
			if g.Seek != nil {
				term = g.Seek(term)
			}
			terms = append(terms, term)
		case s.Except > 0:
			names := make([]string, s.Except)
			for i := range names {
				names[i] = b.BindPart(Except, i)
			}
			term := column + " NOT IN (" + strings.Join(names, ", ") + ")"
			if t.Column(Group).Nullable {
				term = "(" + column + " IS NULL OR " + term + ")"
			}
			terms = append(terms, term)
		}
	}
	if t.Has(ProcessedAt) {
		terms = append(terms, g.open(t))
	}
	terms = append(terms, g.named(t)...)
	if len(terms) == 0 {
		return "1 = 1"
	}
	return strings.Join(terms, " AND ")
}

// named are the conditions that a row has a key by which a settlement finds it.
func (g *Grammar) named(t *Table) []string {
	var terms []string
	for _, c := range t.IDColumns() {
		term := ""
		if g.Named != nil {
			term = g.Named(t, c)
		} else if c.Nullable {
			term = g.Quote(c.Name) + " IS NOT NULL"
		}
		if term != "" {
			terms = append(terms, term)
		}
	}
	return terms
}

// Unnamed counts the rows whose key cannot name them, which no claim takes; the text is empty where there can
// be none.
func (g *Grammar) Unnamed(t *Table) Statement {
	terms := g.named(t)
	if len(terms) == 0 {
		return Statement{}
	}
	return Statement{SQL: "SELECT " + g.Text("COUNT(*)") + " FROM " + g.Table(t) + g.Look + " WHERE NOT (" + strings.Join(terms, " AND ") + ")"}
}

// Claimable writes the condition of a claim in the lease form: selected, due and not held.
func (g *Grammar) Claimable(b *Builder, t *Table, s Selection) {
	b.Add(g.selected(b, t, s))
	if s.Marked {
		g.fromMark(b, t)
	}
	if t.Has(RetryAfter) && !(s.Marked && t.Column(RetryAfter).Nullable) {
		b.Add(" AND ", g.past(b, t, RetryAfter))
	}
	if t.Has(LockedUntil) {
		b.Add(" AND ", g.past(b, t, LockedUntil))
	}
	if s.BelowCap && t.Has(Attempt) {
		b.Add(" AND ", g.Current(t), " < ", b.Bind(Cap))
	}
	if s.LeftOut > 0 {
		b.Add(" AND NOT (", g.leftOut(b, t, s.LeftOut), ")")
	}
}

// fromMark writes the condition that a row is not in front of the mark in the claim order: that of the key, in which rows
// with a retry_after of its own come last, or that of the two.
func (g *Grammar) fromMark(b *Builder, t *Table) {
	if !t.Has(RetryAfter) {
		b.Add(" AND ", g.IDs(t, ""), " >= ", b.Bind(MarkKey))
		return
	}
	column := g.Role(t, "", RetryAfter)
	if t.Column(RetryAfter).Nullable {
		b.Add(" AND ", column, " IS NULL AND ", g.IDs(t, ""), " >= ", b.Bind(MarkKey))
		return
	}
	b.Add(" AND ", column, " >= ", b.Bind(MarkTime), " AND (", column, " > ", b.Bind(MarkTime), " OR ", g.IDs(t, ""), " >= ", b.Bind(MarkKey), ")")
}

// leftOut is the condition that a row is one of those that a claim leaves out.
func (g *Grammar) leftOut(b *Builder, t *Table, n int) string {
	keys := make([]string, n)
	for i := range keys {
		terms := make([]string, len(t.ID))
		for j, name := range t.ID {
			terms[j] = g.Quote(name) + " = " + b.BindPart(LeftOut, i*len(t.ID)+j)
		}
		keys[i] = strings.Join(terms, " AND ")
	}
	return strings.Join(keys, " OR ")
}

// past is the condition that a time is absent or has come.
func (g *Grammar) past(b *Builder, t *Table, r Role) string {
	column := g.Role(t, "", r)
	if !t.Column(r).Nullable {
		return column + " <= " + g.Instant(b, t)
	}
	return "(" + column + " IS NULL OR " + column + " <= " + g.Instant(b, t) + ")"
}

// Instant is the instant of a claim or a settlement, by the table's clock.
func (g *Grammar) Instant(b *Builder, t *Table) string {
	if t.DatabaseClock {
		return g.Clock
	}
	return b.Bind(Now)
}

// until is when a returned row is due again, NULL for at once, by the table's clock.
func (g *Grammar) until(b *Builder, t *Table) string {
	if t.DatabaseClock {
		return g.After(b.Bind(Delay))
	}
	return b.Bind(Until)
}

// Counts writes the three sums that [Dialect.Count] answers, from the rows that are selected.
func (g *Grammar) Counts(t *Table, s Selection) Statement {
	b := g.Builder()
	sum := func(condition string) string {
		return g.Text("COALESCE(SUM(CASE WHEN " + condition + " THEN 1 ELSE 0 END), 0)")
	}
	held := "1 = 0"
	if t.Has(LockedUntil) {
		column := g.Role(t, "", LockedUntil)
		held = column + " IS NOT NULL AND " + column + " > " + b.Bind(Now)
	}
	due := "1 = 1"
	if t.Has(RetryAfter) {
		due = g.past(b, t, RetryAfter)
	}
	if t.Has(LockedUntil) {
		due += " AND " + g.past(b, t, LockedUntil)
	}
	b.Add("SELECT ", sum(held), ", ", sum(due), ", ", g.Text("COUNT(*)"), " FROM ", g.Table(t), g.Look, " WHERE ")
	b.Add(g.selected(b, t, s))
	return b.Statement()
}

// Insert writes an insert of one row whose values are given by role.
func (g *Grammar) Insert(t *Table, roles []Role) Statement {
	b := g.Builder()
	columns := make([]string, len(roles))
	values := make([]string, len(roles))
	for i, r := range roles {
		columns[i] = g.Role(t, "", r)
		values[i] = b.BindPart(Value, int(r))
		if r == RetryAfter && t.DatabaseClock {
			values[i] = g.After(values[i])
		}
	}
	b.Add("INSERT INTO ", g.Table(t), " (", strings.Join(columns, ", "), ") VALUES (", strings.Join(values, ", "), ")", g.skip(t))
	return b.Statement()
}

// skip ends an insert into a table of which some rows may be there already.
func (g *Grammar) skip(t *Table) string {
	if t.OnConflict == nil || g.Skip == nil {
		return ""
	}
	return g.Skip(g.quoted(t.OnConflict))
}

func (g *Grammar) quoted(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = g.Quote(name)
	}
	return quoted
}
