package dialect

// Witness is a dialect that tells of the sessions that processes have on its server.
type Witness interface {
	Dialect
	// Sessions answers, for each process of this program, or where the server does not tell them apart for each address:
	// its name, its address, how many sessions it has, how many of them run a statement, how many are in a transaction,
	// and the age of the oldest of these in seconds (NULL where the server does not tell). The session that asks is left out.
	Sessions() Statement
}
