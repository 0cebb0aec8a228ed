package sqlstore

import (
	"encoding/hex"
	"encoding/json"
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
// string or null, bytes are hexadecimal digits.
func arrayText(list []any) string {
	elements := make([]*string, len(list))
	for i, element := range list {
		var text string
		switch v := element.(type) {
		case nil:
			continue
		case int64:
			text = strconv.FormatInt(v, 10)
		case []byte:
			text = hex.EncodeToString(v)
		case string:
			text = v
		default:
			panic(fmt.Sprintf("an array of %T is bound to a statement", v))
		}
		elements[i] = &text
	}
	encoded, err := json.Marshal(elements)
	if err != nil {
		panic(err) // strings always have a form in JSON
	}
	return string(encoded)
}
