package host

import (
	"fmt"
	"strings"
	"sync"
)

// pause keeps a handler from claiming. It belongs to the handler, whose subscriptions come and go with reloads.
type pause struct {
	mu sync.Mutex
	// over is closed by the end of the pause, nil while there is none.
	over chan struct{}
}

// begin begins a pause, unless one lasts already.
func (p *pause) begin() (begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		return false
	}
	p.over = make(chan struct{})
	return true
}

// end ends the pause, where one lasts.
func (p *pause) end() (ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over == nil {
		return false
	}
	close(p.over)
	p.over = nil
	return true
}

// lasts is closed by the end of the pause, nil while there is none.
func (p *pause) lasts() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

func (p *pause) on() bool { return p.lasts() != nil }

// UnknownHandler is the error about a handler that the configuration in use has not.
type UnknownHandler struct {
	Handler string
	Known   []string
}

func (e *UnknownHandler) Error() string {
	return fmt.Sprintf("no handler %q runs here; there are %s", e.Handler, strings.Join(e.Known, ", "))
}

// Pause has a handler claim nothing more until [Service.Resume]. Its running calls come to their end and are settled,
// and rows that are claimed and not started go back with their attempts. It holds for this process alone, outlasts
// reloads, and ends with the process. A service that runs until its queues are empty does not wait for what waits for
// a handler that is paused.
func (s *Service) Pause(handler string) error {
	sub, err := s.handled(handler)
	if err != nil {
		return err
	}
	if !sub.paused.begin() {
		return nil
	}
	sub.log.Info("paused: nothing is claimed until it is resumed")
	for _, t := range sub.queue.withdraw() {
		sub.giveBack(t)
	}
	return nil
}

// Resume ends a pause. It is no error where there is none.
func (s *Service) Resume(handler string) error {
	sub, err := s.handled(handler)
	if err != nil {
		return err
	}
	sub.emptyClaims.Store(0) // what it found before the pause says nothing about now
	if sub.paused.end() {
		sub.log.Info("resumed")
		signal(sub.wake) // what was given back waits, and no claim may be due for long
	}
	return nil
}

// Paused reports whether a handler is paused.
func (s *Service) Paused(handler string) bool {
	sub, err := s.handled(handler)
	return err == nil && sub.paused.on()
}

// handled is the subscription of a handler.
func (s *Service) handled(handler string) (*subscription, error) {
	sub := s.current.Load().subscription(handler)
	if sub != nil {
		return sub, nil
	}
	unknown := &UnknownHandler{Handler: handler}
	for _, sub := range s.subscriptions() {
		unknown.Known = append(unknown.Known, sub.handler.Name)
	}
	return nil, unknown
}

// idle reports whether the subscription has no row in hand.
func (s *subscription) idle() bool {
	if s.inline != nil {
		return len(s.inline.inHand()) == 0
	}
	return s.settler.inHand() == 0
}

// atRest reports whether a service that runs until its queues are empty need not wait for the subscription: its claims
// come back empty, or it makes none and has come to an end with what it had.
func (s *subscription) atRest() bool {
	return s.paused.on() && s.idle() || s.emptyClaims.Load() >= 2
}
