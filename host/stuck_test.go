package host

import (
	"log/slog"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// A service is stuck when no thread of a handler comes out of its call, and not while one does.
func TestStuck(t *testing.T) {
	log := blocked{(&lines{}).logger().Handler(), make(chan struct{})}
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	b := open(t, db, tables+handler(t, "work", "jobs", "threads = 2\ntimeout = \"100ms\""), func(o *Options) { o.Log = slog.New(log) })
	if b.Stuck() {
		t.Error("stuck before the start")
	}
	stop := b.start()
	b.isReady()
	b.enqueue("jobs", "work", "i")
	eventually(t, "one thread is stuck", func() bool { return b.subscriptions()[0].vitals.stuck(elapsed()) == 1 })
	if b.Stuck() {
		t.Error("stuck while one thread can work")
	}
	b.enqueue("jobs", "work", "i")
	eventually(t, "the service is stuck", b.Stuck)
	b.unanswered.set("gone")
	if b.Stuck() {
		t.Error("stuck while the database is away, which a new start would not mend")
	}
	b.unanswered.clear()
	close(log.open)
	eventually(t, "the service is not stuck any more", func() bool { return !b.Stuck() })
	if err := stop(); err != nil {
		t.Error(err)
	}
}
