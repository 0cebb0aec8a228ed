package dialect

import (
	"slices"
	"strconv"
	"strings"
)

// Inspector is a dialect whose tables an operator can look into and clear up. [Inspection] writes its statements.
type Inspector interface {
	Keyed
	// Census counts the rows of each group, from the claim order's index where the table has it. It answers, for each:
	// the group, NULL where there is none, all rows, those that are processed, those of the others that are delayed, and
	// since when the one of the rest has waited that has waited longest, NULL where no column says so.
	Census(t *Table) Statement
	// InWork counts the rows of each group that are under a lease. It answers, for each: the group, the rows, and those of
	// them that are delayed. The text is empty for a table without leases.
	InWork(t *Table) Statement
	// List reads what there is to see of the rows of a state, all where it is empty, in claim order: at most Limit of
	// them behind the first Offset, with the first Preview characters or bytes of what may be long.
	List(t *Table, w Where) Statement
	// Tally counts rows.
	Tally(t *Table, w Where) Statement
	// Hold answers the keys of at most Limit rows and locks them until the transaction ends, but for those that another
	// session has locked.
	Hold(t *Table, w Where) Statement
	// Remove deletes the row of the bound key.
	Remove(t *Table) Statement
	// Revive makes the dead letter of the bound key a row of the group Target again, or of the one that its origin names:
	// due at once, on its first attempt.
	Revive(t *Table, byOrigin bool) Statement
	// ReviveInto writes the dead letter of the bound key into another table, as a row that is due at once, on its first
	// attempt. It leaves the dead letter.
	ReviveInto(t, target *Table) Statement
	// Sweep deletes at most Limit rows that are processed since before Cutoff.
	Sweep(t *Table) Statement
	// SweepIndex creates the index by which they are found; empty where no column plays processed_at.
	SweepIndex(t *Table) string
}

// RowState is what a row is doing.
type RowState string

// The states of a row. In work are the rows under a lease; a row that is held by a lock is due or dead, as far as the
// database tells.
const (
	RowDue       RowState = "due"
	RowDelayed   RowState = "delayed"
	RowInWork    RowState = "in_work"
	RowDead      RowState = "dead"
	RowProcessed RowState = "processed"
)

// Letters says which rows of a table are dead letters: all of them, or those of as many groups, which are bound as
// [DeadGroup].
type Letters struct {
	All    bool
	Groups int
}

// Where says which rows a statement of [Inspector] is about.
type Where struct {
	Letters Letters
	State   RowState // empty is every state
	Group   bool     // the group that is bound
	Key     bool     // the row whose key is bound
	Aged    bool     // processed, or where it is not about processed rows written, before Cutoff
	// Origin and NoOrigin are rows that keep a group which they came from, and those that keep none.
	Origin, NoOrigin bool
}

// Inspection writes the statements of [Inspector] in a grammar.
type Inspection struct {
	grammar *Grammar
	words   InspectionWords
}

// InspectionWords are what databases say differently to an operator.
type InspectionWords struct {
	// Prefix is the beginning of a column, of as many characters or bytes as the placeholder says, and Size how many
	// bytes a column has.
	Prefix func(c Column, column, placeholder string) string
	Size   func(c Column, column string) string
	// LockClause ends a SELECT that locks the rows it reads and passes over those that another session has locked;
	// empty where a transaction that writes has the database to itself.
	LockClause string
	// Swept completes a DELETE of at most so many rows that meet a condition.
	Swept func(t *Table, condition, limit string) string
	// MaxName is the longest name that the database keeps, in bytes.
	MaxName int
}

// NewInspection is the statements for operators in a grammar.
func NewInspection(g *Grammar, words InspectionWords) *Inspection { return &Inspection{g, words} }

