package mysql

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Dialect says what MySQL 8.0.1 and MariaDB 10.6 and later understand. Its value is [New]'s.
//
// Neither server answers which rows an UPDATE changed, so a claim locks and reads its rows before it
// stamps them, and a settlement locks and compares before it changes (see [dialect.Listed]).
type Dialect struct {
	*dialect.Listed
	*dialect.Inspection
}

var (
	_ dialect.Lease       = Dialect{}
	_ dialect.RowLock     = Dialect{}
	_ dialect.FifoLease   = Dialect{}
	_ dialect.FifoRowLock = Dialect{}
	_ dialect.Advisory    = Dialect{}
	_ dialect.Rows        = Dialect{}
)

// New is the dialect.
func New() Dialect {
	listed := &dialect.Listed{
		Grammar: dialect.Grammar{
			Quote: quote,
			// IGNORE would leave out more than duplicates (MySQL reference manual, section 15.2.7). Here every unique
			// index of the table counts.
			Skip: func(columns []string) string { return " ON DUPLICATE KEY UPDATE " + columns[0] + " = " + columns[0] },
			Nulls: func(column string, first bool) string {
				if first {
					return column
				}
				return column + " IS NULL, " + column
			},
			Text:      func(expression string) string { return "CAST(" + expression + " AS CHAR)" },
			BoundKey:  boundKey,
			Typed:     fit,
			Override:  func(*dialect.Table) string { return "" },
			LastLease: true,
			Clock:     "UTC_TIMESTAMP(6)",
			After: func(microseconds string) string {
				return "UTC_TIMESTAMP(6) + INTERVAL " + microseconds + " MICROSECOND"
			},
		},
		ByKey:      " FORCE INDEX (PRIMARY)",
		LockClause: " FOR UPDATE SKIP LOCKED",
		Later:      func(a, b string) string { return "GREATEST(" + a + ", " + b + ")" },
	}
	return Dialect{listed, inspection(&listed.Grammar)}
}

func quote(identifier string) string {
	return "`" + strings.ReplaceAll(identifier, "`", "``") + "`"
}

// boundKey has numbers that travel as text compared as what they are: MySQL compares a text in a list
// of keys with a number as two floating-point numbers.
func boundKey(placeholder string, c dialect.Column) string {
	switch name, rest, _ := strings.Cut(c.Type, "("); {
	case name == "decimal":
		size, _, _ := strings.Cut(rest, ")")
		return "CAST(" + placeholder + " AS DECIMAL(" + size + "))"
	case c.Kind == dialect.Integer && strings.Contains(c.Type, "unsigned"):
		return "CAST(" + placeholder + " AS UNSIGNED)"
	default:
		return placeholder
	}
}

// fit cuts a text to the length of its column, in characters; a strict session refuses longer ones.
func fit(text string, c dialect.Column) string {
	if c.Kind != dialect.Text {
		return text
	}
	length := 16383 // a TEXT of four-byte characters
	name, rest, sized := strings.Cut(c.Type, "(")
	switch {
	case name == "tinytext":
		length = 63
	case sized:
		digits, _, _ := strings.Cut(rest, ")")
		if n, err := strconv.Atoi(digits); err == nil {
			length = n
		}
	}
	return fmt.Sprintf("LEFT(%s, %d)", text, length)
}

// Name implements [dialect.Dialect].
func (Dialect) Name() string { return "MySQL" }

// Quote implements [dialect.Dialect].
func (Dialect) Quote(identifier string) string { return quote(identifier) }

// FormatTime implements [dialect.Dialect]. MySQL rounds and MariaDB truncates what a column cannot
// keep, so nothing is left for either to do.
func (Dialect) FormatTime(t time.Time, precision int) string {
	return dialect.RoundUp(t, precision).UTC().Format(dialect.TimeLayout(precision))
}

var kinds = map[string]dialect.Kind{
	"tinyint": dialect.Integer, "smallint": dialect.Integer, "mediumint": dialect.Integer,
	"int": dialect.Integer, "bigint": dialect.Integer,
	"decimal": dialect.Number, "float": dialect.Number, "double": dialect.Number,
	"char": dialect.Text, "varchar": dialect.Text, "tinytext": dialect.Text, "text": dialect.Text,
	"mediumtext": dialect.Text, "longtext": dialect.Text, "enum": dialect.Text,
	"binary": dialect.Bytes, "varbinary": dialect.Bytes, "tinyblob": dialect.Bytes,
	"blob": dialect.Bytes, "mediumblob": dialect.Bytes, "longblob": dialect.Bytes,
	"datetime": dialect.Time, "timestamp": dialect.Time,
	"json": dialect.JSON, "uuid": dialect.Identifier,
}

