package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// Options say what a service is made of.
type Options struct {
	Config *config.Config
	// Log takes the service's lines and the guests'.
	Log *slog.Logger
	// Databases are those that the URL may select; nil is the builtin ones.
	Databases []databases.Database
	// UntilEmpty ends the service when every queue is empty.
	UntilEmpty bool
	// Launched is called when every subscription runs; nil is nothing.
	Launched func()
	// Now is the host's clock; nil is the system's.
	Now func() time.Time
	// Traces takes the spans of deliveries; nil is none, which costs nothing.
	Traces trace.TracerProvider
	// Build is what the metrics say of the program.
	Build Build
}

// Service runs the subscriptions of one configuration on one database. Its configuration can be replaced while it
// runs: see [Service.Reload].
type Service struct {
	options Options
	store   store.Store
	engine  *engine.Engine
	current atomic.Pointer[generation]
	times   *timings
	sampler *sampler
	metrics prometheus.Gatherer

	phase      atomic.Int32 // a phase
	asking     flight       // the question whether the database answers
	unanswered fault

	changing sync.Mutex // held while what runs changes
	runner   *runner    // nil while nothing runs
}

// Open connects to the database, compiles the modules and checks everything that can be checked
// before the first claim. An error is config.Problems with all that is wrong. The service has to be
// closed.
func Open(ctx context.Context, o Options) (*Service, error) {
	if o.Databases == nil {
		o.Databases = databases.Builtin()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Service{options: o, times: newTimings()}
	s.sampler = &sampler{service: s, wanted: make(chan struct{})}
	s.metrics = s.gatherer()
	if err := s.open(ctx, &checker{config: o.Config, log: o.Log}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, w := range s.Warnings() {
		o.Log.Warn(w.Error())
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, c *checker) (err error) {
	cfg := c.config
	c.handlers()
	s.engine, err = engine.New(ctx, engine.Options{CacheDir: cfg.Runtime.CacheDir, Log: s.options.Log})
	if err != nil {
		c.add(cfg.Runtime.LineOf("cache_dir"), "runtime.cache_dir", err.Error(), "name a folder that this user owns and nobody else may write")
		return c.err()
	}
	modules := c.modules(ctx, s.engine)
	s.store = c.connect(ctx, s.options.Databases)
	if s.store == nil || !c.version(ctx, s.store) {
		return errors.Join(c.err(), closeModules(modules))
	}
	g, err := s.build(ctx, c, modules, nil, false)
	if err != nil {
		return err
	}
	s.current.Store(g)
	return nil
}

// subscriptions are those of the configuration in use.
func (s *Service) subscriptions() []*subscription {
	if g := s.current.Load(); g != nil {
		return g.subscriptions
	}
	return nil
}

// Warnings are what was found at the start, or by the last reload, and did not keep the service from it.
func (s *Service) Warnings() config.Problems { return s.current.Load().warnings }

// Connect opens the database of a configuration alone, for what needs no subscription.
func Connect(ctx context.Context, cfg *config.Config, list []databases.Database) (store.Store, error) {
	c := &checker{config: cfg}
	s := c.connect(ctx, list)
	return s, c.err()
}

func (c *checker) connect(ctx context.Context, list []databases.Database) store.Store {
	d := c.config.Database
	s, err := databases.Open(ctx, list, d.URL.Reveal(), store.Options{MaxConnections: d.MaxConnections})
	if err != nil {
		remedy := "see that the database runs, and that the URL has its address, its name and a user it lets in"
		if strings.HasPrefix(d.URL.Reveal(), "sqlite:") {
			remedy = "name a database file, or a new one in a folder that exists, which this user may write"
		}
		c.add(d.LineOf("url"), "database.url", fmt.Sprintf("cannot open %s: %v", d.URL, err),
			remedy)
		return nil
	}
	return s
}

// Enqueue writes messages into a declared table, all or none, and wakes the subscriptions that read
// them.
func (s *Service) Enqueue(ctx context.Context, tableKey string, messages []forms.Message) error {
	g := s.current.Load()
	declared := g.config.Table(tableKey)
	if declared == nil {
		return &UnknownTable{tableKey}
	}
	if err := s.writer(g, declared).Write(ctx, messages); err != nil {
		return err
	}
	for i := range messages {
		s.wakeReaders(tableKey, messages[i].Group)
	}
	return nil
}

func (s *Service) writer(g *generation, declared *config.Table) *forms.Writer {
	w := forms.NewWriter(s.store, g.tables[declared], s.options.Now)
	if Listened(g.config, declared) {
		w.Announce()
	}
	return w
}

// Wake has the subscriptions that read a group of a declared table look at it at once; an empty group is every one.
// Whoever has written rows into the table from outside says so with it.
func (s *Service) Wake(tableKey, group string) error {
	g := s.current.Load()
	if g.config.Table(tableKey) == nil {
		return &UnknownTable{tableKey}
	}
	for _, sub := range g.subscriptions {
		if sub.handler.Table.Key == tableKey {
			wake([]*subscription{sub}, group)
		}
	}
	return nil
}

// UnknownTable is the error about a table that the configuration in use does not declare.
type UnknownTable struct{ Table string }

func (e *UnknownTable) Error() string { return fmt.Sprintf("no table %q is declared", e.Table) }

// wakeReaders has the subscriptions that read a group of a table look at it.
func (s *Service) wakeReaders(tableKey, group string) {
	for _, sub := range s.subscriptions() {
		if sub.handler.Table.Key == tableKey && sub.reads(group) {
			signal(sub.wake)
		}
	}
}

// Listened reports whether a handler of the table listens for its rows, so that whoever writes them
// has to announce them.
func Listened(cfg *config.Config, t *config.Table) bool {
	return slices.ContainsFunc(cfg.Handlers, func(h *config.Handler) bool { return h.Table == t && h.Listen })
}

// ClaimsAcrossGroups reports whether a handler claims from every group of a table at once.
func ClaimsAcrossGroups(cfg *config.Config, t *config.Table) bool {
	return slices.ContainsFunc(cfg.Handlers, func(h *config.Handler) bool { return h.Table == t && h.Group == config.EveryGroup })
}

// Admin is for operators of the tables of the configuration in use; nil where the dialect has no statements for them.
func (s *Service) Admin() *admin.Admin { return s.current.Load().admin }

// Counts are those of a handler that is configured, without asking the database.
func (s *Service) Counts(handler string) Counts {
	return s.current.Load().subscription(handler).counters.read()
}

// Reports are what each handler has done and what waits for it.
func (s *Service) Reports(ctx context.Context) ([]Report, error) {
	subscriptions := s.subscriptions()
	reports := make([]Report, len(subscriptions))
	for i, sub := range subscriptions {
		var err error
		if reports[i], err = sub.report(ctx); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// closeTimeout bounds how long the parts of a service may take to close.
const closeTimeout = 10 * time.Second

// Close closes the modules and then the connections. The service must not be running.
func (s *Service) Close() error {
	var errs []error
	for _, sub := range s.subscriptions() {
		errs = append(errs, sub.assets.close())
	}
	if s.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		errs = append(errs, s.engine.Close(ctx))
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}
