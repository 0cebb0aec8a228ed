package host

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// A service that runs until its queues are empty ends, with an error, where the clocks keep it from claiming.
func TestUntilEmptyEndsWhereTheClockIsOff(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		off := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(-time.Hour) } }
		b := open(t, db, tables+handler(t, "work", "jobs", `group = "g"`), untilEmpty, off)
		b.enqueue("jobs", "g", "ok")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := b.Run(ctx, nil); ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "clock is off") {
			t.Errorf("the service ended with %v (%v)", err, ctx.Err())
		}
		equal(t, "counts", b.counts("work"), Counts{})
	})
}
