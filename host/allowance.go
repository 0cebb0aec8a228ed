package host

import (
	"math"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// allowance is how many deliveries a handler may have, by its rate_limit: a token bucket that holds what is due for a
// second, at least one. Tokens are taken before the claim, so that no row waits for one under its hold, and those of rows
// that were not there, or went back without having been started, are given back. A nil allowance has no limit.
type allowance struct {
	now  func() time.Time
	rate config.Rate

	mu     sync.Mutex
	tokens float64
	as     time.Time // when there were as many
}

// newAllowance is full at first. It is nil for no limit.
func newAllowance(rate config.Rate, now func() time.Time) *allowance {
	if rate == (config.Rate{}) {
		return nil
	}
	a := &allowance{now: now, rate: rate, as: now()}
	a.tokens = a.most()
	return a
}

func (a *allowance) perSecond() float64 { return float64(a.rate.Count) / a.rate.Per.Seconds() }

func (a *allowance) most() float64 { return max(1, a.perSecond()) }

// take takes at most n tokens. Where there is none, it says how long until there is one.
func (a *allowance) take(n int) (taken int, wait time.Duration) {
	if a == nil || n <= 0 {
		return n, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.tokens = min(a.most(), a.tokens+max(0, now.Sub(a.as).Seconds())*a.perSecond())
	a.as = now
	taken = min(n, int(a.tokens))
	if taken == 0 {
		return 0, time.Duration(math.Ceil((1 - a.tokens) / a.perSecond() * float64(time.Second)))
	}
	a.tokens -= float64(taken)
	return taken, 0
}

// give gives tokens back.
func (a *allowance) give(n int) {
	if a == nil || n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = min(a.most(), a.tokens+float64(n))
}
