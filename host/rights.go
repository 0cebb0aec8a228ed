package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// rights reports what the database's user may not do and a handler's statements do, where preparing them
// does not say so.
func (c *checker) rights(ctx context.Context, s store.Store, h *config.Handler, t, deadTable *dialect.Table) {
	d, ok := s.Dialect().(dialect.Rights)
	if !ok {
		return
	}
	need := []dialect.Right{dialect.Select, dialect.Update}
	if !t.Has(dialect.ProcessedAt) || deadTable != nil {
		need = append(need, dialect.Delete)
	}
	c.lacking(ctx, s, h, "table", d.Lacks(t, need), t)
	if deadTable != nil {
		c.lacking(ctx, s, h, "dead_letter", d.Lacks(deadTable, []dialect.Right{dialect.Insert}), deadTable)
	}
}

// publishes reports the tables that a handler's guests may publish into and the database's user may not.
func (c *checker) publishes(ctx context.Context, s store.Store, h *config.Handler, tables map[*config.Table]*dialect.Table) {
	d, ok := s.Dialect().(dialect.Rights)
	for _, declared := range h.Allow.Publish {
		if t := tables[declared]; ok && t != nil {
			c.lacking(ctx, s, h, "allow.publish", d.Lacks(t, []dialect.Right{dialect.Insert}), t)
		}
	}
}

func (c *checker) lacking(ctx context.Context, s store.Store, h *config.Handler, key string, lacks dialect.Statement, t *dialect.Table) {
	var rights []string
	err := s.Query(ctx, &lacks, 0, nil, func(v [][]byte) error {
		rights = append(rights, string(v[0]))
		return nil
	})
	switch {
	case err != nil:
		c.handler(h, key, fmt.Sprintf("the database does not say what its user may do with table %s: %v", t, err), "see that its catalogue may be read")
	case len(rights) > 0:
		list := strings.Join(rights, ", ")
		c.handler(h, key, fmt.Sprintf("the database's user has no right to %s on table %s", list, t),
			"GRANT "+list+" ON the table to the user")
	}
}
