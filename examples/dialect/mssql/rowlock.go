package mssql

import (
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Levels implements [dialect.Leveled]: those at which the server takes READPAST ("Table hints").
func (Dialect) Levels() []dialect.Level {
	return []dialect.Level{dialect.ReadCommitted, dialect.RepeatableRead}
}

// RowLockClaim implements [dialect.RowLock]. Without an index in claim order the server locks every row
// that it has to sort.
func (Dialect) RowLockClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := grammar.Builder()
	attempt := ""
	if t.Has(dialect.Attempt) {
		attempt = grammar.Current(t)
	}
	columns, outputs := answered(t, "", attempt)
	b.Add("SELECT TOP (", b.Bind(dialect.Limit), ") ", columns, " FROM ", grammar.Table(t), locking, " WHERE ")
	grammar.Claimable(b, t, s)
	b.Add(" ORDER BY ", grammar.Order(t))
	return b.Statement(outputs...)
}

// MoveToTable implements [dialect.Keyed].
func (Dialect) MoveToTable(t, target *dialect.Table) []dialect.Statement {
	statements := grammar.MoveToTable(t, target)
	statements[0].SQL = withIdentity(t, target, statements[0].SQL)
	return statements
}

// withIdentity lets a statement give the values of a row of t to an identity column of the target ("SET
// IDENTITY_INSERT"). The setting ends with the statement, whatever becomes of it, since a driver runs one
// that has parameters in a batch of its own.
func withIdentity(t, target *dialect.Table, sql string) string {
	for _, c := range target.Columns {
		moved := slices.ContainsFunc(t.Columns, func(own dialect.Column) bool { return own.Name == c.Name })
		if c.AlwaysIdentity && moved {
			set := "SET IDENTITY_INSERT " + grammar.Table(target)
			return set + " ON; " + sql + "; " + set + " OFF"
		}
	}
	return sql
}
