package host

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// everyForm is a queue in each form.
var everyForm = map[string]string{"lease": tables, "row lock": lockTables, "advisory": keyedTables}

// parameters adds to the query of a URL.
func parameters(t *testing.T, db testdb.Database, pairs ...string) testdb.Database {
	t.Helper()
	u, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = q.Encode()
	db.URL = u.String()
	return db
}

// put writes rows that a handler sleeps on for a moment, on another program's connection.
func put(t *testing.T, s store.Store, b *bench, n int) {
	t.Helper()
	var list []forms.Message
	for i := range n {
		key := fmt.Sprint(i)
		m := forms.Message{Group: "work", Payload: []byte("z")}
		if b.subscriptions()[0].table.Key != nil {
			m.PartitionKey = &key
		}
		list = append(list, m)
	}
	if err := forms.NewWriter(s, b.subscriptions()[0].table, b.options.Now).Write(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

// A server that has become read-only (SQLSTATE 25006) keeps no connection of the pool: sessions that were
// opened while it was would stay so when it is not any more (riverqueue/river#1225).
func TestReadOnlyPostgresIsLeft(t *testing.T) {
	server := testdb.StartPostgres(t)
	for form, declared := range everyForm {
		t.Run(form, func(t *testing.T) {
			db := testdb.Database{Name: "postgres", URL: server.NewDatabase(t)}
			b := open(t, db, declared+handler(t, "work", "jobs", "threads = 2"))
			writer := connect(t, parameters(t, db, "default_transaction_read_only", "off"))
			b.start()
			put(t, writer, b, 2)
			b.waitForAcks(2)

			name := db.URL[strings.LastIndex(db.URL, "/")+1:]
			name, _, _ = strings.Cut(name, "?")
			script(t, writer, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
			b.kill(writer)
			put(t, writer, b, 6)
			eventually(t, "a claim is refused", func() bool { return b.log.count("25006") > 0 })
			if n := b.counts("work").Acked; n != 2 {
				t.Errorf("%d rows are acked on a server that is read-only", n)
			}
			script(t, writer, "ALTER DATABASE "+name+" RESET default_transaction_read_only")
			b.waitForAcks(8)
			equal(t, "rows", b.rows("jobs", "payload"), "")
		})
	}
}

// A server becomes read-only under sessions with rows in work, and writes again: their settlements are made up
// for by then.
func TestReadOnlyPostgresUnderRowsInWork(t *testing.T) {
	server := testdb.StartPostgres(t)
	for form, declared := range everyForm {
		t.Run(form, func(t *testing.T) {
			db := testdb.Database{Name: "postgres", URL: server.NewDatabase(t)}
			b := open(t, db, declared+handler(t, "work", "jobs", "threads = 4"))
			writer := connect(t, parameters(t, db, "default_transaction_read_only", "off"))
			put(t, writer, b, 100)
			b.start()
			b.waitForAcks(10)
			script(t, writer, "ALTER SYSTEM SET default_transaction_read_only = on")
			script(t, writer, "SELECT pg_reload_conf()")
			eventually(t, "a statement is refused", func() bool { return b.log.count("25006") > 0 })
			script(t, writer, "ALTER SYSTEM RESET default_transaction_read_only")
			script(t, writer, "SELECT pg_reload_conf()")
			eventually(t, "every row is done", func() bool { return b.rows("jobs", "payload") == "" })
			if form == "lease" {
				// The lease outlasts the fault, and with it each delivery, which is settled once.
				b.waitForAcks(100)
				equal(t, "counts", b.counts("work"), Counts{Acked: 100})
			}
		})
	}
}

// Of two servers that the URL names, the one that writes is found, and found again when they change roles.
func TestTheWriterIsFound(t *testing.T) {
	for form, declared := range everyForm {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			servers := []*testdb.Server{testdb.StartPostgres(t), testdb.StartPostgres(t)}
			var hosts []string
			var writers []store.Store
			for _, s := range servers {
				db := testdb.Database{Name: "postgres", URL: s.URL}
				u, err := url.Parse(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				hosts = append(hosts, u.Host)
				w := connect(t, parameters(t, db, "default_transaction_read_only", "off"))
				create(t, w, parse(t, db, declared))
				writers = append(writers, w)
			}
			only := func(server int, state string) {
				script(t, writers[server], "ALTER SYSTEM SET default_transaction_read_only = "+state)
				script(t, writers[server], "SELECT pg_reload_conf()")
			}
			only(1, "on")
			both := testdb.Database{Name: "postgres", URL: "postgres://postgres@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable&target_session_attrs=read-write"}
			b := reopen(t, parse(t, both, declared+handler(t, "work", "jobs", "threads = 2")))
			b.start()
			serves := func(writing int) {
				// The rows are on both, as replication would have them: a SELECT alone shows no difference.
				put(t, writers[0], b, 5)
				put(t, writers[1], b, 5)
				eventually(t, fmt.Sprintf("server %d has no rows left", writing), func() bool {
					return countRows(t, writers[writing], "jobs") == "0"
				})
			}
			serves(0)
			for _, next := range []int{1, 0} {
				only(1-next, "on")
				only(next, "off")
				serves(next)
			}
		})
	}
}

func countRows(t *testing.T, s store.Store, table string) (n string) {
	t.Helper()
	err := s.Query(t.Context(), &dialect.Statement{SQL: "SELECT CAST(COUNT(*) AS CHAR(9)) FROM " + table}, 0, nil, func(v [][]byte) error {
		n = strings.TrimSpace(string(v[0]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What MariaDB and MySQL refuse while they are read-only (1290, 1836) is made up for when they are not.
func TestReadOnlyMariaDBIsLeft(t *testing.T) {
	server := testdb.StartMariaDB(t)
	for form, declared := range everyForm {
		t.Run(form, func(t *testing.T) {
			db := testdb.Database{Name: "mariadb", URL: server.NewDatabase(t)}
			root := connect(t, db)
			// Root may write to a server that is read-only.
			u, err := url.Parse(db.URL)
			if err != nil {
				t.Fatal(err)
			}
			user := strings.ReplaceAll(form, " ", "_")
			script(t, root, "CREATE USER "+user)
			script(t, root, "GRANT ALL ON "+strings.TrimPrefix(u.Path, "/")+".* TO "+user)
			u.User = url.User(user)
			db.URL = u.String()
			b := open(t, db, declared+handler(t, "work", "jobs", "threads = 4"))
			put(t, root, b, 100)
			b.start()
			b.waitForAcks(10)
			script(t, root, "SET GLOBAL read_only = 1")
			eventually(t, "claims are refused", func() bool { return b.log.count("claim") > 0 })
			script(t, root, "SET GLOBAL read_only = 0")
			eventually(t, "every row is done", func() bool { return b.rows("jobs", "payload") == "" })
			if form == "lease" {
				b.waitForAcks(100)
				equal(t, "counts", b.counts("work"), Counts{Acked: 100})
			}
		})
	}
}
