package dialect

import "strings"

// DoNothing is the [Grammar.Skip] of databases with ON CONFLICT, which refuse it for columns without a unique index, some of
// them not before it runs.
func DoNothing(columns []string) string {
	return " ON CONFLICT (" + strings.Join(columns, ", ") + ") DO NOTHING"
}

// Unique is a dialect whose inserts do not tell that the unique index of [Table.OnConflict] is not there.
type Unique interface {
	Dialect
	// UniqueIndexes answers the name of each unique index of a table with each of its columns, in the index's order.
	UniqueIndexes(t *Table) Statement
}
