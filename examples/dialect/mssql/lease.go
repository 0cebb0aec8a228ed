package mssql

import (
	"strconv"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// LeaseClaim implements [dialect.Lease]. OUTPUT answers in no order.
func (Dialect) LeaseClaim(t *dialect.Table, s dialect.Selection) dialect.LeaseClaim {
	b := grammar.Builder()
	b.Add("WITH __claimed AS (SELECT TOP (", b.Bind(dialect.Limit), ") * FROM ", grammar.Table(t), locking, " WHERE ")
	grammar.Claimable(b, t, s)
	b.Add(" ORDER BY ", grammar.Order(t), ") UPDATE __claimed SET ", grammar.Stamped(b, t))
	columns, outputs := answered(t, "inserted.", "inserted.")
	b.Add(" OUTPUT ", columns)
	return dialect.LeaseClaim{Take: b.Statement(outputs...)}
}

// array is a parameter with a value for each row, and the column that it meets.
type array struct {
	name   dialect.ParamName
	column dialect.Column
}

// held is the source of a statement about the rows of the arrays that still hold their tokens: q is the
// row, and h what is bound for it, with its ordinal. The extra parameters are columns of h by their
// names. Nobody waits here, so the order of the locks does not matter.
func held(b *dialect.Builder, t *dialect.Table, extra ...array) string {
	var columns, sources, match []string
	add := func(name string, p dialect.ParamName, part int, c dialect.Column) {
		source := "OPENJSON(" + b.BindPart(p, part) + ") AS " + name
		if len(sources) > 0 {
			source += " ON " + name + ".[key] = k0.[key]"
		}
		sources = append(sources, source)
		columns = append(columns, element(name+".[value]", c)+" AS "+name)
	}
	for i, c := range t.IDColumns() {
		key := "k" + strconv.Itoa(i)
		add(key, dialect.IDs, i, c)
		match = append(match, "q."+quote(c.Name)+" = h."+key)
	}
	for _, r := range []struct {
		role dialect.Role
		name dialect.ParamName
	}{{dialect.LockedUntil, dialect.Tokens}, {dialect.Attempt, dialect.Counts}} {
		if t.Has(r.role) {
			add(string(r.name), r.name, 0, t.Column(r.role))
			match = append(match, grammar.Role(t, "q.", r.role)+" = h."+string(r.name))
		}
	}
	for _, a := range extra {
		add(string(a.name), a.name, 0, a.column)
	}
	return " FROM (SELECT CONVERT(int, k0.[key]) + 1 AS n, " + strings.Join(columns, ", ") + " FROM " +
		strings.Join(sources, " JOIN ") + ") AS h JOIN " + grammar.Table(t) + " AS q" + locking + " ON " + strings.Join(match, " AND ")
}

// element is an element of an array, which is text, as a value of the column's type; the style 2 reads
// hexadecimal digits ("CAST and CONVERT").
func element(value string, c dialect.Column) string {
	if c.Kind == dialect.Bytes {
		return "CONVERT(" + c.Type + ", " + value + ", 2)"
	}
	return grammar.Typed(value, c)
}

var ordinal = dialect.Output{Field: dialect.FieldOrdinal}

// change updates the rows that still hold their tokens.
func change(b *dialect.Builder, t *dialect.Table, set []string, extra ...array) dialect.Held {
	b.Add("UPDATE q SET ", strings.Join(set, ", "), " OUTPUT h.n", held(b, t, extra...))
	s := b.Statement(ordinal)
	return dialect.Held{Many: &s}
}

// LeaseExtend implements [dialect.Lease].
func (Dialect) LeaseExtend(t *dialect.Table) dialect.Held {
	b := grammar.Builder()
	c := t.Column(dialect.LockedUntil)
	lease, expiry := grammar.Role(t, "q.", dialect.LockedUntil), grammar.Typed(b.Bind(dialect.Expiry), c)
	b.Add("UPDATE q SET ", quote(c.Name), " = CASE WHEN ", lease, " > ", expiry, " THEN ", lease, " ELSE ", expiry,
		" END OUTPUT h.n, ", text(c, "inserted."+quote(c.Name)), held(b, t))
	s := b.Statement(ordinal, dialect.Output{Field: dialect.FieldToken})
	return dialect.Held{Many: &s}
}

// LeaseFinish implements [dialect.Lease].
func (Dialect) LeaseFinish(t *dialect.Table) dialect.Held {
	b := grammar.Builder()
	if t.Has(dialect.ProcessedAt) {
		return change(b, t, []string{grammar.Role(t, "", dialect.ProcessedAt) + " = " + b.Bind(dialect.Now), free(t)})
	}
	b.Add("DELETE q OUTPUT h.n", held(b, t))
	s := b.Statement(ordinal)
	return dialect.Held{Many: &s}
}

// free ends a lease.
func free(t *dialect.Table) string { return grammar.Role(t, "", dialect.LockedUntil) + " = NULL" }

// kept are the arrays of what a row keeps when it goes back or becomes a dead letter.
func kept(t, target *dialect.Table) []array {
	var arrays []array
	if t.Has(dialect.Attempt) {
		arrays = append(arrays, array{dialect.Restores, t.Column(dialect.Attempt)})
	}
	if target.Has(dialect.Error) {
		arrays = append(arrays, array{dialect.Reasons, target.Column(dialect.Error)})
	}
	return arrays
}

// keep are the assignments that write them.
func keep(t *dialect.Table) []string {
	var set []string
	for _, k := range []struct {
		role dialect.Role
		name dialect.ParamName
	}{{dialect.Attempt, dialect.Restores}, {dialect.Error, dialect.Reasons}} {
		if t.Has(k.role) {
			set = append(set, unless(t, k.role, k.name))
		}
	}
	return set
}

// unless assigns what is bound for a row, unless that is NULL.
func unless(t *dialect.Table, r dialect.Role, name dialect.ParamName) string {
	return grammar.Role(t, "", r) + " = COALESCE(h." + string(name) + ", " + grammar.Role(t, "q.", r) + ")"
}

// LeaseReturn implements [dialect.Lease].
func (Dialect) LeaseReturn(t *dialect.Table) dialect.Held {
	due, set := dialect.LockedUntil, []string{grammar.Role(t, "", dialect.LockedUntil) + " = h." + string(dialect.Untils)}
	if t.Has(dialect.RetryAfter) {
		due, set = dialect.RetryAfter, []string{free(t), unless(t, dialect.RetryAfter, dialect.Untils)}
	}
	return change(grammar.Builder(), t, append(set, keep(t)...), append(kept(t, t), array{dialect.Untils, t.Column(due)})...)
}

// LeaseMoveToGroup implements [dialect.Lease]. Every expression reads the row as it was.
func (Dialect) LeaseMoveToGroup(t *dialect.Table) dialect.Held {
	b := grammar.Builder()
	set := []string{grammar.Role(t, "", dialect.Group) + " = " + b.Bind(dialect.Target), free(t)}
	if t.Has(dialect.Origin) {
		set = append(set, grammar.Role(t, "", dialect.Origin)+" = "+grammar.Text(grammar.Role(t, "q.", dialect.Group)))
	}
	if t.Has(dialect.RetryAfter) {
		set = append(set, grammar.Role(t, "", dialect.RetryAfter)+" = "+b.Bind(dialect.Now))
	}
	return change(b, t, append(set, keep(t)...), kept(t, t)...)
}

// LeaseMoveToTable implements [dialect.Lease] by one statement, so that the row is never in both tables
// or in neither. The server refuses a target that has triggers, foreign keys or check constraints
// ("OUTPUT clause").
func (Dialect) LeaseMoveToTable(t, target *dialect.Table) dialect.Held {
	b := grammar.Builder()
	columns, values := grammar.Moved(t, target, "deleted.", func(name dialect.ParamName, c dialect.Column) string {
		switch name {
		case dialect.Restore:
			return "h." + string(dialect.Restores)
		case dialect.Reason:
			return "h." + string(dialect.Reasons)
		default:
			return grammar.Typed(b.Bind(name), c)
		}
	})
	b.Add("DELETE q OUTPUT ", values, " INTO ", grammar.Table(target), " (", columns, ") OUTPUT h.n", held(b, t, kept(t, target)...))
	s := b.Statement(ordinal)
	if movesIdentity(t, target) {
		s.SQL = withIdentity(target, s.SQL)
	}
	return dialect.Held{Many: &s}
}

// LeaseHeld implements [dialect.Lease]. It reads beside every lock, and what it may see of a transaction
// that is not committed is a claim of the row by somebody else.
func (Dialect) LeaseHeld(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT 1 FROM ", grammar.Table(t), grammar.Look, " WHERE ", grammar.KeyIs(b, t), " AND ",
		grammar.Role(t, "", dialect.LockedUntil), " = ", b.Bind(dialect.Token))
	if t.Has(dialect.Attempt) {
		b.Add(" AND ", grammar.Role(t, "", dialect.Attempt), " = ", b.Bind(dialect.Count))
	}
	return b.Statement()
}
