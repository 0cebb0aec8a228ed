package config

import "strings"

// KeyPart is a piece of an advisory key: a column's value where Column is set, else literal text.
type KeyPart struct{ Literal, Column string }

// parseKey reads literal text, {column}, and {{ and }} for braces.
func parseKey(template string) ([]KeyPart, *fault) {
	var parts []KeyPart
	var literal strings.Builder
	columns := 0
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, KeyPart{Literal: literal.String()})
			literal.Reset()
		}
	}
	for rest := template; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			literal.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '}':
			return nil, &fault{`holds a "}" without its "{"`, `write "}}" for the character`}
		case rest[0] == '{':
			column, after, closed := strings.Cut(rest[1:], "}")
			switch {
			case !closed || strings.Contains(column, "{"):
				return nil, &fault{`holds a "{" without its "}"`, `close it after the column's name, or write "{{" for the character`}
			case column == "":
				return nil, &fault{`holds "{}", which names no column`, "write {column}"}
			case strings.TrimSpace(column) != column:
				return nil, &fault{"holds spaces around a column's name", "write {column}"}
			}
			flush()
			parts = append(parts, KeyPart{Column: column})
			columns++
			rest = after
		default:
			literal.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	flush()
	if columns == 0 {
		return nil, &fault{"names no column, so that all rows would share one key and run one at a time", "put a column in braces: jobs-{id}"}
	}
	return parts, nil
}

func advisoryKey(template *string, dst *[]KeyPart) reader {
	return func(p *parser, n *node) {
		s, ok := p.name(n)
		if !ok {
			return
		}
		parts, fault := parseKey(s)
		if fault != nil {
			p.complain(n, fault)
			return
		}
		*template, *dst = s, parts
	}
}
