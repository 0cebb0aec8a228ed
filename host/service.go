package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
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
	// Now is the host's clock; nil is the system's.
	Now func() time.Time
}

// Service runs the subscriptions of one configuration on one database.
type Service struct {
	options       Options
	store         store.Store
	engine        *engine.Engine
	modules       []*engine.Module
	mounts        []*engine.Mount
	closeHTTP     []func()
	guests        []store.Store // of the threads' own pools
	tables        map[*config.Table]*dialect.Table
	subscriptions []*subscription
	listener      *listener // nil where nobody listens
	warnings      config.Problems
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
	s := &Service{options: o}
	c := &checker{config: o.Config}
	if err := s.open(ctx, c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, c *checker) (err error) {
	cfg := s.options.Config
	if len(cfg.Handlers) == 0 {
		c.add(0, "handlers", "none is declared", "add [handlers.NAME] with its module and its table")
	}
	s.engine, err = engine.New(ctx, engine.Options{CacheDir: cfg.Runtime.CacheDir, Log: s.options.Log})
	if err != nil {
		c.add(cfg.Runtime.LineOf("cache_dir"), "runtime.cache_dir", err.Error(), "name a folder that this user owns and nobody else may write")
		return c.err()
	}
	s.modules = c.modules(ctx, s.engine)
	s.store = c.connect(ctx, s.options.Databases)
	if s.store == nil {
		return c.err()
	}
	if !c.version(ctx, s.store) {
		return c.err()
	}
	s.tables = c.describe(ctx, s.store)
	c.pooler(ctx, s.store)
	for i, h := range cfg.Handlers {
		form := c.form(ctx, s.store, h, s.tables, s.options.Now)
		mounts := c.mounts(h)
		s.mounts = append(s.mounts, mounts...)
		guests := c.guests(ctx, h, s.options.Databases)
		if guests != nil {
			s.guests = append(s.guests, guests)
		}
		if form != nil && s.modules[i] != nil {
			s.subscriptions = append(s.subscriptions, s.subscribe(h, form, s.modules[i], mounts, guests))
		}
	}
	connections := c.connections(s.subscriptions)
	for _, sub := range s.subscriptions {
		sub.connections = connections
	}
	if s.listener, err = newListener(s); err != nil {
		c.add(0, "listen", err.Error(), "remove listen; the table is polled")
	}
	s.warnings = c.warnings
	for _, w := range s.warnings {
		s.options.Log.Warn(w.Error())
	}
	return c.err()
}

// Warnings are what was found at the start and did not keep the service from it.
func (s *Service) Warnings() config.Problems { return s.warnings }

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

// subscribe makes a subscription of a handler whose checks have passed.
func (s *Service) subscribe(h *config.Handler, form forms.Form, module *engine.Module, mounts []*engine.Mount, guests store.Store) *subscription {
	log := s.options.Log.With("subscription", h.Name)
	lanes := 0
	if h.ByKey {
		lanes = h.Threads
	}
	requests, closeHTTP := outboundOf(h)
	s.closeHTTP = append(s.closeHTTP, closeHTTP)
	sub := &subscription{
		brake:   &brake{log: log, now: s.options.Now},
		handler: h, table: s.tables[h.Table], store: s.store, form: form, module: module, guests: guests,
		settings: engine.Settings{Config: h.Config, Env: environment(h), Mounts: mounts, HTTP: requests,
			MayPublish: h.Limits.Publishes, Log: s.options.Log, LogLimit: h.Limits.Log},
		log:        log,
		now:        s.options.Now,
		queue:      newQueue(lanes),
		wake:       make(chan struct{}, 1),
		stopping:   make(chan struct{}),
		untilEmpty: s.options.UntilEmpty,
	}
	sub.queue.batch = h.Batch
	sub.publisher = newPublisher(s, h)
	var warned sync.Once
	sub.policy = policy{handler: h, now: s.options.Now, warnNoDelay: func() {
		warned.Do(func() {
			log.Warn("the handler asks for a delay, but its table has no retry_after column: such rows return at once")
		})
	}}
	sub.settler = &settler{
		ledger: sub.newLedger(), form: form, now: s.options.Now, tick: sub.compareClocks,
		arrived: make(chan struct{}, 1), answered: make(chan struct{}, 1),
	}
	// Where each key has its thread, one claimer hands every row to the thread that it belongs to.
	if connected, ok := form.(forms.Connected); ok && !h.ByKey {
		sub.inline = newInline(sub, connected)
	}
	return sub
}

// Run runs every subscription until ctx ends, or until every queue is empty where the options say so.
// Then it drains: handlers finish for at most the drain timeout, or until abort is closed; what is
// still running is interrupted, and every row that is not settled is given back.
func (s *Service) Run(ctx context.Context, abort <-chan struct{}) error {
	if err := s.openForms(ctx); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(s.subscriptions))
	var group sync.WaitGroup
	if s.listener != nil {
		group.Go(func() { s.listener.run(running) })
	}
	for i, sub := range s.subscriptions {
		sub.compareClocks(ctx)
		group.Go(func() { errs[i] = sub.run(running, s.options.Config.Runtime.DrainTimeout, abort) })
	}
	if s.options.UntilEmpty {
		s.waitUntilEmpty(running)
		stop()
	}
	group.Wait()
	return errors.Join(append(errs, closeForms(s.subscriptions))...)
}

