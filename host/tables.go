package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// describe asks the database for every declared table and reports what does not fit.
func (c *checker) describe(ctx context.Context, s store.Store) map[*config.Table]*dialect.Table {
	tables := map[*config.Table]*dialect.Table{}
	for _, declared := range c.config.Tables {
		t := declared.Declared()
		err := forms.Describe(ctx, s, t)
		switch {
		case errors.Is(err, forms.ErrNoTable):
			c.table(declared, "", fmt.Sprintf("the database has no table %s", t),
				"create it (`inbox-wasm schema` prints how, `inbox-wasm schema --apply` does it), or correct the name")
			continue
		case err != nil:
			c.table(declared, "", err.Error(), "see that the database's user may read its catalogue")
			continue
		}
		flaws := t.Check(s.Dialect())
		for _, f := range flaws {
			c.table(declared, f.Role, f.What, f.Remedy)
		}
		if len(flaws) == 0 && c.once(ctx, s, declared, t) {
			tables[declared] = t
		}
	}
	return tables
}

// once reports an on_conflict that nothing keeps: without a unique index every row is another one.
func (c *checker) once(ctx context.Context, s store.Store, declared *config.Table, t *dialect.Table) bool {
	for _, name := range t.OnConflict {
		if !slices.ContainsFunc(t.Columns, func(column dialect.Column) bool { return column.Name == name }) {
			c.table(declared, "on_conflict", fmt.Sprintf("table %s has no column %q", t, name), "name the columns of its unique index")
			return false
		}
	}
	if t.OnConflict == nil {
		return true
	}
	kept, err := forms.KeepsOnce(ctx, s, t)
	if err == nil && kept {
		return true
	}
	what := fmt.Sprintf("table %s has no unique index of %s, so that every row would be another one", t, strings.Join(t.OnConflict, ", "))
	if err != nil {
		what = err.Error()
	}
	c.table(declared, "on_conflict", what, cmp.Or(s.Dialect().Schema(declared.Declared()).OnceIndex, "name the columns of a unique index"))
	return false
}

// compareTarget reports the columns of a table that its dead letter table lacks.
func (c *checker) compareTarget(h *config.Handler, t, target *dialect.Table) bool {
	var missing []string
	for _, column := range t.Columns {
		there := slices.ContainsFunc(target.Columns, func(c dialect.Column) bool { return c.Name == column.Name })
		if !there && !column.Generated {
			missing = append(missing, strconv.Quote(column.Name))
		}
	}
	if len(missing) > 0 {
		c.handler(h, "dead_letter", fmt.Sprintf("table %s lacks columns of table %s: %s", target, t, strings.Join(missing, ", ")),
			"give the dead letter table the same columns")
	}
	return len(missing) == 0
}
