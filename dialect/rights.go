package dialect

// Right is what a user may do with a table.
type Right string

// The rights that the forms need.
const (
	Select Right = "SELECT"
	Insert Right = "INSERT"
	Update Right = "UPDATE"
	Delete Right = "DELETE"
)

// Rights is a dialect whose server parses a statement without asking whether its user may run it, so
// that preparing it says nothing about rights.
type Rights interface {
	Dialect
	// Lacks answers each of the rights that the connection's user lacks on the table.
	Lacks(t *Table, rights []Right) Statement
}
