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
	columns, outputs := answered(t, "", "")
	b.Add("SELECT TOP (", b.Bind(dialect.Limit), ") ", columns, " FROM ", grammar.Table(t), locking, " WHERE ")
	grammar.Claimable(b, t, s)
	b.Add(" ORDER BY ", grammar.Order(t))
	return b.Statement(outputs...)
}

// MoveToTable implements [dialect.Keyed].
func (Dialect) MoveToTable(t, target *dialect.Table) []dialect.Statement {
	statements := grammar.MoveToTable(t, target)
	if movesIdentity(t, target) {
		statements[0].SQL = withIdentity(target, statements[0].SQL)
	}
	return statements
}

// movesIdentity reports whether a row of t brings a value for an identity column of the target.
func movesIdentity(t, target *dialect.Table) bool {
	return slices.ContainsFunc(target.Columns, func(c dialect.Column) bool {
		return c.AlwaysIdentity && slices.ContainsFunc(t.Columns, func(own dialect.Column) bool { return own.Name == c.Name })
	})
}

// withIdentity lets a statement give a value to an identity column ("SET IDENTITY_INSERT"). The setting
// ends with the statement, whatever becomes of it: a driver runs one that has parameters in a batch of
// its own.
func withIdentity(t *dialect.Table, sql string) string {
	set := "SET IDENTITY_INSERT " + grammar.Table(t)
	return set + " ON; " + sql + "; " + set + " OFF"
}
