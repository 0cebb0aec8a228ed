package dialect

// Reader is a dialect that answers one row as a claim does, without taking it.
type Reader interface {
	Dialect
	// Read answers the row of the bound key, whoever holds it, with the attempt as it stands.
	Read(t *Table) Statement
}
