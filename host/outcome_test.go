package host

import (
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func TestOutcomesSettleTheirRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", `dead_letter = "dead"`), untilEmpty)
		b.enqueue("jobs", "work", "ok", "drop", "kill", "D hour", "R backoff", "S hour", "3 times")
		b.drain()
		equal(t, "rows", b.rows("jobs", "payload", "name", "attempt", "error", "locked_until"),
			"D hour|work|2|-|-\nR backoff|work|2|-|-\nS hour|work|1|-|-\nkill|dead|1|because|-\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, Dropped: 1, DeadLettered: 1, Retried: 2, Delayed: 2, Snoozed: 1})
	})
}

// A dead letter without a target is a bad outcome, and loses nothing.
func TestDeadLetterWithoutATarget(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", ""), untilEmpty)
		b.enqueue("jobs", "work", "kill")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Delayed: 1})
		equal(t, "rows", b.rows("jobs", "payload", "name", "error"),
			"kill|work|the handler returned dead_letter, and inbox.toml declares no target for it; reason: because\n")
	})
}

// Without a retry_after column a delay is not kept: the row returns after the backoff, and the log says so
// once.
func TestDelayWithoutARetryAfterColumn(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "plain", `backoff = { initial = "1h", max = "1h" }`), untilEmpty)
		b.enqueue("plain", "", "D1", "D2", "S1", "R", "retry", "trap", "ok")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Retried: 4, Delayed: 2})
		if n := b.log.count("has no retry_after column"); n != 1 {
			t.Errorf("the warning is logged %d times", n)
		}
		equal(t, "hidden rows", strings.TrimSpace(b.query("SELECT CAST(COUNT(*) AS CHAR(9)) FROM plain WHERE locked_until > '"+utc(time.Now().Add(30*time.Minute))+"'")), "6")
	})
}

// A row that asks to be retried again and again keeps no thread busy, and no row from its turn.
func TestRetriesDoNotSpinAndDoNotBlock(t *testing.T) {
	for _, table := range []string{"jobs", "plain"} {
		t.Run(table, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				t.Parallel()
				keys := "backoff = { initial = \"300ms\", max = \"300ms\", jitter = 0 }"
				b := open(t, db, tables+strings.Replace(handler(t, "work", table, keys), `"20ms"`, `"300ms"`, 1))
				group := map[string]string{"jobs": "work"}[table]
				b.enqueue(table, group, "r1", "r2", "0 snooze")
				b.enqueue(table, group, many("ok", 20)...)
				began := time.Now()
				stop := b.start()
				eventually(t, "the rows behind the failing ones are handled", func() bool { return b.counts("work").Acked == 20 })
				eventually(t, "the failing rows come again", func() bool { return b.counts("work").Retried >= 9 })
				if err := stop(); err != nil {
					t.Error(err)
				}
				// Three rows in each interval, and as many more for those that the good rows' progress allowed.
				most := 3 * (2 + int64(time.Since(began)/(300*time.Millisecond))) * 2
				if n := b.counts("work").Retried; n > most {
					t.Errorf("%d deliveries in %v", n, time.Since(began))
				}
			})
		})
	}
}

// A row whose last attempt a crash has spent goes to the dead letters before any handler runs
// (oban-bg/oban#137).
func TestCase07_ARowAboveItsCapIsMovedBeforeTheHandlerRuns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "max_attempts = 3\ndead_letter = \"dead_jobs\""), untilEmpty)
		b.enqueue("jobs", "work", "i", "i", "i")
		b.script("UPDATE jobs SET attempt = 4 WHERE id = 2")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, DeadLettered: 1})
		equal(t, "dead letters", b.rows("dead_jobs", "id", "payload", "attempt", "error"), "2|i|4|the last attempt was not settled: its process ended, or the database refused it\n")
		equal(t, "calls", b.subscriptions()[0].counters.handled.Load(), 2)
	})
}

// A payload above max_payload never reaches the guest.
func TestPayloadAboveItsLimit(t *testing.T) {
	const limited = "max_payload = \"1KiB\"\n"
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+
			handler(t, "keeps", "jobs", limited)+
			handler(t, "buries", "jobs", limited+`dead_letter = "dead"`)+
			handler(t, "drops", "jobs", limited+`on_failure = { decode = "drop" }`), untilEmpty)
		for _, group := range []string{"keeps", "buries", "drops"} {
			b.enqueue("jobs", group, strings.Repeat("b", 1025), strings.Repeat("i", 1024))
		}
		b.drain()
		equal(t, "keeps", b.counts("keeps"), Counts{Acked: 1, Delayed: 1})
		equal(t, "buries", b.counts("buries"), Counts{Acked: 1, DeadLettered: 1})
		equal(t, "drops", b.counts("drops"), Counts{Acked: 1, Dropped: 1})
		const reason = "the payload of 1025 bytes is above max_payload, 1024 bytes"
		equal(t, "rows", b.rows("jobs", "name", "error"), "keeps|"+reason+"\ndead|"+reason+"\n")
	})
}

// Headers that are no JSON object cannot be handed over.
func TestHeadersThatCannotBeDecoded(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", `dead_letter = "dead"`), untilEmpty)
		b.write("jobs",
			forms.Message{Group: "work", Payload: []byte("i"), Headers: []byte(` {"a":"b"}`)},
			forms.Message{Group: "work", Payload: []byte("i")},
			forms.Message{Group: "work", Payload: []byte("list"), Headers: []byte(`["a"]`)},
			forms.Message{Group: "work", Payload: []byte("text"), Headers: []byte(`"a"`)})
		want := "list\ntext\n"
		if db.Name == "sqlite" { // whose column of text keeps anything
			b.write("jobs", forms.Message{Group: "work", Payload: []byte("broken"), Headers: []byte(`{"a":`)})
			want = "broken\nlist\ntext\n"
		}
		b.drain()
		if n := b.counts("work").Acked; n != 2 {
			t.Errorf("%d rows are acked, want 2", n)
		}
		equal(t, "dead letters", b.rows("jobs WHERE name = 'dead' AND error = 'the headers are not a JSON object'", "payload"), want)
	})
}
