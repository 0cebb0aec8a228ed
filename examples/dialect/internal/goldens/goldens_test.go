package goldens

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

func TestCheckPlaceholders(t *testing.T) {
	two := []dialect.Param{{Name: dialect.Limit}, {Name: dialect.Now}}
	for sql, good := range map[string]bool{
		"SELECT @p1, @p2, @p1, '@p9 ?'": true,
		"SELECT @p2, @p1":               false,
		"SELECT @p1":                    false,
		"SELECT @p1, @p2, @p3":          false,
		"SELECT @p1, @p2, ?":            false,
		"SELECT @p1, @p3, @p2":          false,
	} {
		if err := CheckPlaceholders("@p", &dialect.Statement{SQL: sql, Params: two}); (err == nil) != good {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
