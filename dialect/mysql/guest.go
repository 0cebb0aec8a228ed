package mysql

import "github.com/inbox-wasm/inbox-wasm/dialect"

var _ dialect.Guests = Dialect{}

// GuestRules implements [dialect.Guests]. Statements that make or change tables commit implicitly (MySQL
// reference manual, section 15.3.3), and a procedure may commit, so neither can run.
func (Dialect) GuestRules() *dialect.GuestRules { return guestRules }

var guestRules = &dialect.GuestRules{
	Where:       dialect.InTransaction,
	Verbs:       []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW"},
	Refused:     []string{"get_lock", "release_lock", "release_all_locks"},
	Backslashes: true, DoubleStrings: true, Backticks: true, Hashes: true, Conditional: true, Variables: true,
}

// PoolRules implements [dialect.Guests]. No statement takes back all that SET, LOCK TABLES, a temporary table or
// a procedure may leave in a session. Transactions that outlive their session, XA, cannot run.
func (Dialect) PoolRules() *dialect.GuestRules { return poolRules }

var poolRules = &dialect.GuestRules{
	Where: dialect.InPool,
	Verbs: []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW", "DO",
		"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE",
		"SET", "CALL", "LOCK", "UNLOCK", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "ANALYZE"},
	Spend:       []string{"SET", "CALL", "LOCK", "CREATE"},
	Backslashes: true, DoubleStrings: true, Backticks: true, Hashes: true, Conditional: true, Variables: true,
}

var _ dialect.LeaseTransactional = Dialect{}

// LeaseLock implements [dialect.LeaseTransactional].
func (d Dialect) LeaseLock(t *dialect.Table) dialect.Statement {
	s := d.LeaseHeld(t)
	s.SQL += " FOR UPDATE"
	return s
}