// lockedFor is how long a service that runs until its queues are empty waits for rows that are due and
// that no claim gets: their locks may be those of a connection that is about to end.
const lockedFor = 5 * time.Second

// waitUntilEmpty returns when nothing is due or in work here, or when a subscription has failed. Claims
// that come back empty do not show it by themselves: they pass over rows that anybody has locked. So the
// rows are counted too. Rows that stay due and unclaimed, such as those behind the head of a group, are
// left in the end.
func (s *Service) waitUntilEmpty(ctx context.Context) {
	const pause = 10 * time.Millisecond
	look := time.NewTicker(pause)
	defer look.Stop()
	var since time.Time // when the claims began to come back empty
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		empty := true
		for _, sub := range s.subscriptions {
			if sub.failure.Load() != nil {
				return
			}
			empty = empty && sub.emptyClaims.Load() >= 2
		}
		if !empty {
			since = time.Time{}
			look.Reset(pause)
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		if s.nothingDue(ctx) || time.Since(since) >= lockedFor {
			return
		}
		look.Reset(lastPause) // a count may read the whole table
	}
}

// nothingDue counts the rows that are due. A count that fails counts nothing.
func (s *Service) nothingDue(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for _, sub := range s.subscriptions {
		if w, err := sub.form.Waiting(bounded); err != nil || w.Due > 0 {
			return false
		}
	}
	return true
}

// Enqueue writes messages into a declared table, all or none, and wakes the subscriptions that read
// them.
func (s *Service) Enqueue(ctx context.Context, tableKey string, messages []forms.Message) error {
	declared := s.options.Config.Table(tableKey)
	if declared == nil {
		return fmt.Errorf("no table %q is declared", tableKey)
	}
	if err := s.writer(declared).Write(ctx, messages); err != nil {
		return err
	}
	for i := range messages {
		s.wakeReaders(declared, messages[i].Group)
	}
	return nil
}

func (s *Service) writer(declared *config.Table) *forms.Writer {
	w := forms.NewWriter(s.store, s.tables[declared], s.options.Now)
	if Listened(s.options.Config, declared) {
		w.Announce()
	}
	return w
}

// wakeReaders has the subscriptions that read a group of a table look at it.
func (s *Service) wakeReaders(declared *config.Table, group string) {
	for _, sub := range s.subscriptions {
		if sub.handler.Table == declared && sub.reads(group) {
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

// Reports are what each handler has done and what waits for it.
func (s *Service) Reports(ctx context.Context) ([]Report, error) {
	reports := make([]Report, len(s.subscriptions))
	for i, sub := range s.subscriptions {
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
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	for _, m := range s.modules {
		if m != nil {
			errs = append(errs, m.Close(ctx))
		}
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Close(ctx))
	}
	for _, close := range s.closeHTTP {
		close()
	}
	for _, m := range s.mounts {
		errs = append(errs, m.Close())
	}
	for _, g := range s.guests {
		errs = append(errs, g.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}
