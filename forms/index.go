package forms

import (
	"context"
	"fmt"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// MissingIndex looks for an index that walks a described table in claim order. Where there is none it
// gives the CREATE INDEX of one: a claim reads every row of the table without it.
func MissingIndex(ctx context.Context, s store.Store, t *dialect.Table) (create string, err error) {
	statement := s.Dialect().Indexes(t)
	indexes := map[string][]string{}
	err = s.Query(ctx, &statement, 0, nil, func(v [][]byte) error {
		name := string(v[0])
		indexes[name] = append(indexes[name], string(v[1]))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("list the indexes of table %s: %w", t, err)
	}
	for _, columns := range indexes {
		if walksClaimOrder(t, columns) {
			return "", nil
		}
	}
	return s.Dialect().ClaimIndex(t), nil
}

// walksClaimOrder reports whether an index starts with the group and goes on in claim order. The mark
// of processed rows may stand before the order, or in the condition of a partial index. The key may
// be left out at the end: it only breaks ties, and many indexes hold it anyway.
func walksClaimOrder(t *dialect.Table, columns []string) bool {
	var order []string
	for _, r := range []dialect.Role{dialect.Priority, dialect.RetryAfter} {
		if t.Has(r) {
			order = append(order, t.Roles[r])
		}
	}
	if len(order) == 0 {
		order = t.ID
	}
	var group []string
	if t.Has(dialect.Group) {
		group = []string{t.Roles[dialect.Group]}
	}
	starts := func(prefix []string) bool {
		return len(columns) >= len(prefix) && slices.Equal(columns[:len(prefix)], prefix)
	}
	if starts(slices.Concat(group, order)) {
		return true
	}
	return t.Has(dialect.ProcessedAt) && starts(slices.Concat(group, []string{t.Roles[dialect.ProcessedAt]}, order))
}
