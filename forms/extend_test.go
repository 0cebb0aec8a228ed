package forms_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// TestExtendKeepsTheRow for as long as it goes on, in one delivery (graphile/worker#169).
func TestExtendKeepsTheRow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		other := lease(t, s, table, host.use)
		fill(t, s, table, 2)
		deliveries := claim(t, l, 2)
		for range 5 {
			host.advance(20 * time.Second)
			extend(t, l, forms.Done, deliveries...)
			equal(t, "another holder's claim", payloads(claim(t, other, 2)), "")
			if want := host.now().Add(30 * time.Second); !deliveries[0].Expires().Equal(want) {
				t.Errorf("expires at %v, want %v", deliveries[0].Expires(), want)
			}
		}
		settle(t, l, forms.Done, finish(deliveries[0]))
		host.advance(afterLease)
		taken := claim(t, other, 2)
		equal(t, "claim after the extensions ended", payloads(taken), "2")
		extend(t, l, forms.Lost, deliveries...)
		extend(t, other, forms.Done, taken...)
	})
}

// TestExtendNeverMovesBack, even when the host's clock does.
func TestExtendNeverMovesBack(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 2)
		deliveries := claim(t, l, 2)
		host.advance(10 * time.Second)
		extend(t, l, forms.Done, deliveries...)
		before := columns(t, s, table, "locked_until")
		host.advance(-time.Hour)
		extend(t, l, forms.Done, deliveries...)
		equal(t, "the leases", columns(t, s, table, "locked_until"), before)
		host.advance(time.Hour + 29*time.Second)
		equal(t, "claim", payloads(claim(t, l, 2)), "")
		settle(t, l, forms.Done, finish(deliveries[0]), back(deliveries[1]))
	})
}

// TestExtendManyDeliveries in one call, more than one statement takes, some of which are lost.
func TestExtendManyDeliveries(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 1500)
		deliveries := claim(t, l, 2000)
		settle(t, l, forms.Done, finish(deliveries[0]), finish(deliveries[700]), finish(deliveries[1499]))
		host.advance(20 * time.Second)
		for i, a := range l.Extend(t.Context(), deliveries) {
			want := forms.Done
			if slices.Contains([]int{0, 700, 1499}, i) {
				want = forms.Lost
			}
			if a.State != want {
				t.Fatalf("delivery %d: %v (%v), want %v", i, a.State, a.Err, want)
			}
		}
		host.advance(20 * time.Second)
		equal(t, "claim", payloads(claim(t, l, 10)), "")
		answers := states(l.Settle(t.Context(), settlements(deliveries, finish)))
		equal(t, "settled", number(int64(strings.Count(answers, "done"))), "1497")
		equal(t, "rows", count(t, s, table), "0")
		if answers := l.Extend(t.Context(), nil); len(answers) != 0 {
			t.Errorf("no deliveries: %d answers", len(answers))
		}
	})
}
