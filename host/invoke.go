package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// Invocation is one call of a handler outside of its queue.
type Invocation struct {
	Handler *config.Handler
	// Message is what the handler is given, unless a row is.
	Message *engine.Message
	// Row is the key of a row of the handler's table, as the log writes it, that is handed over as its next delivery
	// would be. Nothing becomes of the row. Empty is none.
	Row string
	// Allow lets the guest have what its handler allows: db, publish and http take effect. Without it they answer
	// NotAllowed.
	Allow bool
	// Log takes the guest's lines.
	Log *slog.Logger
	// Databases are those that the URL may select; nil is the builtin ones.
	Databases []databases.Database
}

// Invoked is what a handler came to for one message.
type Invoked struct {
	Module engine.Info
	Result engine.Result
	Start  time.Duration // of the instance, with inbox_init
}

// Invoke runs a handler on one message. Only for a row, or where it is allowed something, is there a database.
func Invoke(ctx context.Context, cfg *config.Config, v Invocation) (result *Invoked, err error) {
	if v.Databases == nil {
		v.Databases = databases.Builtin()
	}
	h := v.Handler
	c := &checker{config: cfg, log: v.Log}
	e, err := engine.New(ctx, engine.Options{CacheDir: cfg.Runtime.CacheDir, Log: v.Log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	a := &assets{}
	defer func() { err = errors.Join(err, a.close()) }()
	if a.module, err = e.Load(ctx, h.Module, engine.Limits{Memory: h.Memory, Allowed: allowed(h)}); err != nil {
		what, remedy := moduleProblem(err)
		c.handler(h, "module", what, remedy)
		return nil, c.err()
	}
	c.entry(h, a.module.Info())
	a.mounts = c.mounts(h)
	if err := c.err(); err != nil {
		return nil, err
	}
	settings := engine.Settings{Config: h.Config, Env: environment(h), Mounts: a.mounts, MayPublish: h.Limits.Publishes, Log: v.Log.With("subscription", h.Name), LogLimit: h.Limits.Log}
	m := v.Message
	var fx *effects
	if v.Row != "" || v.Allow {
		fx = &effects{checker: c, handler: h, assets: a, log: v.Log}
		defer func() { err = errors.Join(err, fx.close()) }()
		if err := fx.connect(ctx, v.Databases); err != nil {
			return nil, err
		}
	}
	if v.Row != "" {
		if m, err = fx.message(ctx, v.Row); err != nil {
			return nil, err
		}
	}
	if int64(len(m.Payload)) > h.MaxPayload {
		return nil, fmt.Errorf("the payload of %d bytes is above max_payload, %d bytes: no handler would be given it", len(m.Payload), h.MaxPayload)
	}
	if v.Allow {
		if err := fx.allow(ctx, v.Databases, m, &settings); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	i, err := a.module.NewInstance(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.Close(context.WithoutCancel(ctx))) }()
	result = &Invoked{Module: a.module.Info(), Start: time.Since(began)}
	if h.Batch > 1 {
		result.Result = i.HandleBatch(ctx, []*engine.Message{m}, nil)[0]
	} else {
		result.Result = i.Handle(ctx, m)
	}
	return result, fx.settle(&result.Result)
}

// effects are what an invocation has of the world.
type effects struct {
	checker *checker
	handler *config.Handler
	assets  *assets
	log     *slog.Logger

	service    *Service
	generation *generation
	pool       *guestPool
	rehearsal  *forms.Rehearsal
}

// connect opens the database and describes the declared tables.
func (fx *effects) connect(ctx context.Context, list []databases.Database) error {
	c := fx.checker
	fx.service = &Service{options: Options{Config: c.config, Log: fx.log, Now: time.Now}}
	if fx.service.store = c.connect(ctx, list); fx.service.store == nil {
		return c.err()
	}
	fx.generation = &generation{config: c.config, tables: c.describe(ctx, fx.service.store)}
	fx.service.current.Store(fx.generation)
	return c.err()
}

func (fx *effects) store() store.Store { return fx.service.store }

// message is the next delivery of a row.
func (fx *effects) message(ctx context.Context, key string) (*engine.Message, error) {
	d, err := forms.Read(ctx, fx.store(), fx.generation.tables[fx.handler.Table], key)
	if err != nil {
		return nil, err
	}
	if d.Flaw != "" {
		return nil, fmt.Errorf("row %s: %s: no handler would be given it", key, d.Flaw)
	}
	m := &engine.Message{}
	fill(m, fx.handler, d)
	return m, nil
}

// allow gives the guest what its handler allows.
func (fx *effects) allow(ctx context.Context, list []databases.Database, m *engine.Message, settings *engine.Settings) error {
	h, c := fx.handler, fx.checker
	fx.assets.guests = c.guests(ctx, h, list)
	if err := c.err(); err != nil {
		return err
	}
	fx.pool = newGuestPool(fx.assets.guests, h, fx.log)
	settings.HTTP, fx.assets.closeHTTP = outboundOf(h)
	publisher := newPublisher(fx.service, fx.generation, h)
	m.Publish = publisher.aloneOrNil()
	if h.Transactional {
		var err error
		if fx.rehearsal, err = forms.NewRehearsal(fx.store(), forms.Options{Table: fx.generation.tables[h.Table], Role: h.TransactionRole, Level: levelOf(h.Table)}); err != nil {
			return err
		}
		if publisher != nil {
			m.Publish = publisher.write(func(ctx context.Context, declared *config.Table, message forms.Message) error {
				return fx.service.writer(fx.generation, declared).WriteIn(ctx, fx.rehearsal, nil, &message)
			})
		}
	}
	var tx forms.Runner
	if fx.rehearsal != nil && allowsDB(h, "tx") {
		tx = fx.rehearsal
	}
	m.Statements = statementsOn(fx.pool, func(ctx context.Context, sql string, args []byte) ([]byte, error) {
		return tx.Run(ctx, nil, forms.Call{SQL: sql, Args: args, Limit: h.Limits.DBResult})
	}, tx != nil)
	return nil
}

// settle ends the guest's transaction as its outcome says.
func (fx *effects) settle(r *engine.Result) error {
	if fx == nil || fx.rehearsal == nil {
		return nil
	}
	fx.pool.end()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	acked := acks(r)
	spoiled := fx.rehearsal.Spoiled()
	if acked && spoiled != nil {
		*r = *spoiledBy(r, spoiled)
	}
	return fx.rehearsal.End(ctx, acked && spoiled == nil)
}

func (fx *effects) close() error {
	fx.pool.end()
	fx.pool.close()
	if fx.service == nil || fx.service.store == nil {
		return nil
	}
	return fx.service.store.Close()
}
