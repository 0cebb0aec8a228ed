package forms_test

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestWhatPasses is tried again a few times, and then reported as what can be tried again later.
func TestWhatPasses(t *testing.T) {
	url := testdb.Postgres(t)
	s, outside := &watched{Store: open(t, testdb.Database{URL: url + "&lock_timeout=20"})}, open(t, testdb.Database{URL: url})
	table := create(t, s, leased())
	l := lease(t, s, table)
	fill(t, s, table, 3)
	deliveries := claim(t, l, 2)
	lock := begin(t, outside, "LOCK TABLE jobs IN SHARE MODE")
	tried := func(what string, want int) {
		t.Helper()
		if len(s.ran) != want {
			t.Errorf("%s: %d statements, want %d", what, len(s.ran), want)
		}
		s.ran = nil
	}

	s.ran = nil
	if _, err := l.Claim(t.Context(), 1, false); s.Failure(err) != store.Transient {
		t.Errorf("claim: %v", err)
	}
	tried("claim", 3)
	equal(t, "settlements", states(l.Settle(t.Context(), settlements(deliveries, finish))), "unsent unsent")
	tried("settlements", 3)
	equal(t, "extensions", states(l.Extend(t.Context(), deliveries)), "unsent unsent")
	tried("extensions", 3)

	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	extend(t, l, forms.Done, deliveries...)
	settle(t, l, forms.Done, settlements(deliveries, finish)...)
	equal(t, "claim", payloads(claim(t, l, 2)), "3")
}
