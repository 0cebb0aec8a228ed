package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// publications writes the rows that a handler's guests publish, each in a transaction of its own on the service's
// pool, and wakes who reads them; nil where it allows none.
func (s *Service) publications(h *config.Handler) engine.Publications {
	if len(h.Allow.Publish) == 0 {
		return nil
	}
	return func(ctx context.Context, table string, text []byte) ([]byte, abi.Errno) {
		declared := s.options.Config.Table(table)
		if declared == nil || !slices.Contains(h.Allow.Publish, declared) {
			return nil, abi.NotAllowed
		}
		group, _ := OnlyGroup(s.options.Config, declared)
		m, err := ParseMessage(text, declared, forms.Message{Group: group})
		if err != nil {
			return nil, abi.BadArgument
		}
		switch err := s.Enqueue(ctx, table, []forms.Message{m}); {
		case err == nil:
			return nil, 0
		case ctx.Err() != nil:
			return nil, abi.DeadlinePassed
		default:
			said, err := json.Marshal(map[string]string{"message": err.Error()})
			if err != nil {
				panic(err) // a string always has a form in JSON
			}
			return said, abi.Failed
		}
	}
}
