package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/spans"
)

// publisher writes the rows that a handler's guests publish.
type publisher struct {
	service    *Service
	generation *generation
	handler    *config.Handler
	// alone writes a row in a transaction of its own, on the service's pool.
	alone engine.Publications
}

// publication is a row that was published.
type publication struct {
	table, group string
}

// newPublisher gives nil for a handler that allows none.
func newPublisher(s *Service, g *generation, h *config.Handler) *publisher {
	if len(h.Allow.Publish) == 0 {
		return nil
	}
	p := &publisher{service: s, generation: g, handler: h}
	p.alone = p.write(func(ctx context.Context, declared *config.Table, m forms.Message) error {
		if err := s.writer(g, declared).Write(ctx, []forms.Message{m}); err != nil {
			return err
		}
		s.wakeReaders(declared.Key, m.Group)
		return nil
	})
	return p
}

// publications writes what the guest publishes while it has a row; nil where its handler allows nothing. In a
// transactional handler that is in the delivery's transaction.
func (s *subscription) publications(t *task) engine.Publications {
	form := s.transactional()
	if s.publisher == nil || form == nil {
		return s.publisher.aloneOrNil()
	}
	return s.publisher.write(func(ctx context.Context, declared *config.Table, m forms.Message) error {
		t.asked = true
		if form.Opens() && !s.connect(ctx, t) {
			return ctx.Err()
		}
		if err := s.publisher.service.writer(s.generation, declared).WriteIn(ctx, form, t.delivery, &m); err != nil {
			return err
		}
		t.published = append(t.published, publication{declared.Key, m.Group})
		return nil
	})
}

func (p *publisher) aloneOrNil() engine.Publications {
	if p == nil {
		return nil
	}
	return p.alone
}

// write judges and reads a message before it is written.
func (p *publisher) write(write func(context.Context, *config.Table, forms.Message) error) engine.Publications {
	cfg := p.generation.config
	return func(ctx context.Context, table string, text []byte) ([]byte, abi.Errno) {
		declared := cfg.Table(table)
		if declared == nil || !slices.Contains(p.handler.Allow.Publish, declared) {
			return nil, abi.NotAllowed
		}
		group, _ := OnlyGroup(cfg, declared)
		m, err := ParseMessage(text, declared, forms.Message{Group: group})
		if err != nil {
			return nil, abi.BadArgument
		}
		if declared.Headers != "" {
			m.Headers = spans.Carry(ctx, m.Headers)
		}
		switch err := write(ctx, declared, m); {
		case err == nil:
			return nil, 0
		case ctx.Err() != nil:
			return nil, abi.DeadlinePassed
		case errors.Is(err, store.ErrArguments):
			return nil, abi.BadArgument
		default:
			said, err := json.Marshal(map[string]string{"message": err.Error()})
			if err != nil {
				panic(err) // a string always has a form in JSON
			}
			return said, abi.Failed
		}
	}
}

// committed wakes who reads what a delivery has published.
func (p *publisher) committed(published []publication) {
	for _, one := range published {
		p.service.wakeReaders(one.table, one.group)
	}
}
