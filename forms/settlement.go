package forms

import (
	"strings"
	"time"
	"unicode"
)

// Change is what a settlement does to its row.
type Change uint8

const (
	// Finish removes the row, or marks it processed.
	Finish Change = iota
	// Return gives the row back to its queue.
	Return
	// MoveToGroup makes it a dead letter in another group of its table.
	MoveToGroup
	// MoveToTable makes it a dead letter in another table.
	MoveToTable

	changeCount
)

// Settlement is how one delivery ends.
type Settlement struct {
	Delivery *Delivery
	Change   Change
	// Until is when a returned row is due again; zero is at once.
	Until time.Time
	// Uncount puts the attempt back to what it was before the claim. A dead letter always does: it
	// keeps the attempt that failed.
	Uncount bool
	// Keep commits what the guest wrote in the delivery's transaction; otherwise it is rolled back.
	Keep bool
	// Reason is kept in the table's error column, where it has one; empty keeps what is there.
	Reason string
}

// clean is a reason that every database takes for text: a handler may say anything.
func clean(reason string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(reason, "\uFFFD"), "\x00", "\uFFFD")
}

// plain is the settlement with a reason that every character set holds, and whether that changed it.
// A row is not left unsettled because its error column lacks a character.
func (s *Settlement) plain() (*Settlement, bool) {
	copied := *s
	copied.Reason = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, clean(s.Reason))
	return &copied, copied.Reason != s.Reason
}

// State is what became of a settlement or an extension.
type State uint8

const (
	// Done took effect.
	Done State = iota
	// Lost changed nothing: somebody else holds the row now, or it is gone.
	Lost
	// Busy changed nothing: another session has the row locked, but it is still held. Try again.
	Busy
	// Unsent changed nothing: the database was out of reach, or busy. Try again.
	Unsent
	// Failed changed nothing: the database refused the row's own statement.
	Failed
	// RolledBack changed nothing, and the row is back in its queue: the transaction that held it is gone.
	RolledBack
	// Unknown got no answer. It may have taken effect and is not repeated.
	Unknown
)

var stateNames = [...]string{"done", "lost", "busy", "unsent", "failed", "rolled back", "unknown"}

func (s State) String() string { return stateNames[s] }

// Answer is what became of one delivery's settlement or extension.
type Answer struct {
	State State
	// Err says why, for every state but Done, Lost and Busy.
	Err error
}
