package forms

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// MissingIndex looks for an index that walks a selection of a described table in claim order. Where there is
// none it gives the CREATE INDEX of one: a claim reads every row of the table without it.
func MissingIndex(ctx context.Context, s store.Store, t *dialect.Table, of dialect.Selection) (create string, err error) {
	indexes, err := indexes(ctx, s, t)
	if err != nil {
		return "", err
	}
	want := s.Dialect().ClaimIndex(t, of)
	for _, index := range indexes {
		if serves(t, index, &want) {
			return "", nil
		}
	}
	return want.Create, nil
}

// StartsIndex reports whether an index of all rows of a described table starts with a column.
func StartsIndex(ctx context.Context, s store.Store, t *dialect.Table, column string) (bool, error) {
	indexes, err := indexes(ctx, s, t)
	for _, index := range indexes {
		if index.Columns[0] == column && index.Condition == "" {
			return true, nil
		}
	}
	return false, err
}

// indexes lists the indexes of a table by their names.
func indexes(ctx context.Context, s store.Store, t *dialect.Table) (map[string]*dialect.Index, error) {
	statement := s.Dialect().Indexes(t)
	indexes := map[string]*dialect.Index{}
	err := s.Query(ctx, &statement, 0, nil, func(v [][]byte) error {
		index := indexes[string(v[0])]
		if index == nil {
			index = &dialect.Index{Condition: string(v[2])}
			indexes[string(v[0])] = index
		}
		index.Columns = append(index.Columns, string(v[1]))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the indexes of table %s: %w", t, err)
	}
	return indexes, nil
}

// serves reports whether an index gives what the recommended one does: it starts with its columns, and holds
// the same rows. The key may be left out where the order has something else: it only breaks ties, and many
// indexes hold it anyway.
func serves(t *dialect.Table, index, want *dialect.Index) bool {
	columns := want.Columns
	if t.Has(dialect.Priority) || t.Has(dialect.RetryAfter) {
		columns = columns[:len(columns)-len(t.ID)]
	}
	return len(index.Columns) >= len(columns) && slices.Equal(index.Columns[:len(columns)], columns) &&
		bare(index.Condition) == bare(want.Condition)
}

// bare is a condition without what a server writes differently from its author: quotes, brackets, spaces
// and case.
func bare(condition string) string {
	return strings.ToLower(strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "", "(", "", ")", "", " ", "", "\n", "", "\t", "").Replace(condition))
}
