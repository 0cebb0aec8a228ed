package config

import (
	"fmt"
	"strings"
	"time"
)

// Action is what happens to a row whose delivery failed.
type Action int

// The actions of on_failure.
const (
	Retry      Action = iota // returned at once
	RetryAfter               // hidden for a while
	Drop                     // finished
	DeadLetter               // moved to the handler's dead letter target
)

var actions = []string{"retry", "retry_after", "drop", "dead_letter"}

// String returns the action as inbox.toml writes it.
func (a Action) String() string {
	if a < 0 || int(a) >= len(actions) {
		return fmt.Sprintf("action %d", int(a))
	}
	return actions[a]
}

// Policy is what follows a failure that is no outcome.
type Policy struct {
	Action   Action
	Delay    time.Duration // of RetryAfter, where HasDelay
	HasDelay bool          // else the handler's backoff decides
}

// String returns the policy as inbox.toml writes it.
func (p Policy) String() string {
	if p.HasDelay {
		return p.Action.String() + ":" + p.Delay.String()
	}
	return p.Action.String()
}

// OnFailure is a policy for each kind of failure.
type OnFailure struct {
	Trap    Policy // the guest trapped or left
	Timeout Policy // the deadline passed
	Outcome Policy // the outcome was not one that the row can take
	Decode  Policy // the row could not be read, or its payload is above max_payload
}

// Backoff is how long a row that fails again and again is hidden: Initial × Factor^n, at most Max, each
// varied by ± Jitter of itself.
type Backoff struct {
	Initial, Max time.Duration
	Factor       float64 // at least 1
	Jitter       float64 // 0 to 1
}

// Target is where dead letters go: to a group of the same table or to a table.
type Target struct {
	Group string // set where Table is nil
	Table *Table
}

// Limits bound what one delivery may take from the host.
type Limits struct {
	HTTPResponse int64 // bytes of a response
	DBResult     int64 // bytes of a statement's result
	Log          int64 // bytes of log lines
	Publishes    int
}

func policy(dst *Policy) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok {
			return
		}
		parsed, fault := parsePolicy(s)
		if fault != nil {
			p.complain(n, fault)
			return
		}
		*dst = parsed
	}
}

func parsePolicy(text string) (Policy, *fault) {
	word, delay, hasDelay := strings.Cut(text, ":")
	for i, action := range actions {
		if word != action {
			continue
		}
		if !hasDelay {
			return Policy{Action: Action(i)}, nil
		}
		if Action(i) != RetryAfter {
			return Policy{}, &fault{"gives a delay to an action that takes none", `write it without the colon, or "retry_after:30s"`}
		}
		d, fault := parseDuration(strings.TrimSpace(delay))
		if fault == nil && d < 0 {
			fault = tooShort(0)
		}
		return Policy{RetryAfter, d, true}, fault
	}
	return Policy{}, &fault{"is no policy", `write "retry", "retry_after", "retry_after:30s", "drop" or "dead_letter"`}
}

func backoffKeys(b *Backoff) keys {
	return keys{
		{"initial", duration(&b.Initial, time.Millisecond)},
		{"max", duration(&b.Max, time.Millisecond)},
		{"factor", fraction(&b.Factor, 1, 1000)},
		{"jitter", fraction(&b.Jitter, 0, 1)},
	}
}

func onFailureKeys(f *OnFailure) keys {
	return keys{
		{"trap", policy(&f.Trap)},
		{"timeout", policy(&f.Timeout)},
		{"outcome", policy(&f.Outcome)},
		{"decode", policy(&f.Decode)},
	}
}

func limitKeys(l *Limits) keys {
	return keys{
		{"http_response", size(&l.HTTPResponse, 1, 1<<30)},
		{"db_result", size(&l.DBResult, 1, 1<<30)},
		{"log", size(&l.Log, 0, 1<<30)},
		{"publishes", number(&l.Publishes, 0, maxCount)},
	}
}
