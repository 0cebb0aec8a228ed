package forms

import (
	"context"
	"fmt"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// KeepsOnce reports whether a described table has the unique index of its OnConflict. An error says what the database has
// to say about it.
func KeepsOnce(ctx context.Context, s store.Store, t *dialect.Table) (bool, error) {
	d, ok := s.Dialect().(dialect.Unique)
	if !ok {
		insert := s.Dialect().Insert(t, someRole(t))
		if err := s.Prepare(ctx, &insert); err != nil {
			return false, fmt.Errorf("the database refuses an insert into %s: %w", t, err)
		}
		return true, nil
	}
	statement := d.UniqueIndexes(t)
	indexes := map[string][]string{}
	err := s.Query(ctx, &statement, 0, nil, func(v [][]byte) error {
		indexes[string(v[0])] = append(indexes[string(v[0])], string(v[1]))
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look for the unique index of %s: %w", t, err)
	}
	want := slices.Sorted(slices.Values(t.OnConflict))
	for _, columns := range indexes {
		if slices.Equal(slices.Sorted(slices.Values(columns)), want) {
			return true, nil
		}
	}
	return false, nil
}

// someRole is one role that the table has.
func someRole(t *dialect.Table) []dialect.Role {
	for _, r := range dialect.Roles() {
		if t.Has(r) {
			return []dialect.Role{r}
		}
	}
	return nil
}
