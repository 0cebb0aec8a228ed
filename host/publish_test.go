package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// publishing is a handler on the jobs that publishes its payload into the table plain.
func publishing(t *testing.T, keys string) string {
	t.Helper()
	return fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\ndead_letter = \"dead\"\n%s\n",
		testwasm.WATFile(t, "testdata/publisher.wat"), keys)
}

// What a guest publishes is a row of the other table, whose handler is woken for it.
func TestGuestsPublish(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		if !strings.Contains(tables, "[tables.plain]") {
			tables += "[tables.plain]\nid = \"id\"\nlocked_until = \"locked_until\"\npayload = \"payload\"\n"
		}
		sink := strings.Replace(handler(t, "sink", "plain", ""), `"20ms"`, `"1h"`, 1)
		b := open(t, db, tables+publishing(t, `allow.publish = ["plain"]`)+sink)
		b.start()
		eventually(t, "both have looked for rows", func() bool {
			return b.subscriptions()[0].emptyClaims.Load() > 0 && b.subscriptions()[1].emptyClaims.Load() > 0
		})
		b.enqueue("jobs", "work", `{"payload":"ok"}`, `{"payload_base64":"b2s="}`, `{"payload":"ok","surprise":1}`, `no JSON`, `{"payload":"ok","headers":{"a":"b"}}`)
		eventually(t, "the rows are handled", func() bool {
			return b.counts("sink") == Counts{Acked: 2} && b.counts("work") == Counts{Acked: 2, DeadLettered: 3}
		})
	})
}

func TestPublishingIsGrantedAndLimited(t *testing.T) {
	for name, c := range map[string]struct {
		keys string
		want Counts
	}{
		"another table":  {`allow.publish = ["dead_jobs"]`, Counts{Dropped: 1}},
		"none a message": {"allow.publish = [\"plain\"]\nlimits = { publishes = 0 }", Counts{Snoozed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				b := open(t, db, tables+publishing(t, c.keys), untilEmpty)
				b.enqueue("jobs", "work", `{"payload":"ok"}`)
				b.drain()
				equal(t, "counts", b.counts("work"), c.want)
				equal(t, "rows", b.rows("plain", "id"), "")
			})
		})
	}
}

// In a transactional handler a row is published by the ack, and by nothing else.
func TestPublishingInTheTransaction(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		tables += "[tables.plain]\nid = \"id\"\nlocked_until = \"locked_until\"\npayload = \"payload\"\n"
		sink := strings.Replace(handler(t, "sink", "plain", ""), `"20ms"`, `"1h"`, 1)
		b := open(t, db, tables+publishing(t, "transactional = true\nallow.publish = [\"plain\"]\nbackoff = { initial = \"1h\", max = \"1h\" }")+sink)
		stop := b.start()
		eventually(t, "both have looked for rows", func() bool {
			return b.subscriptions()[0].emptyClaims.Load() > 0 && b.subscriptions()[1].emptyClaims.Load() > 0
		})
		b.enqueue("jobs", "work", `{"payload":"ok"}`, `{"payload":"t"}`, `{"payload_base64":"b2s="}`, `{"payload":"t"}`)
		eventually(t, "the rows are handled", func() bool {
			return b.counts("sink") == Counts{Acked: 2} && b.counts("work") == Counts{Acked: 2, Delayed: 2}
		})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows", b.rows("plain", "id"), "")
		b.idle(db)
	})
}
