package sqlite

import "github.com/inbox-wasm/inbox-wasm/dialect"

var _ dialect.Guests = Dialect{}

// GuestRules implements [dialect.Guests]. ATTACH and VACUUM INTO reach other files, and PRAGMA changes the
// connection that all statements share.
func (Dialect) GuestRules() *dialect.GuestRules { return guestRules }

var guestRules = &dialect.GuestRules{
	Verbs:     []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"},
	Backticks: true, Brackets: true,
}
