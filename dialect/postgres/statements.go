package postgres

import (
	"strconv"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Dialect says what PostgreSQL 11 and later understand. Its value is [New]'s.
type Dialect struct {
	*dialect.Grammar
	*dialect.Inspection
}

// New is the dialect.
func New() Dialect { return Dialect{&grammar, inspection} }

var grammar = dialect.Grammar{
	Quote:      quote,
	Numbered:   true,
	Nulls:      nulls,
	IndexNulls: nulls,
	Skip:       dialect.DoNothing,
	Text:       func(expression string) string { return expression + "::text" },
	Typed:      func(placeholder string, c dialect.Column) string { return placeholder + "::" + c.Type },
	Override:   override,
	Partial:    true,
	Clock:      "statement_timestamp()",
	After: func(microseconds string) string {
		return "statement_timestamp() + " + microseconds + "::bigint * interval '1 microsecond'"
	},
}

var (
	_ dialect.Lease        = Dialect{}
	_ dialect.RowLock      = Dialect{}
	_ dialect.FifoLease    = Dialect{}
	_ dialect.FifoRowLock  = Dialect{}
	_ dialect.AdvisoryMany = Dialect{}
	_ dialect.Rows         = Dialect{}
)

// Name implements [dialect.Dialect].
func (Dialect) Name() string { return "PostgreSQL" }

// Quote implements [dialect.Dialect].
func (Dialect) Quote(identifier string) string { return quote(identifier) }

// nulls orders a column; NULLs come last by themselves.
func nulls(column string, first bool) string {
	if first {
		return column + " NULLS FIRST"
	}
	return column
}

func quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

// FormatTime implements [dialect.Dialect]. The offset is written out, so that the text means the
// same instant whatever the session's time zone; a column without time zone ignores it.
func (Dialect) FormatTime(t time.Time, precision int) string {
	return dialect.RoundUp(t, precision).UTC().Format(dialect.TimeLayout(precision) + "+00")
}

// kinds are the types by the name that format_type gives, without their modifiers.
var kinds = map[string]dialect.Kind{
	"smallint": dialect.Integer, "integer": dialect.Integer, "bigint": dialect.Integer,
	"numeric": dialect.Number, "real": dialect.Number, "double precision": dialect.Number,
	"text": dialect.Text, "character varying": dialect.Text, "character": dialect.Text,
	"citext": dialect.Text, "name": dialect.Text,
	"bytea":                       dialect.Bytes,
	"timestamp with time zone":    dialect.Time,
	"timestamp without time zone": dialect.Time,
	"json":                        dialect.JSON, "jsonb": dialect.JSON,
	"boolean": dialect.Other, "date": dialect.Other, "interval": dialect.Other, "xml": dialect.Other,
}

// Kind implements [dialect.Dialect]. A type that is not built in, an enumeration for one, is taken
// for an identifier: it has a text form and an order.
func (Dialect) Kind(typeName string) dialect.Kind {
	if strings.HasSuffix(typeName, "[]") {
		return dialect.Other
	}
	if kind, ok := kinds[withoutModifier(typeName)]; ok {
		return kind
	}
	return dialect.Identifier
}

// withoutModifier turns "timestamp(3) with time zone" into "timestamp with time zone".
func withoutModifier(typeName string) string {
	before, rest, found := strings.Cut(typeName, "(")
	if !found {
		return typeName
	}
	_, after, _ := strings.Cut(rest, ")")
	return before + after
}

// Kinds implements [dialect.Dialect].
func (Dialect) Kinds(r dialect.Role) []dialect.Kind { return r.Kinds() }

// MaxInteger implements [dialect.Dialect].
func (Dialect) MaxInteger(typeName string) int64 {
	switch typeName {
	case "smallint":
		return 1<<15 - 1
	case "integer":
		return 1<<31 - 1
	default:
		return 1<<63 - 1
	}
}

// Describe implements [dialect.Dialect]. Partitioned tables, those that others inherit from, and views
// lack row addresses of their own. pg_attribute has no attgenerated before version 12, so it
// is read through JSON, which gives NULL for a key that is not there.
func (Dialect) Describe(t *dialect.Table) dialect.Statement {
	return dialect.Statement{SQL: `SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), ` +
		`(NOT a.attnotnull)::int::text, ` +
		`(COALESCE(to_jsonb(a) ->> 'attgenerated', '') <> '')::int::text, ` +
		`(a.attidentity = 'a')::int::text, ` +
		`CASE WHEN a.atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype) ` +
		`THEN (CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END)::text END, ` +
		`(c.relkind <> 'r' OR c.relhassubclass)::int::text ` +
		`FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid ` +
		`WHERE a.attrelid = to_regclass(` + literal(grammar.Table(t)) + `) AND a.attnum > 0 AND NOT a.attisdropped ` +
		`ORDER BY a.attnum`}
}

// literal renders a string constant. An escape string means the same whatever
// standard_conforming_strings says.
func literal(text string) string {
	text = strings.ReplaceAll(text, `\`, `\\`)
	return "E'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// Clock implements [dialect.Dialect].
func (Dialect) Clock() dialect.Statement {
	return dialect.Statement{SQL: "SELECT extract(epoch FROM statement_timestamp())::text"}
}

// Insert implements [dialect.Dialect].
func (Dialect) Insert(t *dialect.Table, roles []dialect.Role) dialect.Statement {
	return grammar.Insert(t, roles)
}

// Count implements [dialect.Dialect].
func (Dialect) Count(t *dialect.Table, s dialect.Selection) dialect.Statement {
	return grammar.Counts(t, s)
}

// text is a column as text, but for bytes, which have one form only.
func text(qualifier string, c dialect.Column) string {
	if c.Kind == dialect.Bytes {
		return qualifier + quote(c.Name)
	}
	return qualifier + quote(c.Name) + "::text"
}

// LeaseClaim implements [dialect.Lease]. The rows are found by their address, which the planner
// cannot turn into a join over the whole table.
func (Dialect) LeaseClaim(t *dialect.Table, s dialect.Selection) dialect.LeaseClaim {
	b := grammar.Builder()
	columns, outputs := claimed(t)
	if t.Partitioned {
		claimByKey(b, t, s)
	} else {
		b.Add("UPDATE ", grammar.Table(t), " SET ", grammar.Stamped(b, t), " WHERE ctid = ANY(ARRAY(SELECT ctid")
		claimable(b, t, s)
		b.Add("))")
	}
	b.Add(" RETURNING ", columns)
	return dialect.LeaseClaim{Take: b.Statement(outputs...)}
}

// claimByKey finds the rows of a table that has no row addresses of its own. It finds them in a step
// of its own, which runs once whatever the plan is: run again, it would lock more rows than it may.
func claimByKey(b *dialect.Builder, t *dialect.Table, s dialect.Selection) {
	names := make([]string, len(t.ID))
	match := make([]string, len(t.ID))
	for i, name := range t.ID {
		names[i] = "__k" + strconv.Itoa(i)
		match[i] = "q." + quote(name) + " = __due." + names[i]
	}
	b.Add("WITH __due(", strings.Join(names, ", "), ") AS (SELECT ", grammar.IDs(t, ""))
	claimable(b, t, s)
	b.Add(") UPDATE ", grammar.Table(t), " AS q SET ", grammar.Stamped(b, t), " FROM __due WHERE ", strings.Join(match, " AND "))
}

// claimable ends the SELECT of a claim's rows.
func claimable(b *dialect.Builder, t *dialect.Table, s dialect.Selection) {
	b.Add(" FROM ", grammar.Table(t), " WHERE ")
	grammar.Claimable(b, t, s)
	b.Add(" ORDER BY ", grammar.Order(t), " LIMIT ", b.Bind(dialect.Limit), "::bigint FOR UPDATE SKIP LOCKED")
}

// claimed lists what a claim answers of each row.
func claimed(t *dialect.Table) (string, []dialect.Output) {
	columns, outputs := claimedColumns(t)
	return strings.Join(columns, ", "), outputs
}

func claimedColumns(t *dialect.Table) ([]string, []dialect.Output) {
	outputs := dialect.KeyOutputs(t)
	var columns []string
	for _, c := range t.IDColumns() {
		columns = append(columns, text("", c))
	}
	for _, o := range dialect.ClaimedRoles(t) {
		column := text("", t.Column(o.Role))
		if o.Role == dialect.Attempt {
			column = grammar.Text(grammar.Current(t))
		}
		columns = append(columns, column)
		outputs = append(outputs, dialect.Output{Field: o.Field})
	}
	data, more := grammar.RowOutputs(t, answered)
	return append(columns, data...), append(outputs, more...)
}

// forRemoval and forUpdate are how strongly a statement locks its rows: an update of other columns
// than the key passes beside the lock that a foreign key takes on its parent, such as that of a
// handler that writes children of its row.
const (
	forRemoval = "UPDATE"
	forUpdate  = "NO KEY UPDATE"
)

// rowList is the rows of the arrays that a statement is about: their keys, tokens and whatever else comes for
// each, as the columns of a table called alias, with n for their ordinal.
type rowList struct {
	from    string   // for a FROM clause
	columns []string // of the key, the ordinal and the extra ones
	match   string   // those of q that still hold their tokens
}

// nameKeys binds the arrays of the rows' keys, and says what the columns are called in a table called alias and how
// they match those of q.
func nameKeys(b *dialect.Builder, t *dialect.Table, alias string) (arrays, names, match []string) {
	for i, c := range t.IDColumns() {
		name := "k" + strconv.Itoa(i)
		arrays = append(arrays, b.BindPart(dialect.IDs, i)+"::"+c.Type+"[]")
		names = append(names, name)
		match = append(match, "q."+quote(c.Name)+" = "+alias+"."+name)
	}
	return arrays, names, match
}

// nameRows binds the arrays. The extra parameters become columns of the same name, of the type that they meet.
func nameRows(b *dialect.Builder, t *dialect.Table, alias string, extra []array) rowList {
	arrays, names, match := nameKeys(b, t, alias)
	var columns []string
	for _, name := range names {
		columns = append(columns, alias+"."+name)
	}
	add := func(name string, p dialect.ParamName, typeName string) {
		arrays = append(arrays, b.Bind(p)+"::"+typeName+"[]")
		names = append(names, name)
	}
	lease := t.Column(dialect.LockedUntil)
	add("token", dialect.Tokens, lease.Type)
	match = append(match, "q."+quote(lease.Name)+" = "+alias+".token")
	if t.Has(dialect.Attempt) {
		attempt := t.Column(dialect.Attempt)
		add("count", dialect.Counts, attempt.Type)
		match = append(match, "q."+quote(attempt.Name)+" = "+alias+".count")
	}
	columns = append(columns, alias+".n")
	for _, a := range extra {
		add(hidden(a.name), a.name, a.typeName)
		columns = append(columns, alias+"."+hidden(a.name))
	}
	from := "unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS " + alias + "(" + strings.Join(names, ", ") + ", n)"
	return rowList{from, columns, strings.Join(match, " AND ")}
}

// held starts a statement about the rows of the arrays that still hold their tokens: it locks them
// in key order and passes over those that another session has locked.
func held(b *dialect.Builder, t *dialect.Table, lock string, extra ...array) {
	rows := nameRows(b, t, "h", extra)
	b.Add("WITH __held AS (SELECT ", strings.Join(rows.columns, ", "), " FROM ", rows.from, " JOIN ", grammar.Table(t), " AS q ON ",
		rows.match, " ORDER BY ", grammar.IDs(t, "q."), " FOR ", lock, " OF q SKIP LOCKED)")
}

// array is a parameter with a value for each row, of the type of the column that it meets.
type array struct {
	name     dialect.ParamName
	typeName string
}

// hidden is the name of a parameter's column among those of a user's table.
func hidden(name dialect.ParamName) string { return "__" + string(name) }

// match joins the table q with the rows that were found held.
func match(t *dialect.Table) string {
	terms := make([]string, len(t.ID))
	for i, name := range t.ID {
		terms[i] = "q." + quote(name) + " = __held.k" + strconv.Itoa(i)
	}
	return strings.Join(terms, " AND ")
}

var ordinal = dialect.Output{Field: dialect.FieldOrdinal}

// change is an UPDATE of the rows that still hold their tokens. set is its SET list, whose placeholders it binds.
func change(t *dialect.Table, extra []array, set func(b *dialect.Builder) string) dialect.Held {
	b := grammar.Builder()
	held(b, t, forUpdate, extra...)
	b.Add(" UPDATE ", grammar.Table(t), " AS q SET ", set(b), " FROM __held WHERE ", match(t), returnOrdinal)
	many := b.Statement(ordinal)

	b = grammar.Builder()
	list := set(b)
	rows := nameRows(b, t, "__held", extra)
	b.Add("UPDATE ", grammar.Table(t), " AS q SET ", list, " FROM ", rows.from, " WHERE ", rows.match, returnOrdinal)
	direct := b.Statement(ordinal)
	return dialect.Held{Many: &many, Direct: &direct}
}

const returnOrdinal = " RETURNING __held.n::text"

// LeaseExtend implements [dialect.Lease].
func (Dialect) LeaseExtend(t *dialect.Table) dialect.Held {
	b := grammar.Builder()
	held(b, t, forUpdate)
	column := quote(t.Roles[dialect.LockedUntil])
	b.Add(" UPDATE ", grammar.Table(t), " AS q SET ", column, " = GREATEST(q.", column, ", ",
		b.Bind(dialect.Expiry), ") FROM __held WHERE ", match(t), " RETURNING __held.n::text, q.", column, "::text")
	s := b.Statement(ordinal, dialect.Output{Field: dialect.FieldToken})
	return dialect.Held{Many: &s}
}

// LeaseFinish implements [dialect.Lease].
func (Dialect) LeaseFinish(t *dialect.Table) dialect.Held {
	if t.Has(dialect.ProcessedAt) {
		return change(t, nil, func(b *dialect.Builder) string {
			return quote(t.Roles[dialect.ProcessedAt]) + " = " + b.Bind(dialect.Now) + ", " + quote(t.Roles[dialect.LockedUntil]) + " = NULL"
		})
	}
	b := grammar.Builder()
	held(b, t, forRemoval)
	b.Add(" DELETE FROM ", grammar.Table(t), " AS q USING __held WHERE ", match(t), returnOrdinal)
	many := b.Statement(ordinal)

	b = grammar.Builder()
	rows := nameRows(b, t, "__held", nil)
	b.Add("DELETE FROM ", grammar.Table(t), " AS q USING ", rows.from, " WHERE ", rows.match, returnOrdinal)
	direct := b.Statement(ordinal)
	return dialect.Held{Many: &many, Direct: &direct}
}

// kept are the arrays of what a row keeps when it goes back or becomes a dead letter.
func kept(t *dialect.Table, reasonType string) []array {
	var arrays []array
	if t.Has(dialect.Attempt) {
		arrays = append(arrays, array{dialect.Restores, t.Column(dialect.Attempt).Type})
	}
	if reasonType != "" {
		arrays = append(arrays, array{dialect.Reasons, reasonType})
	}
	return arrays
}

// keep is the SET list that writes them.
func keep(t *dialect.Table) string {
	set := ""
	for _, k := range []struct {
		role dialect.Role
		name dialect.ParamName
	}{{dialect.Attempt, dialect.Restores}, {dialect.Error, dialect.Reasons}} {
		if t.Has(k.role) {
			column := quote(t.Roles[k.role])
			set += ", " + column + " = COALESCE(__held." + hidden(k.name) + ", q." + column + ")"
		}
	}
	return set
}

// LeaseReturn implements [dialect.Lease].
func (Dialect) LeaseReturn(t *dialect.Table) dialect.Held {
	due := dialect.LockedUntil
	if t.Has(dialect.RetryAfter) {
		due = dialect.RetryAfter
	}
	extra := append(kept(t, t.Column(dialect.Error).Type), array{dialect.Untils, t.Column(due).Type})
	lease, until := quote(t.Roles[dialect.LockedUntil]), "__held."+hidden(dialect.Untils)
	set := lease + " = " + until
	if t.Has(dialect.RetryAfter) {
		column := quote(t.Roles[dialect.RetryAfter])
		set = lease + " = NULL, " + column + " = COALESCE(" + until + ", q." + column + ")"
	}
	return change(t, extra, func(*dialect.Builder) string { return set + keep(t) })
}

// LeaseMoveToGroup implements [dialect.Lease].
func (Dialect) LeaseMoveToGroup(t *dialect.Table) dialect.Held {
	return change(t, kept(t, t.Column(dialect.Error).Type), func(b *dialect.Builder) string {
		group := quote(t.Roles[dialect.Group])
		set := group + " = " + b.Bind(dialect.Target) + ", " + quote(t.Roles[dialect.LockedUntil]) + " = NULL"
		if t.Has(dialect.Origin) {
			set += ", " + quote(t.Roles[dialect.Origin]) + " = " + grammar.Text("q."+group)
		}
		if t.Has(dialect.RetryAfter) {
			set += ", " + quote(t.Roles[dialect.RetryAfter]) + " = " + b.Bind(dialect.Now)
		}
		return set + keep(t)
	})
}

// LeaseMoveToTable implements [dialect.Lease]. The move is one statement, so that the row is never
// in both tables or in neither.
func (Dialect) LeaseMoveToTable(t, target *dialect.Table) dialect.Held {
	b := grammar.Builder()
	held(b, t, forRemoval, kept(t, target.Column(dialect.Error).Type)...)
	own := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		own[i] = "q." + quote(c.Name)
	}
	reason := ""
	if target.Has(dialect.Error) {
		reason = ", __held." + hidden(dialect.Reasons)
	}
	restore := ""
	if t.Has(dialect.Attempt) {
		restore = ", __held." + hidden(dialect.Restores)
	}
	b.Add(", __moved AS (DELETE FROM ", grammar.Table(t), " AS q USING __held WHERE ", match(t),
		" RETURNING __held.n AS __n", restore, reason, ", ", strings.Join(own, ", "), ")")
	columns, values := grammar.Moved(t, target, "__moved.", func(name dialect.ParamName, c dialect.Column) string {
		switch name {
		case dialect.Restore:
			return "__moved." + hidden(dialect.Restores)
		case dialect.Reason:
			return "__moved." + hidden(dialect.Reasons)
		default:
			return grammar.Typed(b.Bind(name), c)
		}
	})
	b.Add(", __arrived AS (INSERT INTO ", grammar.Table(target), " (", columns, ")", override(target), " SELECT ", values,
		" FROM __moved) SELECT __n::text FROM __moved")
	s := b.Statement(ordinal)
	return dialect.Held{Many: &s}
}

// override lets an insert give a value to identity columns that always generate one.
func override(t *dialect.Table) string {
	for _, c := range t.Columns {
		if c.AlwaysIdentity {
			return " OVERRIDING SYSTEM VALUE"
		}
	}
	return ""
}

// LeaseHeld implements [dialect.Lease].
func (Dialect) LeaseHeld(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT 1 FROM ", grammar.Table(t), " WHERE ")
	for i, name := range t.ID {
		b.Add(quote(name), " = ", b.BindPart(dialect.ID, i), " AND ")
	}
	b.Add(quote(t.Roles[dialect.LockedUntil]), " = ", b.Bind(dialect.Token))
	if t.Has(dialect.Attempt) {
		b.Add(" AND ", quote(t.Roles[dialect.Attempt]), " = ", b.Bind(dialect.Count))
	}
	return b.Statement()
}

// RowLockClaim implements [dialect.RowLock].
func (Dialect) RowLockClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := grammar.Builder()
	columns, outputs := claimedColumns(t)
	for i := range columns {
		// By its own name an answer would stand for its column in the order, and sort as text.
		columns[i] += " AS __" + strconv.Itoa(i)
	}
	b.Add("SELECT ", strings.Join(columns, ", "), " FROM ", grammar.Table(t), " WHERE ")
	grammar.Claimable(b, t, s)
	limit := strconv.Itoa(s.Take)
	if s.Take == 0 {
		limit = b.Bind(dialect.Limit) + "::bigint"
	}
	b.Add(" ORDER BY ", grammar.Order(t), " LIMIT ", limit, " FOR UPDATE SKIP LOCKED")
	return b.Statement(outputs...)
}

// FinishMany implements [dialect.FinisherOfMany].
func (Dialect) FinishMany(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	finishListed(b, t, "", "")
	return b.Statement()
}

// finishListed finishes the rows of an array. more is what its table has beside the keys, by the names in moreNames.
func finishListed(b *dialect.Builder, t *dialect.Table, more, moreNames string) {
	target := grammar.Table(t)
	if t.Has(dialect.ProcessedAt) {
		b.Add("UPDATE ", target, " AS q SET ", quote(t.Roles[dialect.ProcessedAt]), " = ", grammar.Instant(b, t), " FROM ")
	} else {
		b.Add("DELETE FROM ", target, " AS q USING ")
	}
	arrays, names, match := nameKeys(b, t, "__held")
	b.Add("unnest(", strings.Join(arrays, ", "), ")", more, " AS __held(", strings.Join(names, ", "), moreNames, ") WHERE ", strings.Join(match, " AND "))
}

var _ dialect.Reader = Dialect{}

// Read implements [dialect.Reader].
func (Dialect) Read(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	columns, outputs := claimed(t)
	b.Add("SELECT ", columns, " FROM ", grammar.Table(t), " WHERE ", grammar.KeyIs(b, t))
	return b.Statement(outputs...)
}
