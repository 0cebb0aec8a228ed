package sqlstore

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// arguments replaces the arrays of a statement's arguments by their text.
func arguments(args []any) []any {
	for i, a := range args {
		if list, ok := a.([]any); ok {
			args[i] = arrayText(list)
		}
	}
	return args
}

// arrayText writes an array as JSON, which database/sql has no other form for: every element is a
// string or null, bytes are hexadecimal digits. What is no UTF-8 stays as it is, so that it never becomes another text.
func arrayText(list []any) string {
	text := make([]byte, 0, 2+20*len(list))
	text = append(text, '[')
	for i, element := range list {
		if i > 0 {
			text = append(text, ',')
		}
		switch v := element.(type) {
		case nil:
			text = append(text, "null"...)
		case int64:
			text = append(strconv.AppendInt(append(text, '"'), v, 10), '"')
		case []byte:
			text = append(hex.AppendEncode(append(text, '"'), v), '"')
		case string:
			text = appendString(text, v)
		default:
			panic(fmt.Sprintf("an array of %T is bound to a statement", v))
		}
	}
	return string(append(text, ']'))
}

func appendString(text []byte, s string) []byte {
	text = append(text, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			text = append(text, '\\', c)
		case c < ' ':
			text = fmt.Appendf(text, `\u%04x`, c)
		default:
			text = append(text, c)
		}
	}
	return append(text, '"')
}
