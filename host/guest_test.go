package host

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// What a guest reads of its row, end to end: through the writer, the database, the claim and the contract.
func TestWhatTheGuestReads(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "dead_letter = \"dead\"\nmax_attempts = 5\ntimeout = \"9s\"\n[handlers.work.config]\nhello = \"wörld \\\"$$\\\"\""), untilEmpty)
		key := `k"ey`
		priority := int64(3)
		b.write("jobs",
			forms.Message{Group: "work", Payload: []byte("payload é"), Headers: []byte(`{"trace":"t\u00e4g","n":1}`)},
			forms.Message{Group: "work", Payload: []byte("header"), Headers: []byte(`{"trace":"t\u00e4g","n":1}`)},
			forms.Message{Group: "work", Payload: []byte("config")},
			forms.Message{Group: "work", Payload: []byte("attempt")},
			forms.Message{Group: "work", Payload: []byte("meta"), Headers: []byte(`{"trace":"t\u00e4g","n":1}`), PartitionKey: &key, Priority: &priority})
		b.script("UPDATE jobs SET attempt = 4 WHERE id = 4")
		b.drain()
		rows := b.rows("jobs WHERE id < 5", "payload", "error")
		if db.Name == "postgres" {
			rows = strings.ReplaceAll(rows, `\303\251`, "é")
		}
		equal(t, "rows", rows, "attempt|4\nconfig|wörld \"$\"\nheader|täg\npayload é|payload é\n")

		var meta struct {
			Subscription, Table, Group string
			ID                         int64
			Attempt                    int
			MaxAttempts                int     `json:"max_attempts"`
			PartitionKey               *string `json:"partition_key"`
			Headers                    map[string]any
			DeadlineMS                 int64 `json:"deadline_ms"`
		}
		text := strings.TrimSpace(b.rows("jobs WHERE id = 5", "error"))
		if err := json.Unmarshal([]byte(text), &meta); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if meta.DeadlineMS <= 0 || meta.DeadlineMS > 9000 {
			t.Errorf("deadline_ms is %d", meta.DeadlineMS)
		}
		meta.DeadlineMS = 0
		want := meta
		want.Subscription, want.Table, want.Group, want.ID, want.Attempt, want.MaxAttempts, want.PartitionKey =
			"work", "jobs", "work", 5, 1, 5, &key
		want.Headers = map[string]any{"trace": "täg", "n": float64(1)}
		equal(t, "meta", meta, want)
	})
}

// Every delivery reads one attempt more than the last, and a snooze spends none.
func TestAttemptsAsTheGuestReadsThem(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", `dead_letter = "dead"`))
		b.enqueue("jobs", "work", "S hour")
		b.start()
		for n := int64(1); n <= 3; n++ {
			eventually(t, "the row is snoozed", func() bool { return b.counts("work").Snoozed == n })
			equal(t, "attempt", b.rows("jobs", "attempt"), "1\n")
			b.script("UPDATE jobs SET retry_after = '" + utc(time.Now().Add(-time.Minute)) + "'")
		}
	})
}

// A table that counts no attempts is read as attempt 0, without headers or a group.
func TestAPlainTable(t *testing.T) {
	const dead = `
[tables.dead_plain]
id = "id"
locked_until = "locked_until"
payload = "payload"
`
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+dead+handler(t, "work", "plain", `dead_letter = "dead_plain"`), untilEmpty)
		b.enqueue("plain", "", "a", "h", "ok", "trap", "")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, DeadLettered: 2, Delayed: 1})
		equal(t, "dead letters", b.rows("dead_plain", "payload"), "a\nh\n")
	})
}
