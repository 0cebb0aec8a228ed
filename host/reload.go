package host

import (
	"context"
	"errors"
	"sync"

	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// Reloaded names the handlers of a reload, by what became of them.
type Reloaded struct {
	Kept, Changed, Added, Removed []string
}

// Reload puts another configuration in the place of the one that runs: modules, handlers and tables. What cannot be
// put to work, in whatever way, is an error, config.Problems mostly, and what runs goes on as it was.
//
// Handlers of which nothing has changed do not notice. One that has changed claims nothing more and lets its running
// calls come to their end, without interrupting any; what it has not started goes back, and the new one
// takes over. Reload returns then. Only the service's own stop hurries it.
func (s *Service) Reload(ctx context.Context, cfg *config.Config) (Reloaded, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	last := s.current.Load()
	next, err := s.succeed(ctx, cfg, last)
	if err != nil {
		return Reloaded{}, err
	}
	for _, w := range next.warnings {
		s.options.Log.Warn(w.Error())
	}
	s.current.Store(next)
	s.replace(last, next)
	reloaded := next.since(last)
	for _, handler := range reloaded.Removed {
		s.times.forget(handler)
	}
	return reloaded, nil
}

// succeed makes the generation after the last one, ready to be launched.
func (s *Service) succeed(ctx context.Context, cfg *config.Config, last *generation) (*generation, error) {
	c := &checker{config: cfg, log: s.options.Log}
	c.handlers()
	if !config.SameProcess(last.config, cfg) {
		c.add(0, "database", "this section or [runtime] has changed, and neither can while the program runs", "start it anew, or take the change back")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	next, err := s.build(ctx, c, c.modules(ctx, s.engine), last, true)
	if err != nil {
		return nil, err
	}
	if cap(next.connections) != cap(last.connections) {
		// Those that go on would count their connections by the old sum: all of them have to change.
		if err := next.discard(last); err != nil {
			return nil, err
		}
		c = &checker{config: cfg, log: s.options.Log}
		if next, err = s.build(ctx, c, c.modules(ctx, s.engine), last, false); err != nil {
			return nil, err
		}
	}
	if err := s.rehearse(ctx, next.without(last)); err != nil {
		return nil, errors.Join(err, next.discard(last))
	}
	return next, nil
}

// rehearse does what may yet fail in the start of subscriptions: a module may refuse to start, and a form to open.
func (s *Service) rehearse(ctx context.Context, fresh []*subscription) error {
	c := &checker{}
	for _, sub := range fresh {
		c.config = sub.generation.config
		c.instance(ctx, sub)
	}
	if err := c.err(); err != nil || s.runner == nil {
		return err
	}
	return openForms(ctx, fresh)
}

// replace has the subscriptions of the next generation run in the place of the last one's, each when the one of its
// name has ended.
func (s *Service) replace(last, next *generation) {
	var ending sync.WaitGroup
	for _, old := range last.without(next) {
		ending.Go(func() {
			s.end(old)
			if successor := next.subscription(old.handler.Name); successor != nil && s.runner != nil {
				s.runner.launch(successor)
			}
		})
	}
	if s.runner != nil {
		for _, sub := range next.without(last) {
			if last.subscription(sub.handler.Name) == nil {
				s.runner.launch(sub)
			}
		}
	}
	ending.Wait()
	if s.runner != nil {
		s.runner.attend(next.attendants(s.options.Log, s.options.Now))
	}
}

// end has a subscription come to its end, and closes what it has.
func (s *Service) end(sub *subscription) {
	var errs []error
	if sub.retire != nil {
		sub.retire()
		<-sub.ended
		errs = append(errs, closeForms([]*subscription{sub}))
	}
	if err := errors.Join(append(errs, sub.assets.close())...); err != nil {
		sub.log.Error("what the handler had before the reload does not close", "error", err)
	}
}

// since says what has become of the last generation's handlers.
func (g *generation) since(last *generation) (r Reloaded) {
	for _, sub := range g.subscriptions {
		switch last.subscription(sub.handler.Name) {
		case sub:
			r.Kept = append(r.Kept, sub.handler.Name)
		case nil:
			r.Added = append(r.Added, sub.handler.Name)
		default:
			r.Changed = append(r.Changed, sub.handler.Name)
		}
	}
	for _, sub := range last.subscriptions {
		if g.subscription(sub.handler.Name) == nil {
			r.Removed = append(r.Removed, sub.handler.Name)
		}
	}
	return r
}
