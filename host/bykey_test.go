package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// handledOrder is the rows of each key in the order in which the guest said that it has them.
func (b *bench) handledOrder(keyOf func(row int) string) map[string][]int {
	b.t.Helper()
	order := map[string][]int{}
	for line := range strings.Lines(b.log.String()) {
		if !strings.Contains(line, "level=INFO") || !strings.Contains(line, "row=") {
			continue
		}
		_, rest, _ := strings.Cut(line, "row=")
		digits, _, _ := strings.Cut(rest, " ")
		row, err := strconv.Atoi(digits)
		if err != nil {
			b.t.Fatalf("%s: %v", line, err)
		}
		order[keyOf(row)] = append(order[keyOf(row)], row)
	}
	return order
}

// The rows of one key go to one thread, in claim order, while other keys go on beside it.
func TestByKeyKeepsTheOrderOfAKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Run("lease", func(t *testing.T) { keepsTheOrderOfAKey(t, db, tables) })
		t.Run("advisory", func(t *testing.T) { keepsTheOrderOfAKey(t, another(t, db), inForm(`advisory_lock = "jobs-{id}"`)) })
		if db.Name != "sqlite" {
			t.Run("row lock", func(t *testing.T) { keepsTheOrderOfAKey(t, another(t, db), inForm("")) })
		}
	})
}

// inForm is the tables with the jobs in another form.
func inForm(key string) string {
	return strings.Replace(tables, "locked_until = \"locked_until\"\n", key+"\n", 1)
}

func another(t *testing.T, db testdb.Database) testdb.Database {
	t.Helper()
	return testdb.Database{Name: db.Name, URL: fresh(t, db)}
}

func keepsTheOrderOfAKey(t *testing.T, db testdb.Database, toml string) {
	b := open(t, db, toml+handler(t, "work", "jobs", "by_key = true\nthreads = 4"), untilEmpty)
	const keys, perKey = 8, 50
	messages := make([]forms.Message, keys*perKey)
	for i := range messages {
		key := fmt.Sprint("k", i%keys)
		messages[i] = forms.Message{Group: "work", Payload: []byte("i"), PartitionKey: &key}
	}
	messages = append(messages, forms.Message{Group: "work", Payload: []byte("i")}) // of no key
	b.write("jobs", messages...)
	b.drain()
	equal(t, "counts", b.counts("work"), Counts{Acked: keys*perKey + 1})
	order := b.handledOrder(func(row int) string {
		if row > keys*perKey {
			return "none"
		}
		return strconv.Itoa(row % keys)
	})
	for key, rows := range order {
		if key != "none" && len(rows) != perKey {
			t.Fatalf("key %s: %d rows were handled", key, len(rows))
		}
		for i := 1; i < len(rows); i++ {
			if rows[i] < rows[i-1] {
				t.Fatalf("key %s: row %d came after row %d", key, rows[i], rows[i-1])
			}
		}
	}
}

// A key whose thread is busy does not keep the other threads from other keys behind it.
func TestByKeyFindsOtherKeysBehindABusyOne(t *testing.T) {
	b := open(t, onSQLite(t), tables+handler(t, "work", "jobs", "by_key = true\nthreads = 2\ntimeout = \"10m\""))
	busy, other := "busy", "other"
	for laneOf(other, 2) == laneOf(busy, 2) {
		other += "x"
	}
	messages := []forms.Message{{Group: "work", Payload: []byte("loop"), PartitionKey: &busy}}
	for range 2 {
		messages = append(messages, forms.Message{Group: "work", Payload: []byte("ok"), PartitionKey: &busy})
	}
	b.write("jobs", append(messages, forms.Message{Group: "work", Payload: []byte("ok"), PartitionKey: &other})...)
	stop := make(chan struct{})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- b.Run(ctx, stop) }()
	eventually(t, "the other key's row is handled", func() bool { return b.counts("work").Acked == 1 })
	cancel()
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	equal(t, "rows left", b.rows("jobs", "payload", "customer"), "loop|busy\nok|busy\nok|busy\n")
}
