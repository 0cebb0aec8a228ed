package forms

// Connected is a form that holds the rows of a claim by a connection. A thread claims, handles and
// settles its own rows: the deliveries of one claim are settled in one call, and nothing is claimed
// ahead. Its methods may run beside each other.
type Connected interface {
	Form
	// Connections is how many connections of the pool a claim holds until it is settled.
	Connections() int
	// Alone reports whether the next claim takes one row, whatever its limit.
	Alone() bool
}
