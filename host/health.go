package host

import (
	"fmt"
	"time"
)

// Reason is why a service is not ready: Handler is empty where it is about the whole service.
type Reason struct {
	Handler string `json:"handler,omitempty"`
	What    string `json:"what"`
}

func (r Reason) String() string {
	if r.Handler == "" {
		return r.What
	}
	return "handler " + r.Handler + ": " + r.What
}

// phase is where a service is between its opening and its end.
type phase int32

const (
	opened phase = iota
	serving
	leaving
)

// Unready says why the service does not do its work, and is empty where it does. It only looks at what is known, which
// is never older than a few seconds: nothing waits, and nobody is asked. The texts hold no secrets.
func (s *Service) Unready() []Reason {
	switch phase(s.phase.Load()) {
	case opened:
		return []Reason{{What: "the service is not running yet"}}
	case leaving:
		return []Reason{{What: "the service is stopping"}}
	}
	now := elapsed()
	var reasons []Reason
	g := s.current.Load()
	if took := s.asking.lasts(now); took > hangsAfter && !crowded(s.store, g.connections) {
		reasons = append(reasons, Reason{What: fmt.Sprintf("the database has not answered for %s", took.Round(time.Second/10))})
	} else if text, is := s.unanswered.get(); is {
		reasons = append(reasons, Reason{What: "the database does not answer: " + text})
	}
	for _, sub := range g.subscriptions {
		if !sub.vitals.launched.Load() {
			continue // the one before it comes to its end
		}
		for _, what := range sub.ailments(now) {
			reasons = append(reasons, Reason{sub.handler.Name, what})
		}
	}
	return reasons
}