// state is the expression of a row's state.
func (i *Inspection) state(b *Builder, t *Table, l Letters) string {
	g := i.grammar
	var cases []string
	add := func(condition string, s RowState) {
		cases = append(cases, " WHEN "+condition+" THEN '"+string(s)+"'")
	}
	if t.Has(ProcessedAt) {
		add(g.Role(t, "", ProcessedAt)+" IS NOT NULL", RowProcessed)
	}
	if t.Has(LockedUntil) {
		add(g.Role(t, "", LockedUntil)+" > "+b.Bind(Now), RowInWork)
	}
	if l.All {
		add("1 = 1", RowDead)
	} else if l.Groups > 0 {
		add(g.Role(t, "", Group)+" IN ("+deadGroups(b, l)+")", RowDead)
	}
	if t.Has(RetryAfter) && !l.All {
		add(g.Role(t, "", RetryAfter)+" > "+g.Instant(b, t), RowDelayed)
	}
	if len(cases) == 0 {
		return "'" + string(RowDue) + "'"
	}
	return "CASE" + strings.Join(cases, "") + " ELSE '" + string(RowDue) + "' END"
}

func deadGroups(b *Builder, l Letters) string {
	marks := make([]string, l.Groups)
	for n := range marks {
		marks[n] = b.BindPart(DeadGroup, n)
	}
	return strings.Join(marks, ", ")
}

// Census implements [Inspector].
func (i *Inspection) Census(t *Table) Statement {
	g := i.grammar
	b := g.Builder()
	count := func(condition string) string {
		return g.Text("COUNT(CASE WHEN " + condition + " THEN 1 END)")
	}
	group, processed, open := "NULL", "1 = 0", "1 = 1"
	if t.Has(Group) {
		group = g.Text(g.Role(t, "", Group))
	}
	if t.Has(ProcessedAt) {
		processed, open = g.Role(t, "", ProcessedAt)+" IS NOT NULL", g.open(t)
	}
	b.Add("SELECT ", group, ", ", g.Text("COUNT(*)"), ", ", count(processed), ", ", count(open+" AND "+i.delayed(b, t)), ", ",
		g.Text("MIN(CASE WHEN "+open+" AND NOT ("+i.delayed(b, t)+") THEN "+waiting(g, t)+" END)"), " FROM ", g.Table(t), g.Look)
	if t.Has(Group) {
		b.Add(" GROUP BY ", g.Role(t, "", Group))
	}
	return b.Statement()
}

// delayed is the condition that a row's time has not come.
func (i *Inspection) delayed(b *Builder, t *Table) string {
	if !t.Has(RetryAfter) {
		return "1 = 0"
	}
	condition := i.grammar.Role(t, "", RetryAfter) + " > " + i.grammar.Instant(b, t)
	if t.Column(RetryAfter).Nullable {
		condition = i.grammar.Role(t, "", RetryAfter) + " IS NOT NULL AND " + condition
	}
	return condition
}

// waiting is since when a row waits that is due: since its time, or since it was written where it never had one.
func waiting(g *Grammar, t *Table) string {
	switch {
	case t.Has(RetryAfter) && t.Column(RetryAfter).Nullable && t.Has(CreatedAt):
		return "COALESCE(" + g.Role(t, "", RetryAfter) + ", " + g.Role(t, "", CreatedAt) + ")"
	case t.Has(RetryAfter):
		return g.Role(t, "", RetryAfter)
	case t.Has(CreatedAt):
		return g.Role(t, "", CreatedAt)
	default:
		return "NULL"
	}
}

// InWork implements [Inspector]. It groups by an expression: by the column a database may go through all rows in the order of
// an index that has not what it looks for.
func (i *Inspection) InWork(t *Table) Statement {
	if !t.Has(LockedUntil) {
		return Statement{}
	}
	g := i.grammar
	b := g.Builder()
	group := "NULL"
	if t.Has(Group) {
		group = g.Text(g.Role(t, "", Group))
	}
	b.Add("SELECT ", group, ", ", g.Text("COUNT(*)"), ", ", g.Text("COUNT(CASE WHEN "+i.delayed(b, t)+" THEN 1 END)"), " FROM ", g.Table(t), g.Look)
	i.where(b, t, Where{State: RowInWork})
	if t.Has(Group) {
		b.Add(" GROUP BY ", group)
	}
	return b.Statement()
}

