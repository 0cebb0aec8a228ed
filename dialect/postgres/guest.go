package postgres

import "github.com/inbox-wasm/inbox-wasm/dialect"

var _ dialect.Guests = Dialect{}

// GuestRules implements [dialect.Guests]. Tables may be made and changed: here that is part of the transaction.
// A procedure cannot end the transaction that calls it (PostgreSQL documentation, section 43.8).
func (Dialect) GuestRules() *dialect.GuestRules { return guestRules }

var guestRules = &dialect.GuestRules{
	Where: dialect.InTransaction,
	Verbs: []string{"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE", "CALL", "TRUNCATE",
		"LOCK", "NOTIFY", "EXPLAIN", "CREATE", "ALTER", "DROP"},
	Refused: []string{"set_config", "pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock",
		"pg_try_advisory_lock_shared", "pg_advisory_unlock", "pg_advisory_unlock_shared", "pg_advisory_unlock_all"},
	Keep:      "SET CONSTRAINTS ALL IMMEDIATE",
	SetRole:   func(role string) string { return "SET LOCAL ROLE " + quote(role) },
	ResetRole: "RESET ROLE",
	Dollars:   true, Nested: true, Escapes: true, Carriages: true,
}

// PoolRules implements [dialect.Guests]. COPY speaks a protocol of its own, and a transaction that is prepared
// outlives its session, so neither can run.
func (Dialect) PoolRules() *dialect.GuestRules { return poolRules }

var poolRules = &dialect.GuestRules{
	Where: dialect.InPool,
	Verbs: []string{"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE", "CALL", "DO", "TRUNCATE",
		"LOCK", "NOTIFY", "EXPLAIN", "SHOW", "SET", "RESET", "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT",
		"RELEASE", "DECLARE", "FETCH", "MOVE", "CLOSE", "CREATE", "ALTER", "DROP", "REFRESH", "ANALYZE"},
	Dollars: true, Nested: true, Escapes: true, Carriages: true,
}

var _ dialect.LeaseTransactional = Dialect{}

// LeaseLock implements [dialect.LeaseTransactional]. The lock lets rows be written that refer to this one, such
// as by the same handler through another connection.
func (d Dialect) LeaseLock(t *dialect.Table) dialect.Statement {
	s := d.LeaseHeld(t)
	s.SQL += " FOR " + forUpdate
	return s
}
