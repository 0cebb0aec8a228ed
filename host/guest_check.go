package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// guests opens the database for the own pools of a handler's threads, nil where it has none or where they cannot
// be had, which is reported.
func (c *checker) guests(ctx context.Context, h *config.Handler, list []databases.Database) store.Store {
	if !allowsDB(h, "pool") {
		return nil
	}
	d := c.config.Database
	key, url := "handler_url", d.HandlerURL
	if url == "" {
		key, url = "url", d.URL
	}
	refuse := func(what, remedy string) { c.add(d.LineOf(key), "database."+key, what, remedy) }
	s, err := databases.Open(ctx, list, url.Reveal(), store.Options{MaxConnections: h.Threads * h.Connections, Guests: true})
	if err != nil {
		refuse(fmt.Sprintf("cannot open %s for the handlers' own pools: %v", url, err), "see that the URL names a user that the database lets in")
		return nil
	}
	if err := serves(ctx, s); err != nil {
		refuse(err.Error(), "connect to the server itself, or set pool_mode = session on the pooler")
		if err := s.Close(); err != nil {
			refuse(err.Error(), "start again")
		}
		return nil
	}
	return s
}

// serves says why a store cannot run the statements of guests on sessions of their own.
func serves(ctx context.Context, s store.Store) error {
	session, err := s.Hold(ctx)
	if err != nil {
		return err
	}
	_, runs := session.(store.GuestSession)
	if err := session.Release(); err != nil {
		return err
	}
	if _, rules := s.Dialect().(dialect.Guests); !runs || !rules {
		return fmt.Errorf("%s runs no statements of handlers", s.Dialect().Name())
	}
	pooled, ok := s.(store.Pooled)
	if !ok {
		return nil
	}
	shares, err := pooled.SharesSessions(ctx)
	if err == nil && shares {
		err = errors.New("a handler's own pool needs sessions of its own, and the database is behind a pooler that shares them between transactions")
	}
	return err
}

// role reports a role that the statements of a handler's guests cannot have, and warns of what one does not do.
func (c *checker) role(ctx context.Context, s store.Store, h *config.Handler) {
	d, ok := s.Dialect().(dialect.Guests)
	if h.TransactionRole == "" || !ok {
		return
	}
	set := d.GuestRules().SetRole
	if set == nil {
		return // refused by the form
	}
	if err := tryRole(ctx, s, set(h.TransactionRole)); err != nil {
		c.handler(h, "transaction_role", fmt.Sprintf("the database's user cannot become %q: %v", h.TransactionRole, err), "create the role, and GRANT it to the user")
		return
	}
	c.warn(config.Problem{File: c.config.Path, Line: h.LineOf("transaction_role"), Key: path("handlers", h.Name, "transaction_role"),
		What:   "guards against mistakes and is no boundary: a guest's SQL can give the role back",
		Remedy: "give the service's own user as few rights as it needs"})
}

func tryRole(ctx context.Context, s store.Store, set string) error {
	tx, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, &dialect.Statement{SQL: set}, 0, nil)
	return cmp.Or(err, tx.Rollback())
}

// warnDB warns of guests whose statements have all the rights of the service. An embedded database
// has no users.
func (c *checker) warnDB(h *config.Handler) {
	d := c.config.Database
	if len(h.Allow.DB) == 0 || d.HandlerURL != "" || strings.HasPrefix(d.URL.Reveal(), "sqlite:") {
		return
	}
	w := config.Problem{File: c.config.Path, Line: h.LineOf("allow.db"), Key: path("handlers", h.Name, "allow.db"),
		What:   "lets the guest's SQL do whatever the service's own user may, with the queues too",
		Remedy: "name a user with fewer rights in database.handler_url"}
	if !allowsDB(h, "pool") {
		w.Remedy = "give the service's user as few rights as it needs; on Postgres, set transaction_role against mistakes"
	}
	c.warn(w)
}