// where writes the condition on the rows, in an order in which databases can go by their indexes.
func (i *Inspection) where(b *Builder, t *Table, w Where) {
	g := i.grammar
	var terms []string
	add := func(condition string) { terms = append(terms, condition) }
	not := func(r Role, condition string) {
		if t.Column(r).Nullable {
			condition = "(" + g.Role(t, "", r) + " IS NULL OR " + condition + ")"
		}
		add(condition)
	}
	if w.Key {
		add(g.KeyIs(b, t))
	}
	if w.Group {
		add(g.Role(t, "", Group) + " = " + b.Bind(GroupName))
	}
	if w.State == RowDead && !w.Letters.All {
		add(g.Role(t, "", Group) + " IN (" + deadGroups(b, w.Letters) + ")")
	}
	if w.State != "" && t.Has(ProcessedAt) {
		condition := " IS NULL"
		if w.State == RowProcessed {
			condition = " IS NOT NULL"
		}
		add(g.Role(t, "", ProcessedAt) + condition)
	}
	if w.State != "" && w.State != RowProcessed {
		if t.Has(LockedUntil) {
			column := g.Role(t, "", LockedUntil)
			if w.State == RowInWork {
				add(column + " > " + b.Bind(Now))
			} else {
				not(LockedUntil, column+" <= "+b.Bind(Now))
			}
		}
		if w.State == RowDue || w.State == RowDelayed {
			if w.Letters.All {
				add("1 = 0")
			}
			if w.Letters.Groups > 0 {
				not(Group, g.Role(t, "", Group)+" NOT IN ("+deadGroups(b, w.Letters)+")")
			}
			if t.Has(RetryAfter) {
				column := g.Role(t, "", RetryAfter)
				if w.State == RowDelayed {
					add(column + " > " + g.Instant(b, t))
				} else {
					not(RetryAfter, column+" <= "+g.Instant(b, t))
				}
			}
		}
	}
	if w.Aged {
		role := CreatedAt
		if w.State == RowProcessed {
			role = ProcessedAt
		}
		add(g.Role(t, "", role) + " < " + b.Bind(Cutoff))
	}
	if w.Origin { // a row that came from where it is has nowhere to go back to
		add(g.Role(t, "", Origin) + " <> " + g.Text(g.Role(t, "", Group)))
	}
	if w.NoOrigin {
		add(g.Role(t, "", Origin) + " IS NULL")
	}
	if len(terms) > 0 {
		b.Add(" WHERE ", strings.Join(terms, " AND "))
	}
}

var listedRoles = []Role{Group, Priority, PartitionKey, RetryAfter, Attempt, ProcessedAt, LockedUntil, Headers, Error, Origin, CreatedAt}

// ListedRoles are the roles of a table that [Inspector.List] answers, in their order, behind the key and the state. The
// payload and its size are the last, where the table has one.
func ListedRoles(t *Table) []Role {
	var roles []Role
	for _, r := range listedRoles {
		if t.Has(r) {
			roles = append(roles, r)
		}
	}
	return roles
}

// List implements [Inspector]. It chooses the rows by what orders them, and then reads those that it has chosen.
func (i *Inspection) List(t *Table, w Where) Statement {
	g := i.grammar
	b := g.Builder()
	b.Add("SELECT ")
	for _, c := range t.IDColumns() {
		column := g.Quote(c.Name)
		if c.Kind != Bytes {
			column = g.Text(column)
		}
		b.Add(column, ", ")
	}
	b.Add(i.state(b, t, w.Letters))
	for _, r := range ListedRoles(t) {
		c := t.Column(r)
		column := g.Quote(c.Name)
		switch {
		case r == Headers || r == Error:
			column = i.words.Prefix(c, column, b.Bind(Preview))
		case c.Kind != Bytes:
			column = g.Text(column)
		}
		b.Add(", ", column)
	}
	if t.Has(Payload) {
		c := t.Column(Payload)
		column := g.Quote(c.Name)
		b.Add(", ", i.words.Prefix(c, column, b.Bind(Preview)), ", ", g.Text(i.words.Size(c, column)))
	}
	keys, match := make([]string, len(t.ID)), make([]string, len(t.ID))
	for n, name := range t.ID {
		alias := "__k" + strconv.Itoa(n)
		keys[n] = g.Quote(name) + " AS " + alias
		match[n] = g.Quote(name) + " = " + alias
	}
	b.Add(" FROM (SELECT ", strings.Join(keys, ", "), " FROM ", g.Table(t), g.Look)
	i.where(b, t, w)
	b.Add(" ORDER BY ", g.Order(t), " LIMIT ", b.Bind(Limit), " OFFSET ", b.Bind(Offset), ") AS __chosen JOIN ", g.Table(t), " ON ",
		strings.Join(match, " AND "), " ORDER BY ", g.Order(t))
	return b.Statement()
}

