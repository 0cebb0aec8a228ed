package sqlstore

import "testing"

func TestArraysTravelAsJSON(t *testing.T) {
	args := arguments([]any{"text", []any{int64(1<<63 - 1), "a\"\\b", []byte{0, 255}, nil}, nil, []any{}, []any{"\x00\n\xff"}})
	want := []any{"text", `["9223372036854775807","a\"\\b","00ff",null]`, nil, "[]", "[\"\\u0000\\u000a\xff\"]"}
	for i := range want {
		if args[i] != want[i] {
			t.Errorf("argument %d: %v, want %v", i, args[i], want[i])
		}
	}
}
