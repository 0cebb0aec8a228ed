package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// Invoked is what a handler came to for one message that no table had.
type Invoked struct {
	Module engine.Info
	Result engine.Result
	Start  time.Duration // of the instance, with inbox_init
}

// Invoke runs a handler on one message, without a database: db and whatever else has an effect outside answers
// NotAllowed. The log takes the guest's lines.
func Invoke(ctx context.Context, cfg *config.Config, h *config.Handler, m *engine.Message, log *slog.Logger) (result *Invoked, err error) {
	c := &checker{config: cfg}
	e, err := engine.New(ctx, engine.Options{CacheDir: cfg.Runtime.CacheDir, Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	module, err := e.Load(ctx, h.Module, engine.Limits{Memory: h.Memory, Allowed: allowed(h)})
	if err != nil {
		what, remedy := moduleProblem(err)
		c.handler(h, "module", what, remedy)
		return nil, c.err()
	}
	defer func() { err = errors.Join(err, module.Close(context.WithoutCancel(ctx))) }()
	c.entry(h, module.Info())
	mounts := c.mounts(h)
	defer func() {
		for _, m := range mounts {
			err = errors.Join(err, m.Close())
		}
	}()
	if err := c.err(); err != nil {
		return nil, err
	}
	if int64(len(m.Payload)) > h.MaxPayload {
		return nil, fmt.Errorf("the payload of %d bytes is above max_payload, %d bytes: no handler would be given it", len(m.Payload), h.MaxPayload)
	}
	began := time.Now()
	i, err := module.NewInstance(ctx, engine.Settings{Config: h.Config, Env: environment(h), Mounts: mounts, Log: log, LogLimit: h.Limits.Log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.Close(context.WithoutCancel(ctx))) }()
	result = &Invoked{Module: module.Info(), Start: time.Since(began)}
	if h.Batch > 1 {
		result.Result = i.HandleBatch(ctx, []*engine.Message{m}, nil)[0]
	} else {
		result.Result = i.Handle(ctx, m)
	}
	return result, nil
}
