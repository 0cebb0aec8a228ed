package host

import (
	"context"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// pooler refuses what needs a session of its own where a pooler hands a session to other clients between
// transactions: locks, which it silently makes worthless (netbox-community/netbox#23009), and
// notifications, which go to a session that nobody reads.
func (c *checker) pooler(ctx context.Context, s store.Store) {
	pooled, ok := s.(store.Pooled)
	if !ok {
		return
	}
	type need struct {
		refuse         func(what, remedy string)
		reason, remedy string
	}
	var needs []need
	for _, t := range c.config.Tables {
		if t.AdvisoryLock != "" {
			needs = append(needs, need{func(what, remedy string) { c.table(t, "advisory_lock", what, remedy) },
				"so that its locks would protect nobody", "take the lease form with locked_until"})
		}
	}
	for _, h := range c.config.Handlers {
		if h.Listen {
			needs = append(needs, need{func(what, remedy string) { c.handler(h, "listen", what, remedy) },
				"so that notifications would get lost", "remove listen; the table is polled"})
		}
	}
	if len(needs) == 0 {
		return
	}
	shares, err := pooled.SharesSessions(ctx)
	for _, n := range needs {
		switch {
		case err != nil:
			n.refuse(err.Error(), "see that two more connections can be opened")
		case shares:
			n.refuse("needs sessions of its own, and the database is behind a pooler that shares them between transactions, "+n.reason,
				"connect to the server itself, or set pool_mode = session, or "+n.remedy)
		}
	}
}
