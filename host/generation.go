package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/spans"
)

// generation is one reading of inbox.toml at work. It does not change.
type generation struct {
	config        *config.Config
	tables        map[*config.Table]*dialect.Table
	subscriptions []*subscription
	admin         *admin.Admin  // nil where the dialect has no statements for operators
	listener      *listener     // nil where nobody listens
	connections   chan struct{} // what claims may take that hold a connection each
	warnings      config.Problems
}

// assets are what a subscription has of the outside, to be closed when it has ended.
type assets struct {
	module    *engine.Module
	mounts    []*engine.Mount
	guests    store.Store // of the threads' own pools, nil where the handler allows none
	closeHTTP func()
}

func (a *assets) close() error {
	errs := []error{closeModules([]*engine.Module{a.module})}
	for _, m := range a.mounts {
		errs = append(errs, m.Close())
	}
	if a.guests != nil {
		errs = append(errs, a.guests.Close())
	}
	if a.closeHTTP != nil {
		a.closeHTTP()
	}
	return errors.Join(errs...)
}

func closeModules(modules []*engine.Module) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	for _, m := range modules {
		if m != nil {
			errs = append(errs, m.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// build makes a generation of a configuration, with its modules, which it owns from now on. With keep, the
// subscriptions of the last one whose handlers are still the same go on in it. After an error nothing is left of it.
func (s *Service) build(ctx context.Context, c *checker, modules []*engine.Module, last *generation, keep bool) (*generation, error) {
	g := &generation{config: c.config, tables: c.describe(ctx, s.store)}
	c.pooler(ctx, s.store)
	var unused []*assets
	for i, h := range c.config.Handlers {
		a := &assets{module: modules[i]}
		before := last.subscription(h.Name)
		if keep && before != nil && a.module != nil && g.keeps(last, before, h, a.module) {
			g.subscriptions = append(g.subscriptions, before)
			unused = append(unused, a)
			continue
		}
		form := c.form(ctx, s.store, h, g.tables, s.options.Now)
		a.mounts = c.mounts(h)
		a.guests = c.guests(ctx, h, s.options.Databases)
		if form == nil || a.module == nil {
			unused = append(unused, a)
			continue
		}
		sub := s.subscribe(g, h, form, a, before)
		g.subscriptions = append(g.subscriptions, sub)
	}
	g.connections = c.connections(g.subscriptions)
	if keep && cap(g.connections) == cap(last.connections) {
		g.connections = last.connections // those that go on and those that are new share them
	}
	for _, sub := range g.subscriptions {
		if sub.generation == g {
			sub.connections = g.connections
		}
	}
	var err error
	if g.listener, err = newListener(s, g.subscriptions); err != nil {
		c.add(0, "listen", err.Error(), "remove listen; the table is polled")
	}
	g.admin = admin.New(s.store, c.config, g.tables, s.options.Now)
	c.retention(ctx, s.store, g)
	g.warnings = c.warnings
	errs := []error{c.err()}
	for _, a := range unused {
		errs = append(errs, a.close())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, g.discard(last))
	}
	return g, nil
}

// attendants are what runs beside the subscriptions, each until its context ends.
func (g *generation) attendants(log *slog.Logger, now func() time.Time) (list []func(context.Context)) {
	if g.listener != nil {
		list = append(list, g.listener.run)
	}
	for _, t := range g.config.Tables {
		if t.Retain > 0 {
			list = append(list, (&sweeper{table: t, admin: g.admin, log: log, now: now}).run)
		}
	}
	return list
}

// discard closes what a generation has and the last one has not. None of it may have run.
func (g *generation) discard(last *generation) error {
	var errs []error
	for _, sub := range g.without(last) {
		errs = append(errs, sub.assets.close())
	}
	return errors.Join(errs...)
}

// without lists the subscriptions that another generation has not.
func (g *generation) without(other *generation) (list []*subscription) {
	for _, sub := range g.subscriptions {
		if other == nil || !slices.Contains(other.subscriptions, sub) {
			list = append(list, sub)
		}
	}
	return list
}

// subscription is that of a handler, nil where there is none.
func (g *generation) subscription(handler string) *subscription {
	if g == nil {
		return nil
	}
	for _, sub := range g.subscriptions {
		if sub.handler.Name == handler {
			return sub
		}
	}
	return nil
}

// keeps reports whether a subscription is still what its handler asks for: the same module, the same keys, and
// whatever else it reads of the configuration.
func (g *generation) keeps(last *generation, sub *subscription, h *config.Handler, module *engine.Module) bool {
	if sub.assets.module.Info().Hash != module.Info().Hash || !config.Same(sub.handler, h) {
		return false
	}
	if h.Group == config.EveryGroup && !slices.Equal(last.config.DeadGroups(sub.handler.Table), g.config.DeadGroups(h.Table)) {
		return false
	}
	for i, t := range h.Allow.Publish {
		if Listened(last.config, sub.handler.Allow.Publish[i]) != Listened(g.config, t) {
			return false
		}
	}
	return true
}

// subscribe makes a subscription of a handler whose checks have passed. It counts on from the one before it, and is
// paused where that is.
func (s *Service) subscribe(g *generation, h *config.Handler, form forms.Form, a *assets, before *subscription) *subscription {
	log := s.options.Log.With("subscription", h.Name)
	lanes := 0
	if h.ByKey {
		lanes = h.Threads
	}
	requests, closeHTTP := outboundOf(h)
	a.closeHTTP = closeHTTP
	sub := &subscription{
		allowance:  newAllowance(h.RateLimit, s.options.Now),
		brake:      &brake{log: log, now: s.options.Now},
		generation: g, handler: h, table: g.tables[h.Table], store: s.store, form: form, assets: a,
		settings: engine.Settings{Config: h.Config, Env: environment(h), Mounts: a.mounts, HTTP: requests,
			MayPublish: h.Limits.Publishes, Log: log, LogLimit: h.Limits.Log},
		log:        log,
		now:        s.options.Now,
		loaded:     s.options.Now(),
		queue:      newQueue(lanes),
		wake:       make(chan struct{}, 1),
		recovered:  make(chan struct{}, 1),
		vitals:     newVitals(h.Threads),
		tracer:     spans.New(s.options.Traces, h.Name, h.Table.Key),
		stopping:   make(chan struct{}),
		ended:      make(chan struct{}),
		untilEmpty: s.options.UntilEmpty,
	}
	sub.queue.batch = h.Batch
	if before == nil {
		sub.counters, sub.paused = &counters{times: s.times.of(h.Name)}, &pause{}
	} else {
		sub.counters, sub.paused = before.counters, before.paused
		if h.RateLimit == before.handler.RateLimit {
			sub.allowance = before.allowance // a reload is no way around it
		}
	}
	sub.queue.paused = sub.paused
	sub.publisher = newPublisher(s, g, h)
	var warned sync.Once
	sub.policy = policy{handler: h, now: s.options.Now, warnNoDelay: func() {
		warned.Do(func() {
			log.Warn("the handler asks for a delay, but its table has no retry_after column: such rows return at once")
		})
	}}
	sub.settler = &settler{
		ledger: sub.newLedger(), form: form, now: s.options.Now, seat: sub.vitals.desk(),
		arrived: make(chan struct{}, 1), answered: make(chan struct{}, 1),
	}
	// Where each key has its thread, one claimer hands every row to the thread that it belongs to.
	if connected, ok := form.(forms.Connected); ok && !h.ByKey {
		sub.inline = newInline(sub, connected)
	}
	return sub
}