// Tally implements [Inspector].
func (i *Inspection) Tally(t *Table, w Where) Statement {
	b := i.grammar.Builder()
	b.Add("SELECT ", i.grammar.Text("COUNT(*)"), " FROM ", i.grammar.Table(t), i.grammar.Look)
	i.where(b, t, w)
	return b.Statement()
}

// Hold implements [Inspector].
func (i *Inspection) Hold(t *Table, w Where) Statement {
	g := i.grammar
	b := g.Builder()
	columns := make([]string, len(t.ID))
	for n, c := range t.IDColumns() {
		columns[n] = g.Quote(c.Name)
		if c.Kind != Bytes {
			columns[n] = g.Text(columns[n])
		}
	}
	b.Add("SELECT ", strings.Join(columns, ", "), " FROM ", g.Table(t))
	i.where(b, t, w)
	b.Add(" ORDER BY ", g.Order(t), " LIMIT ", b.Bind(Limit), i.words.LockClause)
	return b.Statement(KeyOutputs(t)...)
}

// Remove implements [Inspector].
func (i *Inspection) Remove(t *Table) Statement {
	b := i.grammar.Builder()
	b.Add("DELETE FROM ", i.grammar.Table(t), " WHERE ", i.grammar.KeyIs(b, t))
	return b.Statement()
}

// Revive implements [Inspector].
func (i *Inspection) Revive(t *Table, byOrigin bool) Statement {
	g := i.grammar
	b := g.Builder()
	group := g.Role(t, "", Origin)
	if !byOrigin {
		group = b.Bind(Target)
	}
	set := []string{g.Role(t, "", Group) + " = " + g.Typed(group, t.Column(Group))}
	if t.Has(Attempt) {
		set = append(set, g.Role(t, "", Attempt)+" = 1")
	}
	if t.Has(RetryAfter) {
		set = append(set, g.Role(t, "", RetryAfter)+" = "+g.Instant(b, t))
	}
	for _, r := range []Role{LockedUntil, Origin} {
		if t.Has(r) {
			set = append(set, g.Role(t, "", r)+" = NULL")
		}
	}
	return g.update(b, t, set)
}

// ReviveInto implements [Inspector].
func (i *Inspection) ReviveInto(t, target *Table) Statement {
	g := i.grammar
	b := g.Builder()
	var columns, values []string
	for _, c := range target.Columns {
		plays := func(r Role) bool { return target.Roles[r] == c.Name }
		value := ""
		switch {
		case c.Generated:
		case plays(LockedUntil), plays(ProcessedAt), plays(Origin):
			value = "NULL"
		case plays(RetryAfter) && target.DatabaseClock:
			value = g.Clock
		case plays(RetryAfter):
			value = g.Typed(b.Bind(Now), c)
		case plays(Attempt):
			value = "1"
		case slices.ContainsFunc(t.Columns, func(own Column) bool { return own.Name == c.Name }):
			value = g.Quote(c.Name)
		}
		if value != "" {
			columns = append(columns, g.Quote(c.Name))
			values = append(values, value)
		}
	}
	b.Add("INSERT INTO ", g.Table(target), " (", strings.Join(columns, ", "), ")", g.Override(target), " SELECT ", strings.Join(values, ", "),
		" FROM ", g.Table(t), " WHERE ", g.KeyIs(b, t))
	return b.Statement()
}

// Sweep implements [Inspector].
func (i *Inspection) Sweep(t *Table) Statement {
	g := i.grammar
	b := g.Builder()
	condition := g.Role(t, "", ProcessedAt) + " < " + b.Bind(Cutoff)
	b.Add("DELETE FROM ", g.Table(t), " WHERE ", i.words.Swept(t, condition, b.Bind(Limit)))
	return b.Statement()
}

// SweepIndex implements [Inspector].
func (i *Inspection) SweepIndex(t *Table) string {
	if !t.Has(ProcessedAt) {
		return ""
	}
	return i.grammar.index(t, "_processed_idx", i.words.MaxName, i.grammar.Role(t, "", ProcessedAt))
}