// base is a column type without its length and attributes: "bigint" of "bigint(20) unsigned".
func base(typeName string) string {
	if end := strings.IndexAny(typeName, "( "); end >= 0 {
		return typeName[:end]
	}
	return typeName
}

// Kind implements [dialect.Dialect].
func (Dialect) Kind(typeName string) dialect.Kind { return kinds[base(strings.ToLower(typeName))] }

// Kinds implements [dialect.Dialect].
func (Dialect) Kinds(r dialect.Role) []dialect.Kind { return r.Kinds() }

// MaxInteger implements [dialect.Dialect]. An unsigned bigint is counted up to the largest value
// that is also a signed one.
func (Dialect) MaxInteger(typeName string) int64 {
	bits := map[string]int{"tinyint": 7, "smallint": 15, "mediumint": 23, "int": 31}[base(typeName)]
	switch {
	case bits == 0:
		return 1<<63 - 1
	case strings.Contains(typeName, "unsigned"):
		return 1<<(bits+1) - 1
	default:
		return 1<<bits - 1
	}
}

// Describe implements [dialect.Dialect].
func (Dialect) Describe(t *dialect.Table) dialect.Statement {
	return dialect.Statement{SQL: "SELECT column_name, " + columnType + ", is_nullable = 'YES', " +
		"COALESCE(generation_expression, '') <> '', 0, datetime_precision, 0, column_key = 'PRI' " +
		"FROM information_schema.columns WHERE table_schema = " + schemaOf(t) + " AND table_name = " + literal(t.Name) +
		" ORDER BY ordinal_position"}
}

// columnType is a column's type. MariaDB keeps JSON in a longtext that a check holds to it, and runs what a
// comment with an M hides from MySQL.
const columnType = "/*M! CASE WHEN EXISTS (SELECT 1 FROM information_schema.check_constraints AS k " +
	"WHERE k.constraint_schema = columns.table_schema AND k.table_name = columns.table_name AND " +
	"k.check_clause = CONCAT('json_valid(`', columns.column_name, '`)')) THEN 'json' ELSE */ column_type /*M! END */"

// literal renders a string constant as hexadecimal digits, which mean the same in every SQL mode.
func literal(text string) string {
	if text == "" {
		return "''"
	}
	return fmt.Sprintf("_utf8mb4 X'%X'", text)
}

// Clock implements [dialect.Dialect].
func (Dialect) Clock() dialect.Statement {
	return dialect.Statement{SQL: "SELECT UNIX_TIMESTAMP(NOW(6))"}
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
	return dialect.LeaseClaim{Take: d.RowLockClaim(t, s), Stamp: d.Stamp(t), Reread: d.Reread(t), Ordered: true}
}

// RowLockClaim implements [dialect.RowLock].
func (d Dialect) RowLockClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := d.Builder()
	outputs := d.selectClaimed(b, t)
	b.Add(offKey(t, s), " WHERE ")
	d.Claimable(b, t, s)
	b.Add(" ORDER BY ", d.Order(t), " LIMIT ", b.Bind(dialect.Limit), d.LockClause)
	return b.Statement(outputs...)
}

// offKey keeps a claim in the order of the primary key from walking that key: the rows of other groups and the
// processed ones that lie in front would be read, and locked, by each claim. The claim order's index, where it is
// there, has the same order behind them ("Index Hints"); without it every row of the group would be locked.
func offKey(t *dialect.Table, s dialect.Selection) string {
	others := t.Has(dialect.Group) && !s.AllGroups || t.Has(dialect.ProcessedAt)
	if !s.Indexed || !others || t.Has(dialect.Priority) || t.Has(dialect.RetryAfter) || !t.KeyIsPrimary() {
		return ""
	}
	return " IGNORE INDEX FOR ORDER BY (PRIMARY)"
}

// selectClaimed starts a claim: what it answers of each row.
func (d Dialect) selectClaimed(b *dialect.Builder, t *dialect.Table) []dialect.Output {
	b.Add("SELECT ", d.IDs(t, ""))
	outputs := dialect.KeyOutputs(t)
	for _, o := range dialect.ClaimedRoles(t) {
		column := d.Role(t, "", o.Role)
		if o.Role == dialect.Attempt {
			column = d.Current(t)
		}
		b.Add(", ", column)
		outputs = append(outputs, dialect.Output{Field: o.Field})
	}
	data, more := d.RowOutputs(t, d.Answered)
	for _, column := range data {
		b.Add(", ", column)
	}
	b.Add(" FROM ", d.Table(t))
	return append(outputs, more...)
}

var _ dialect.Reader = Dialect{}

// Read implements [dialect.Reader].
func (d Dialect) Read(t *dialect.Table) dialect.Statement {
	b := d.Builder()
	outputs := d.selectClaimed(b, t)
	b.Add(" WHERE ", d.KeyIs(b, t))
	return b.Statement(outputs...)
}
