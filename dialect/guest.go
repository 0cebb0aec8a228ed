package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// Guests is a dialect that tells which statements of a handler's guest may run.
type Guests interface {
	Dialect
	// GuestRules are those of the transaction that carries a delivery. A statement that could end the
	// transaction, start one in it, commit implicitly, or leave something in the session would break the
	// promise of the form.
	GuestRules() *GuestRules
	// PoolRules are those of the thread's own pool, where a guest may have transactions of its own.
	PoolRules() *GuestRules
}

// What runs the statements of guests, for errors.
const (
	InTransaction = "a delivery's transaction"
	InPool        = "a handler's pool"
)

// GuestRules say how a database reads a statement, and which ones a guest may run. They list what may run, by
// its first word, instead of what may not.
//
// They guard against mistakes. They are no boundary against a guest that means harm: that is the database's user.
type GuestRules struct {
	// Where names what runs the statements, for errors.
	Where string
	// Verbs are the words, in upper case, that a statement may start with.
	Verbs []string
	// Refused are names, in lower case, that may not stand in a statement, quoted or not: functions that
	// touch what the queue's session holds.
	Refused []string
	// Spend are words, in upper case, that start a statement whose traces in the session nothing takes back.
	Spend []string
	// Keep runs before what a guest wrote is kept, so that what the commit would refuse is refused while the
	// savepoint is there to go back to; empty where nothing is put off until then.
	Keep string
	// SetRole is the statement that has what follows in the transaction run with the rights of a role, and
	// ResetRole the one that ends it; nil where the database has no roles that take rights away.
	SetRole   func(role string) string
	ResetRole string
	// What the database's grammar has beside '..', ".." and -- and /* comments.
	Backslashes   bool // escape in strings
	DoubleStrings bool // ".." is a string and not a name
	Backticks     bool // `..` is a name
	Brackets      bool // [..] is a name
	Hashes        bool // # starts a comment, and -- only before a space or a control character
	Carriages     bool // a carriage return ends a comment of one line
	Dollars       bool // $tag$..$tag$ is a string
	Nested        bool // comments nest
	Escapes       bool // E'..' is a string with backslashes, as is what continues it, and U&".." a name
	Conditional   bool // /*! ..*/ is no comment
	Variables     bool // @name is a variable of the session, which the next guest would find, and @@name a setting
}

// GuestStatement is what is to be known of a statement of a guest.
type GuestStatement struct {
	SQL  string
	Verb string
	// Returns says that a word RETURNING stands in the statement.
	Returns bool
	// Spends says that the session is to be closed once the guest has done with it.
	Spends bool
	// Marks is how many question marks stand for arguments.
	Marks int
}

// Answers reports whether the statement answers rows.
func (s *GuestStatement) Answers() bool {
	return s.Returns || !slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "REPLACE"}, s.Verb)
}

// Check reads a statement, or says why a guest may not run it.
func (r *GuestRules) Check(sql string) (GuestStatement, error) {
	s := GuestStatement{SQL: sql}
	if strings.IndexByte(sql, 0) >= 0 {
		return s, errNUL // for some servers the text ends there
	}
	ended := false
	for rest := sql; ; {
		t, err := r.next(rest)
		if err != nil {
			return s, err
		}
		if t.kind == tokenEnd {
			break
		}
		rest = rest[t.end:]
		if t.kind == tokenMark && t.text == ";" {
			ended = true
			continue
		}
		if ended {
			return s, fmt.Errorf("one statement a call: something follows the semicolon")
		}
		if err := r.admit(&s, t); err != nil {
			return s, err
		}
		if r.Variables && t.kind == tokenMark && t.text == "@" {
			if !strings.HasPrefix(rest, "@") {
				return s, errVariable
			}
			rest = rest[1:]
		}
	}
	if s.Verb == "" {
		return s, fmt.Errorf("the statement is empty")
	}
	return s, nil
}

// admit takes one token into account.
func (r *GuestRules) admit(s *GuestStatement, t token) error {
	switch t.kind {
	case tokenWord, tokenName:
		if name := strings.ToLower(t.text); slices.Contains(r.Refused, name) {
			return fmt.Errorf("%s may not be used in a delivery's transaction: it touches what the queue's own session holds", name)
		}
	case tokenMark:
		if t.text == "?" {
			s.Marks++
		}
	}
	word := strings.ToUpper(t.text)
	switch {
	case s.Verb == "" && t.kind == tokenMark && t.text == "(":
		return nil
	case s.Verb == "" && (t.kind != tokenWord || !slices.Contains(r.Verbs, word)):
		return fmt.Errorf("%s runs statements that start with %s, and this one starts with %s", r.Where, strings.Join(r.Verbs, ", "), word)
	case s.Verb == "":
		s.Verb = word
		s.Spends = slices.Contains(r.Spend, word)
	case t.kind == tokenWord && word == "RETURNING":
		s.Returns = true
	}
	return nil
}
