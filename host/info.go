package host

import (
	"context"
	"fmt"
	"time"

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

// HandlerStatus is a handler as it runs.
type HandlerStatus struct {
	Handler string
	Table   string // its key in inbox.toml
	Group   string
	// DeadTable and DeadGroup are where its dead letters go: a group of a table, or a whole table; empty for neither.
	DeadTable, DeadGroup string

	Form    string
	Threads int
	Busy    int // threads that are in a call
	Paused  bool
	Memory  int64 // the most that an instance may have, in bytes
	Module  engine.Info
	// Loaded is when the subscription was made: at the start, or by the last reload that changed it.
	Loaded time.Time
	Counts Counts
}

// Handlers are those of the configuration in use, in its order, without asking the database.
func (s *Service) Handlers() []HandlerStatus {
	subscriptions := s.subscriptions()
	list := make([]HandlerStatus, len(subscriptions))
	for i, sub := range subscriptions {
		h := sub.handler
		list[i] = HandlerStatus{
			Handler: h.Name, Table: h.Table.Key, Group: h.Group, Form: h.Table.Form(), Threads: h.Threads, Busy: sub.vitals.busy(),
			Paused: sub.paused.on(), Memory: h.Memory, Module: sub.assets.module.Info(), Loaded: sub.loaded, Counts: sub.counters.read(),
		}
		switch dead := h.DeadLetter; {
		case dead == nil:
		case dead.Table != nil:
			list[i].DeadTable = dead.Table.Key
		default:
			list[i].DeadTable, list[i].DeadGroup = h.Table.Key, dead.Group
		}
	}
	return list
}
