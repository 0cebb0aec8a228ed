package host

import (
	"context"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// HandlerInfo is what a check found out about a handler.
type HandlerInfo struct {
	Handler    string
	Table      string
	Group      string
	Form       string
	Threads    int
	Module     engine.Info
	Statements []forms.Named
}

// Check makes one instance of every module, since a module may refuse to start, and describes the
// handlers. An error is config.Problems.
func (s *Service) Check(ctx context.Context) ([]HandlerInfo, error) {
	c := &checker{config: s.options.Config}
	subscriptions := s.subscriptions()
	infos := make([]HandlerInfo, len(subscriptions))
	for i, sub := range subscriptions {
		c.instance(ctx, sub)
		infos[i] = HandlerInfo{
			Handler: sub.handler.Name, Table: sub.table.String(), Group: sub.handler.Group, Form: sub.handler.Table.Form(),
			Threads: sub.handler.Threads, Module: sub.assets.module.Info(), Statements: sub.form.Statements(),
		}
	}
	return infos, c.err()
}

// instance makes one instance and closes it.
func (c *checker) instance(ctx context.Context, sub *subscription) {
	instance, err := sub.assets.module.NewInstance(ctx, sub.settings)
	if err != nil {
		c.handler(sub.handler, "module", err.Error(), "correct what it says, often a key of the handler's config")
	} else if err := instance.Close(ctx); err != nil {
		c.handler(sub.handler, "module", err.Error(), "report this: an instance should close")
	}
}

// Database names the database and its version.
func (s *Service) Database(ctx context.Context) (string, error) {
	version, err := s.store.Version(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the database for its version: %w", err)
	}
	return s.store.Dialect().Name() + " " + version, nil
}
