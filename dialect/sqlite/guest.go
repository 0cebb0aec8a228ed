package sqlite

import "github.com/inbox-wasm/inbox-wasm/dialect"

var _ dialect.Guests = Dialect{}

// GuestRules implements [dialect.Guests]. ATTACH and VACUUM INTO reach other files, and PRAGMA changes the
// connection that all statements share.
func (Dialect) GuestRules() *dialect.GuestRules { return guestRules }

var guestRules = &dialect.GuestRules{
	Where:     dialect.InTransaction,
	Verbs:     []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"},
	Backticks: true, Brackets: true,
}

// PoolRules implements [dialect.Guests]. A transaction of a guest's would keep everybody else from writing.
func (Dialect) PoolRules() *dialect.GuestRules { return poolRules }

var poolRules = &dialect.GuestRules{
	Where:     dialect.InPool,
	Verbs:     guestRules.Verbs,
	Backticks: true, Brackets: true,
}

var _ dialect.LeaseTransactional = Dialect{}

// LeaseLock implements [dialect.LeaseTransactional].
func (d Dialect) LeaseLock(t *dialect.Table) dialect.Statement { return d.LeaseTouch(t) }

var _ dialect.Leveled = Dialect{}

// The ways in which a transaction begins (SQLite documentation, "Transaction").
const (
	deferred  dialect.Level = "deferred"
	immediate dialect.Level = "immediate"
	exclusive dialect.Level = "exclusive"
)

// Levels implements [dialect.Leveled]: SQLite has one isolation level, and a mode in its place. A delivery's
// transaction writes with its first statement, so that a deferred one becomes immediate there.
func (Dialect) Levels() []dialect.Level { return []dialect.Level{immediate, deferred, exclusive} }
