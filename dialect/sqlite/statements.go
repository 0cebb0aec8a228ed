package sqlite

import (
	"slices"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Dialect says what SQLite 3.35 and later understands. Its value is [New]'s.
//
// SQLite has no row locks, so it has no row lock form. A transaction that writes has the database to
// itself, so nothing is passed over and nothing waits inside of one.
type Dialect struct {
	*dialect.Listed
	*dialect.Inspection
}

var (
	_ dialect.Lease     = Dialect{}
	_ dialect.FifoLease = Dialect{}
	_ dialect.Advisory  = Dialect{}
	_ dialect.Rows      = Dialect{}
)

// New is the dialect.
func New() Dialect {
	listed := &dialect.Listed{
		Grammar: dialect.Grammar{
			Quote: quote,
			Skip:  dialect.DoNothing,
			Nulls: func(column string, first bool) string {
				if first {
					return column
				}
				return column + " NULLS LAST"
			},
			Named: named,
			// Statistics of a group that has most of the rows, as its dead letters may, would have it walk the key
			// past all others. The function changes nothing but the planner's expectation ("The LIKELIHOOD function").
			Seek:      func(condition string) string { return "likelihood(" + condition + ", 0.001)" },
			Text:      text,
			StoredKey: storedKey,
			Typed:     func(placeholder string, _ dialect.Column) string { return placeholder },
			Override:  func(*dialect.Table) string { return "" },
			Clock:     "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
			After: func(microseconds string) string {
				return "strftime('%Y-%m-%d %H:%M:%f000', 'now', (" + microseconds + " / 1000000.0) || ' seconds')"
			},
		},
		RowList: "VALUES ",
		// A list of 512 marks takes longer to read than its rows to delete.
		Elements: func(placeholder string) string { return "SELECT value FROM json_each(" + placeholder + ")" },
		Later:    func(a, b string) string { return "MAX(" + a + ", " + b + ")" },
	}
	return Dialect{listed, inspection(&listed.Grammar)}
}

func text(expression string) string { return "CAST(" + expression + " AS CHAR)" }

// storedKey keeps the driver from reading a column declared as a time into a time of its own, whose
// text names no row.
func storedKey(c dialect.Column, column string) string {
	if c.Kind == dialect.Time {
		return text(column)
	}
	return column
}

// named leaves out the keys that are not bound as they are kept: a column takes values of every type, but a
// rowid, and its primary key takes NULL ("Datatypes In SQLite", "CREATE TABLE").
func named(t *dialect.Table, c dialect.Column) string {
	switch {
	case len(t.ID) == 1 && t.KeyIsPrimary() && strings.EqualFold(c.Type, "INTEGER"):
		return ""
	case c.Kind == dialect.Bytes:
		return "typeof(" + quote(c.Name) + ") = 'blob'"
	}
	return "typeof(" + quote(c.Name) + ") NOT IN ('blob', 'null')"
}

func quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

// Name implements [dialect.Dialect].
func (Dialect) Name() string { return "SQLite" }

// Quote implements [dialect.Dialect].
func (Dialect) Quote(identifier string) string { return quote(identifier) }

// FormatTime implements [dialect.Dialect]. Times are text that sorts as the instants do.
func (Dialect) FormatTime(t time.Time, precision int) string {
	return dialect.RoundUp(t, precision).UTC().Format(dialect.TimeLayout(precision))
}

// Kind implements [dialect.Dialect]: the rules by which SQLite itself reads a declared type, and the
// names that people give to times and JSON.
func (Dialect) Kind(typeName string) dialect.Kind {
	name := strings.ToUpper(typeName)
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	switch {
	case contains("INT"):
		return dialect.Integer
	case contains("CHAR", "CLOB", "TEXT"):
		return dialect.Text
	case contains("BLOB"), name == "":
		return dialect.Bytes
	case contains("TIME", "DATE"):
		return dialect.Time
	case contains("JSON"):
		return dialect.JSON
	case contains("UUID"):
		return dialect.Identifier
	default:
		return dialect.Number
	}
}

// Kinds implements [dialect.Dialect]: SQLite keeps times in columns of text.
func (Dialect) Kinds(r dialect.Role) []dialect.Kind {
	kinds := r.Kinds()
	if slices.Contains(kinds, dialect.Time) {
		return []dialect.Kind{dialect.Time, dialect.Text}
	}
	return kinds
}

// MaxInteger implements [dialect.Dialect].
func (Dialect) MaxInteger(string) int64 { return 1<<63 - 1 }

// Describe implements [dialect.Dialect].
func (Dialect) Describe(t *dialect.Table) dialect.Statement {
	arguments := literal(t.Name)
	if t.Schema != "" {
		arguments += ", " + literal(t.Schema)
	}
	return dialect.Statement{SQL: `SELECT name, type, "notnull" = 0 AND NOT (pk = 1 AND upper(type) = 'INTEGER'), hidden IN (2, 3), 0, 6, 0, pk > 0 ` +
		`FROM pragma_table_xinfo(` + arguments + `) WHERE hidden <> 1 ORDER BY cid`}
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Clock implements [dialect.Dialect].
func (Dialect) Clock() dialect.Statement {
	return dialect.Statement{SQL: "SELECT (julianday('now') - 2440587.5) * 86400.0"}
}

// Insert implements [dialect.Dialect].
func (d Dialect) Insert(t *dialect.Table, roles []dialect.Role) dialect.Statement {
	return d.Grammar.Insert(t, roles)
}

// Count implements [dialect.Dialect].
func (d Dialect) Count(t *dialect.Table, s dialect.Selection) dialect.Statement {
	return d.Counts(t, s)
}

// LeaseClaim implements [dialect.Lease].
func (d Dialect) LeaseClaim(t *dialect.Table, s dialect.Selection) dialect.LeaseClaim {
	key := d.IDs(t, "")
	if len(t.ID) > 1 {
		key = "(" + key + ")"
	}
	b := d.Builder()
	b.Add("UPDATE ", d.Table(t), " SET ", d.Stamped(b, t), " WHERE ", key, " IN (SELECT ", d.IDs(t, ""),
		" FROM ", d.Table(t), " WHERE ")
	d.Claimable(b, t, s)
	b.Add(" ORDER BY ", d.Order(t), " LIMIT ", b.Bind(dialect.Limit), ")")
	return dialect.LeaseClaim{Take: b.Statement(d.returning(b, t)...)}
}

// returning ends a claim: what it answers of each row.
func (d Dialect) returning(b *dialect.Builder, t *dialect.Table) []dialect.Output {
	columns, outputs := d.answered(t)
	b.Add(" RETURNING ", columns)
	return outputs
}

// answered lists what a claim answers of each row.
func (d Dialect) answered(t *dialect.Table) (string, []dialect.Output) {
	columns, outputs := d.AnswerIDs(t), dialect.KeyOutputs(t)
	for _, o := range dialect.ClaimedRoles(t) {
		column := d.Role(t, "", o.Role)
		if o.Role == dialect.LockedUntil || o.Role == dialect.RetryAfter {
			// Without the cast the driver reads a column declared as a time into one of its own.
			column = d.Text(column)
		}
		columns += ", " + column
		outputs = append(outputs, dialect.Output{Field: o.Field})
	}
	data, more := d.RowOutputs(t, d.Answered)
	for _, column := range data {
		columns += ", " + column
	}
	return columns, append(outputs, more...)
}

var _ dialect.Reader = Dialect{}

// Read implements [dialect.Reader].
func (d Dialect) Read(t *dialect.Table) dialect.Statement {
	b := d.Builder()
	columns, outputs := d.answered(t)
	b.Add("SELECT ", columns, " FROM ", d.Table(t), " WHERE ", d.KeyIs(b, t))
	return b.Statement(outputs...)
}
