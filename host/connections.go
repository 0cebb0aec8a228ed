package host

import (
	"fmt"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// connections shares the pool out: claims and transactions that hold a connection until a row is settled, and
// sessions that hold locks, leave one of it for everything else. It gives what they may take, as a channel that a claim fills and empties. A pool
// that is short of room runs fewer rows at once; one that has none for such claims is refused.
func (c *checker) connections(subscriptions []*subscription) chan struct{} {
	pool := c.config.Database.MaxConnections
	sum, kept, terms := holds(subscriptions)
	if pool < 2+kept {
		for _, sub := range subscriptions {
			if held, ok := sub.form.(forms.Held); ok {
				held.Narrow()
			}
		}
		sum, kept, terms = holds(subscriptions)
	}
	rest := make(chan struct{}, max(pool-1-kept, 1))
	if len(terms) == 0 || sum <= pool {
		return rest
	}
	p := config.Problem{File: c.config.Path, Line: c.config.Database.LineOf("max_connections"), Key: "database.max_connections",
		What: fmt.Sprintf("is %d, and claims that hold a connection until they are settled take %s, beside 1 for everything else: %d",
			pool, strings.Join(terms, " + "), sum),
		Remedy: fmt.Sprintf("raise it to %d, or lower threads", sum)}
	if pool < 2+kept {
		c.problems = append(c.problems, p)
	} else {
		p.What += "; fewer rows run at once"
		c.warnings = append(c.warnings, p)
	}
	return rest
}

// holds is how many connections subscriptions hold at most, with one for everything else, how many of those they keep,
// and who takes them.
func holds(subscriptions []*subscription) (sum, kept int, terms []string) {
	sum = 1
	for _, sub := range subscriptions {
		if form, ok := sub.form.(forms.Connected); ok {
			n := sub.handler.Threads * form.Connections()
			sum += n
			terms = append(terms, fmt.Sprintf("%d × %d of handlers.%s", sub.handler.Threads, form.Connections(), sub.handler.Name))
		}
		if form := sub.transactional(); form != nil && form.Opens() {
			sum += sub.handler.Threads
			terms = append(terms, fmt.Sprintf("%d of handlers.%s", sub.handler.Threads, sub.handler.Name))
		}
		if held, ok := sub.form.(forms.Held); ok && held.Connections() > 0 {
			sum += held.Connections()
			kept += held.Connections()
			terms = append(terms, fmt.Sprintf("%d of handlers.%s", held.Connections(), sub.handler.Name))
		}
	}
	return sum, kept, terms
}

// warnCrash warns of a cap that does not hold against rows that kill their process.
func (c *checker) warnCrash(h *config.Handler, form forms.Form) {
	if _, ok := form.(forms.Connected); !ok || h.MaxAttempts == 0 {
		return
	}
	c.warnings = append(c.warnings, config.Problem{File: c.config.Path, Line: h.LineOf("max_attempts"), Key: path("handlers", h.Name, "max_attempts"),
		What:   "counts no crash: in the row lock form an attempt is counted by its outcome",
		Remedy: "give the table a locked_until column where a row may end the process that handles it"})
}
