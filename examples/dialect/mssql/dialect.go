// Package mssql is a dialect for SQL Server, as an example of a database that the program does not come
// with: it shares the grammar of the other dialects and writes by itself what SQL Server says otherwise.
//
// It is tested as text. What it says comes from the Transact-SQL reference, whose pages the comments
// name; no server has run it.
//
// A list of rows travels as arrays of JSON, which OPENJSON turns into a table: a statement takes at most
// 2,100 parameters ("Maximum capacity specifications for SQL Server"), and one about 512 rows would need
// more. So the database needs compatibility level 130.
package mssql

import (
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Dialect says what SQL Server 2016 and later and Azure SQL understand. Its value is [New]'s.
type Dialect struct{ *dialect.Grammar }

// New is the dialect.
func New() Dialect { return Dialect{&grammar} }

var (
	_ dialect.Lease    = Dialect{}
	_ dialect.RowLock  = Dialect{}
	_ dialect.Advisory = Dialect{}
	_ dialect.Leveled  = Dialect{}
)

var grammar = dialect.Grammar{
	Quote:    quote,
	Numbered: true,
	Mark:     "@p",
	// A row in work is locked for as long as its handler runs, and readers would wait for it.
	Look: " WITH (READUNCOMMITTED)",
	Nulls: func(column string, first bool) string {
		if first {
			return column // NULL is the lowest value ("ORDER BY clause")
		}
		return "CASE WHEN " + column + " IS NULL THEN 1 ELSE 0 END, " + column
	},
	Text: func(expression string) string { return "CONVERT(nvarchar(max), " + expression + ")" },
	// A conversion cuts text to the length of its type.
	Typed: func(placeholder string, c dialect.Column) string {
		return "CONVERT(" + c.Type + ", " + placeholder + ")"
	},
	Override: func(*dialect.Table) string { return "" },
	Clock:    "SYSUTCDATETIME()",
	// DATEADD takes an int, which holds little more than half an hour of microseconds.
	After: func(microseconds string) string {
		return "DATEADD(microsecond, " + microseconds + " % 1000000, DATEADD(second, " + microseconds + " / 1000000, SYSUTCDATETIME()))"
	},
}

const (
	// locking passes over rows that another session has locked, and locks the others until the end of
	// the transaction. READCOMMITTEDLOCK is what READPAST asks for where the database reads committed
	// rows from snapshots, which is Azure SQL's own setting ("Table hints").
	locking = " WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)"
	// passing passes over such rows and locks none for longer than it reads them.
	passing = " WITH (READPAST, READCOMMITTEDLOCK)"
)

// Name implements [dialect.Dialect].
func (Dialect) Name() string { return "SQL Server" }

// Quote implements [dialect.Dialect].
func (Dialect) Quote(identifier string) string { return quote(identifier) }

func quote(identifier string) string {
	return "[" + strings.ReplaceAll(identifier, "]", "]]") + "]"
}

// literal renders a string constant.
func literal(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }

// FormatTime implements [dialect.Dialect]. The form means the same in every language of a session, and
// without an offset it means UTC to a datetimeoffset ("datetime2", "datetimeoffset").
func (Dialect) FormatTime(t time.Time, precision int) string {
	return dialect.RoundUp(t, precision).UTC().Format(dialect.TimeLayout(precision))
}

// kinds are the types that can play a role. The older datetime keeps three-hundredths of a second and
// reads its text by the session's language, so that it cannot hold a token.
var kinds = map[string]dialect.Kind{
	"tinyint": dialect.Integer, "smallint": dialect.Integer, "int": dialect.Integer, "bigint": dialect.Integer,
	"decimal": dialect.Number, "numeric": dialect.Number, "float": dialect.Number, "real": dialect.Number,
	"char": dialect.Text, "varchar": dialect.Text, "nchar": dialect.Text, "nvarchar": dialect.Text,
	"binary": dialect.Bytes, "varbinary": dialect.Bytes,
	"datetime2": dialect.Time, "datetimeoffset": dialect.Time,
	"json": dialect.JSON, "uniqueidentifier": dialect.Identifier,
}

// base is a type without its length: "nvarchar" of "nvarchar(100)".
func base(typeName string) string {
	name, _, _ := strings.Cut(typeName, "(")
	return name
}

// Kind implements [dialect.Dialect].
func (Dialect) Kind(typeName string) dialect.Kind { return kinds[base(typeName)] }

// Kinds implements [dialect.Dialect].
func (Dialect) Kinds(r dialect.Role) []dialect.Kind { return r.Kinds() }

// MaxInteger implements [dialect.Dialect].
func (Dialect) MaxInteger(typeName string) int64 {
	switch typeName {
	case "tinyint":
		return 1<<8 - 1
	case "smallint":
		return 1<<15 - 1
	case "int":
		return 1<<31 - 1
	default:
		return 1<<63 - 1
	}
}

// Clock implements [dialect.Dialect].
func (Dialect) Clock() dialect.Statement {
	return dialect.Statement{SQL: "SELECT " + grammar.Text("DATEDIFF_BIG(microsecond, '1970-01-01', SYSUTCDATETIME()) / 1000000.0")}
}

// Insert implements [dialect.Dialect].
func (Dialect) Insert(t *dialect.Table, roles []dialect.Role) dialect.Statement {
	return grammar.Insert(t, roles)
}

// Count implements [dialect.Dialect].
func (Dialect) Count(t *dialect.Table, s dialect.Selection) dialect.Statement {
	return grammar.Counts(t, s)
}

// text is an expression of a column's type as text, the same text in every session. Bytes have one form
// only. The styles are those of "CAST and CONVERT": 3 keeps every digit, 121 is ODBC's form of a time.
func text(c dialect.Column, expression string) string {
	switch {
	case c.Kind == dialect.Bytes:
		return expression
	case c.Kind == dialect.Time:
		return "CONVERT(nvarchar(34), " + expression + ", 121)"
	case base(c.Type) == "float", base(c.Type) == "real":
		return "CONVERT(nvarchar(34), " + expression + ", 3)"
	default:
		return grammar.Text(expression)
	}
}

// answered lists what a claim answers of each row: the columns that the claim leaves as they are behind
// the qualifier kept, the attempt and the row as a whole behind changed, such as "inserted.".
func answered(t *dialect.Table, kept, changed string) (string, []dialect.Output) {
	outputs := dialect.KeyOutputs(t)
	var columns []string
	for _, c := range t.IDColumns() {
		columns = append(columns, text(c, kept+quote(c.Name)))
	}
	for _, o := range dialect.ClaimedRoles(t) {
		c := t.Column(o.Role)
		expression := kept + quote(c.Name)
		switch {
		case o.Role == dialect.Attempt && changed == "":
			expression = grammar.Current(t)
		case o.Role == dialect.Attempt:
			expression = changed + quote(c.Name)
		}
		columns = append(columns, text(c, expression))
		outputs = append(outputs, dialect.Output{Field: o.Field})
	}
	data, more := grammar.RowOutputs(t, func(c dialect.Column, name string) dialect.Answered {
		return New().Answered(c, changed+name)
	})
	return strings.Join(append(columns, data...), ", "), append(outputs, more...)
}
