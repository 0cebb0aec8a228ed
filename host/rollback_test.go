package host

import (
	"fmt"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// refusal keeps the rows whose error says so from being deleted.
var refusal = map[string][]string{
	"postgres": {`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF OLD.error = 'stays' THEN RAISE EXCEPTION 'it stays'; END IF; RETURN OLD; END $$`,
		`CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()`},
	"mariadb": {`CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW
		IF OLD.error = 'stays' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it stays'; END IF`},
}

// One row whose settlement is refused rolls the rows back that share its claim. They come again one by
// one, so that it is refused alone, and the service does not spin on it.
func TestRowLockRefusedSettlementEndsAlone(t *testing.T) {
	for _, claim := range []int{1, 5} {
		t.Run(fmt.Sprintf("claim=%d", claim), func(t *testing.T) {
			eachLocked(t, func(t *testing.T, db testdb.Database) {
				b := open(t, db, lockTables+handler(t, "work", "jobs", fmt.Sprintf("claim = %d\nbackoff = { initial = \"1h\", max = \"1h\" }", claim)), untilEmpty)
				for _, sql := range refusal[db.Name] {
					b.script(sql)
				}
				b.enqueue("jobs", "work", many("ok", 12)...)
				b.script("UPDATE jobs SET error = 'stays' WHERE id = 3")
				b.drain()
				equal(t, "rows", b.rows("jobs", "id", "attempt"), "3|1\n")
				want := Counts{Acked: 11, Unsettled: 1}
				if claim > 1 {
					want.Unsettled += int64(claim)
				}
				equal(t, "counts", b.counts("work"), want)
				if n := b.log.count("not settled: the transaction was rolled back"); int64(n) != want.Unsettled {
					t.Errorf("%d lines tell of it, want %d", n, want.Unsettled)
				}
			})
		})
	}
}

// The level of the table is that of the deliveries' transactions.
func TestRowLockAtALevel(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		for _, level := range []string{"repeatable_read", "serializable"} {
			toml := "[tables." + level + "]\nid = \"id\"\npayload = \"payload\"\nisolation = \"" + level + "\"\n" +
				handler(t, level, level, "threads = 4")
			b := open(t, db, toml, untilEmpty)
			b.enqueue(level, "", many("ok", 100)...)
			b.drain()
			equal(t, level, b.counts(level).Acked, 100)
		}
	})
}

// A batch of messages is one claim and one transaction.
func TestRowLockBatch(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, lockTables+batches(t, "batch = 4\ndead_letter = \"dead\""), untilEmpty)
		b.enqueue("jobs", "work", "0", "3", "4", "0", "0", "0")
		b.drain()
		equal(t, "calls", b.calls(), "4 2")
		equal(t, "counts", b.counts("work"), Counts{Acked: 4, Dropped: 1, DeadLettered: 1})
		equal(t, "rows", b.rows("jobs", "payload", "name", "attempt"), "4|dead|1\n")
	})
}
