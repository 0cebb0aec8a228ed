package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// once has a table take each customer's row once, with the index that keeps it.
func once(t *testing.T, db testdb.Database, toml string) *config.Config {
	t.Helper()
	toml = strings.Replace(toml, "partition_key = \"customer\"\n", "partition_key = \"customer\"\non_conflict = [\"customer\"]\n", 1)
	cfg := parse(t, db, toml)
	s := connect(t, db)
	create(t, s, cfg)
	script(t, s, s.Dialect().Schema(cfg.Table("jobs").Declared()).OnceIndex)
	return cfg
}

// A row that is there already is left out: of what is enqueued, and of what guests publish, in transactions too.
func TestRowsAreWrittenOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		b := reopen(t, once(t, db, tables+handler(t, "work", "jobs", "")))
		ada, bob := "ada", "bob"
		m := func(payload string, key *string) forms.Message {
			return forms.Message{Group: "work", Payload: []byte(payload), PartitionKey: key}
		}
		b.write("jobs", m("first", &ada), m("second", &ada), m("third", &bob), m("fourth", nil), m("fifth", nil))
		b.write("jobs", m("sixth", &bob))
		equal(t, "rows", b.rows("jobs", "payload", "customer"), "fifth|-\nfirst|ada\nfourth|-\nthird|bob\n")
	})
}

func TestGuestsPublishOnce(t *testing.T) {
	for _, transactional := range []string{"", "transactional = true\n"} {
		t.Run(transactional, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				toml := strings.Replace(tables, "[tables.plain]\n", "[tables.plain]\npartition_key = \"customer\"\non_conflict = \"customer\"\n", 1) +
					publishing(t, "allow.publish = [\"plain\"]\n"+transactional)
				cfg := parse(t, db, toml)
				s := connect(t, db)
				create(t, s, cfg)
				script(t, s, s.Dialect().Schema(cfg.Table("plain").Declared()).OnceIndex)
				b := reopen(t, cfg, untilEmpty)
				b.enqueue("jobs", "work", `{"payload":"one","partition_key":"ada"}`, `{"payload":"again","partition_key":"ada"}`, `{"payload":"other","partition_key":"bob"}`)
				b.drain()
				equal(t, "counts", b.counts("work"), Counts{Acked: 3})
				equal(t, "rows", b.query("SELECT customer FROM plain ORDER BY customer"), "ada\nbob\n")
			})
		})
	}
}

// Without a unique index of those columns the start is refused, and says which one to create.
func TestOnConflictNeedsItsIndex(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for name, c := range map[string]struct{ sql, want string }{
			"none":           {"", "CREATE UNIQUE INDEX"},
			"another":        {"CREATE UNIQUE INDEX wide ON jobs (customer, id)", "CREATE UNIQUE INDEX"},
			"one not unique": {"CREATE INDEX not_once ON jobs (customer)", "CREATE UNIQUE INDEX"},
		} {
			own := testdb.Database{Name: db.Name, URL: fresh(t, db)}
			toml := strings.Replace(tables, "partition_key = \"customer\"\n", "partition_key = \"customer\"\non_conflict = [\"customer\"]\n", 1)
			cfg := parse(t, own, toml+handler(t, "work", "jobs", ""))
			s := connect(t, own)
			create(t, s, cfg)
			if c.sql != "" {
				script(t, s, c.sql)
			}
			_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
			var problems config.Problems
			if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Key != "tables.jobs.on_conflict" || !strings.Contains(problems[0].Remedy, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		toml := strings.Replace(tables, "partition_key = \"customer\"\n", "partition_key = \"customer\"\non_conflict = [\"nobody\"]\n", 1)
		own := testdb.Database{Name: db.Name, URL: fresh(t, db)}
		cfg := parse(t, own, toml+handler(t, "work", "jobs", ""))
		create(t, connect(t, own), cfg)
		if _, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()}); err == nil || !strings.Contains(err.Error(), `table jobs has no column "nobody"`) {
			t.Errorf("a column that is not there: %v", err)
		}
	})
}
