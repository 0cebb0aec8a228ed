package host

import (
	"context"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// probeEvery is how often the service finds out whether the database answers, and what it would answer to a claim, where
// claims do not show it: they may be minutes apart.
const probeEvery = time.Second

// probe asks the database for its time until ctx ends, and compares the clocks.
func (s *Service) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		s.ask(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) ask(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s.asking.start()
	skew, err := forms.Skew(bounded, s.store, s.options.Now)
	s.asking.land()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.unanswered.set(passOn(s.options.Config.Database, err))
	default:
		s.unanswered.clear()
		for _, sub := range s.subscriptions() {
			if sub.vitals.launched.Load() {
				sub.compareClocks(skew)
			}
		}
	}
}

// clocks asks the database for its time once, before the first claim.
func (s *subscription) clocks(ctx context.Context) {
	if !s.table.Has(dialect.LockedUntil) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if skew, err := forms.Skew(bounded, s.store, s.now); err == nil { // the probes report a database that is out of reach
		s.compareClocks(skew)
	}
}

// probe finds out, until ctx ends, whether the subscription's claims would be answered, while none shows it.
func (s *subscription) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.quiet() {
				s.tryClaim(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// quiet reports whether no claim is on its way, and none was answered lately, nor a probe.
func (s *subscription) quiet() bool {
	now := elapsed()
	return s.vitals.claims(now) == 0 && now-time.Duration(s.vitals.answered.Load()) > probeEvery*3/4
}

// tryClaim claims nothing. Where claims hold connections that are all taken, there is none for it, nor for a claim.
func (s *subscription) tryClaim(ctx context.Context) {
	if _, ok := s.form.(forms.Connected); ok {
		select {
		case s.connections <- struct{}{}:
			defer func() { <-s.connections }()
		default:
			return
		}
	}
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s.vitals.probing.start()
	err := s.form.Probe(bounded)
	s.vitals.probing.land()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		s.vitals.way.set(s.passOn(err))
	default:
		if _, failed := s.vitals.way.get(); failed {
			s.vitals.way.clear()
			signal(s.recovered)
		}
	}
	s.vitals.answered.Store(int64(elapsed()))
}
