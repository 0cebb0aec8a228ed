package dialect

import (
	"errors"
	"strings"
)

// tokenKind is what a piece of a statement is, as far as the rules for guests care.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // a keyword or a name, as it is written
	tokenName             // a quoted name, without its quotes
	tokenString           // a constant
	tokenMark             // one other character
)

// token is the next piece of a text; end is where it ends in that text, what is skipped before it included.
type token struct {
	kind tokenKind
	text string
	end  int
}

var (
	errUnended     = errors.New("a string, a quoted name or a comment does not end")
	errConditional = errors.New("comments that the server runs, /*! .. */, may not be used")
	errUnicodeName = errors.New(`names may not be written as U&".."`)
	errVariable    = errors.New("variables, @name, may not be used: the next delivery would find them")
	errNUL         = errors.New("the statement holds a NUL")
)

// next reads a token. It errs on the side of refusal: what it cannot read is an error.
func (r *GuestRules) next(sql string) (token, error) {
	i, err := r.skip(sql)
	if err != nil || i == len(sql) {
		return token{end: i}, err
	}
	c := sql[i]
	switch {
	case c == '\'', c == '"' && r.DoubleStrings:
		return r.quoted(sql, i, c, tokenString, r.Backslashes)
	case c == '"', c == '`' && r.Backticks:
		return r.quoted(sql, i, c, tokenName, false)
	case c == '[' && r.Brackets:
		return r.quoted(sql, i, ']', tokenName, false)
	case c == '$' && r.Dollars:
		if t, ok, err := dollars(sql, i); ok || err != nil {
			return t, err
		}
	case isWordStart(c):
		return r.word(sql, i)
	}
	return token{tokenMark, sql[i : i+1], i + 1}, nil
}

// skip passes over white space and comments.
func (r *GuestRules) skip(sql string) (int, error) {
	for i := 0; ; {
		for i < len(sql) && strings.IndexByte(" \t\r\n\f\v", sql[i]) >= 0 {
			i++
		}
		rest := sql[i:]
		switch {
		case strings.HasPrefix(rest, "--") && (!r.Hashes || len(rest) == 2 || rest[2] <= ' ' || rest[2] == 0x7f), r.Hashes && strings.HasPrefix(rest, "#"):
			ends := "\n"
			if r.Carriages {
				ends = "\r\n"
			}
			end := strings.IndexAny(rest, ends)
			if end < 0 {
				return len(sql), nil
			}
			i += end + 1
		case r.Conditional && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")):
			return i, errConditional
		case strings.HasPrefix(rest, "/*"):
			n := r.comment(rest)
			if n < 0 {
				return i, errUnended
			}
			i += n
		default:
			return i, nil
		}
	}
}

// comment is the length of the comment that a text starts with, negative where it does not end.
func (r *GuestRules) comment(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); {
		switch {
		case text[i:i+2] == "/*" && (depth == 0 || r.Nested):
			depth++
			i += 2
		case text[i:i+2] == "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i += 2
		default:
			i++
		}
	}
	return -1
}

// quoted reads what stands between quotes; the closing one is doubled where it is meant.
func (r *GuestRules) quoted(sql string, start int, quote byte, kind tokenKind, backslashes bool) (token, error) {
	var text strings.Builder
	for i := start + 1; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\\' && backslashes:
			i++
		case c == quote && i+1 < len(sql) && sql[i+1] == quote:
			text.WriteByte(c)
			i++
		case c == quote:
			return token{kind, text.String(), i + 1}, nil
		default:
			text.WriteByte(c)
		}
	}
	return token{}, errUnended
}

// dollars reads $tag$..$tag$ (PostgreSQL documentation, section 4.1.2.4); a dollar sign may also be an
// argument's.
func dollars(sql string, start int) (token, bool, error) {
	tag := strings.IndexByte(sql[start+1:], '$')
	if tag < 0 {
		return token{}, false, nil
	}
	opening := sql[start : start+tag+2]
	for i, c := range []byte(opening[1 : len(opening)-1]) {
		if !isWord(c) || c == '$' || i == 0 && !isWordStart(c) {
			return token{}, false, nil
		}
	}
	end := strings.Index(sql[start+len(opening):], opening)
	if end < 0 {
		return token{}, false, errUnended
	}
	return token{tokenString, "", start + 2*len(opening) + end}, true, nil
}

// word reads a word, and the string that a prefix such as E or N belongs to.
func (r *GuestRules) word(sql string, start int) (token, error) {
	i := start
	for i < len(sql) && isWord(sql[i]) {
		i++
	}
	text := sql[start:i]
	rest := sql[i:]
	switch {
	case r.Escapes && strings.EqualFold(text, "E") && strings.HasPrefix(rest, "'"):
		return r.escaped(sql, i)
	case r.Escapes && strings.EqualFold(text, "U") && strings.HasPrefix(rest, `&"`):
		return token{}, errUnicodeName
	}
	return token{tokenWord, text, i}, nil
}

// escaped reads a string with backslashes and the pieces that continue it on other lines (PostgreSQL
// documentation, section 4.1.2.1), which are read as its beginning is.
func (r *GuestRules) escaped(sql string, start int) (token, error) {
	for {
		t, err := r.quoted(sql, start, '\'', tokenString, true)
		if err != nil {
			return t, err
		}
		n, err := r.skip(sql[t.end:])
		if start = t.end + n; err != nil || start == len(sql) || sql[start] != '\'' {
			return t, err
		}
	}
}

func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func isWord(c byte) bool { return isWordStart(c) || c >= '0' && c <= '9' || c == '$' }
