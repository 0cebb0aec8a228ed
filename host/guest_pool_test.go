package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// poolWriter is a handler whose guest writes on its thread's own pool.
func poolWriter(t testing.TB, keys string) string {
	t.Helper()
	module := testwasm.WATFile(t, filepath.Join("testdata", "writes.wat"))
	return fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\nallow = { db = \"pool\" }\n"+
		"backoff = { initial = \"1h\", max = \"1h\" }\n%s\n", module, keys)
}

// eachPooled runs a test in the forms whose threads differ, on every database.
func eachPooled(t *testing.T, run func(t *testing.T, db testdb.Database, tables string)) {
	t.Helper()
	for _, form := range []struct{ name, keys string }{{"lease", `locked_until = "locked_until"`}, {"row lock", ""}} {
		t.Run(form.name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				if db.Name == "sqlite" && form.name == "row lock" {
					return // SQLite has no row locks
				}
				run(t, db, writingTables(form.keys))
			})
		})
	}
}

// A statement on the pool commits on its own: what it wrote stays, whatever becomes of the delivery.
func TestPoolStatementsCommitOnTheirOwn(t *testing.T) {
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+poolWriter(t, "threads = 2\ndead_letter = \"dead\"\n"), untilEmpty)
		var payloads []string
		for _, face := range []string{"a", "d", "k", "t", "x", "7"} {
			payloads = append(payloads, face+"^INSERT INTO notes VALUES ('by "+face+"')")
		}
		b.enqueue("jobs", "work", payloads...)
		b.drain()
		equal(t, "notes", b.notes(), "by 7\nby a\nby d\nby k\nby t\nby x\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Dropped: 1, DeadLettered: 1, Delayed: 3})
		b.idle(db)
	})
}

// leftovers are what a delivery may leave in its session, and what the next one finds instead.
var leftovers = map[string][]struct{ leave, look, want string }{
	"postgres": {
		{"^BEGIN|^INSERT INTO notes VALUES ('left')", "^SELECT count(*) FROM notes", `[[0]]`},
		{"^BEGIN|^SELECT nonsense", "^SELECT 1", `[[1]]`},
		{"^START TRANSACTION|^SAVEPOINT a|^DECLARE c CURSOR WITH HOLD FOR SELECT 1|^COMMIT", "^SELECT count(*) FROM pg_cursors WHERE name = 'c'", `[[0]]`},
		{"^SET work_mem = '1MB'", "^SHOW work_mem", `[["4MB"]]`},
		{"^SELECT set_config('statement_timeout', '1', false)", "^SHOW statement_timeout", `[["0"]]`},
		{"^SET ROLE pg_monitor", "^SELECT current_user = session_user", `[[true]]`},
		{"^SELECT pg_advisory_lock(7)", "^SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())", `[[0]]`},
		{"^CREATE TEMP TABLE t (id int)", "^SELECT to_regclass('pg_temp.t')::text", `[[null]]`},
		{"^SET TimeZone = 'Asia/Tokyo'", "^SHOW TimeZone", `[["UTC"]]`},
	},
	"mariadb": {
		{"^BEGIN|^INSERT INTO notes VALUES ('left')", "^SELECT count(*) FROM notes", `[[0]]`},
		{"^SET autocommit = 0|^INSERT INTO notes VALUES ('left')", "^SELECT count(*) FROM notes", `[[0]]`},
		{"^SET SESSION sql_mode = ''", "^SELECT @@sql_mode = ''", `[[0]]`},
		{"^SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "^SELECT 1", `[[1]]`},
		{"^SELECT GET_LOCK('left', 0)", "^SELECT IS_FREE_LOCK('left')", `[[1]]`},
		{"^CREATE TEMPORARY TABLE t (id int)", "^SHOW TABLES LIKE 't'", `[]`},
		{"^LOCK TABLES notes WRITE", "^SELECT count(*) FROM dead_jobs", `[[0]]`},
		{"^CREATE PROCEDURE leave_it() SET @left = 1|^CALL leave_it()|^DROP PROCEDURE leave_it", "^SELECT 1", `[[1]]`},
	},
}

// A transaction, a setting, a lock or a table that a delivery leaves behind is gone before the next one.
func TestPoolSessionsAreClearedBetweenDeliveries(t *testing.T) {
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+poolWriter(t, "dead_letter = \"dead\"\n"), untilEmpty)
		for _, l := range leftovers[db.Name] {
			b.enqueue("jobs", "work", "a"+l.leave, "k"+l.look)
		}
		b.drain()
		answers := strings.Split(strings.TrimSuffix(b.query("SELECT error FROM jobs ORDER BY id"), "\n"), "\n")
		for i, l := range leftovers[db.Name] {
			if !strings.Contains(answers[i], `"rows":`+l.want+`,`) {
				t.Errorf("after %s, %s answers %s and not %s", l.leave, l.look, answers[i], l.want)
			}
		}
		b.idle(db)
	})
}

// Within a delivery the session stays: a transaction goes over several calls.
func TestPoolTransactionOfADelivery(t *testing.T) {
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name == "sqlite" {
			return // a transaction there would keep everybody else from writing; it is refused
		}
		b := openWriting(t, db, tables+poolWriter(t, ""), untilEmpty)
		b.enqueue("jobs", "work",
			"a^BEGIN|^INSERT INTO notes VALUES ('no')|^ROLLBACK|^BEGIN|^INSERT INTO notes VALUES ('one')|^INSERT INTO notes VALUES ('two')|^COMMIT")
		b.drain()
		equal(t, "notes", b.notes(), "one\ntwo\n")
	})
}

// Statements that would get out of the session, or outlive it, are refused before they run.
func TestPoolRefusals(t *testing.T) {
	statements := map[string][]string{
		"":         {"", "SELECT 1; SELECT 2", "INSERT INTO notes VALUES ('two'); COMMIT", "NONSENSE"},
		"postgres": {"COPY notes TO STDOUT", "COPY notes FROM STDIN", "PREPARE TRANSACTION 'a'", "LISTEN a", "VACUUM notes"},
		"mariadb": {"XA START 'a'", "LOAD DATA LOCAL INFILE 'x' INTO TABLE notes", "PREPARE a FROM 'SELECT 1'", "SELECT @left", "HANDLER notes OPEN",
			"SELECT 1 /*! ; DROP TABLE notes */", "USE mysql"},
		"sqlite": {"ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'", "PRAGMA user_version = 1", "BEGIN", "CREATE TABLE t (id int)", "DETACH main"},
	}
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+poolWriter(t, "dead_letter = \"dead\"\n"), untilEmpty)
		refused := append(statements[""], statements[db.Name]...)
		for _, sql := range refused {
			b.enqueue("jobs", "work", "k^"+sql)
		}
		b.drain()
		equal(t, "notes", b.notes(), "")
		for why := range strings.Lines(b.query("SELECT error FROM jobs")) {
			if !strings.HasPrefix(why, `-4 {"message":"a handler's pool runs statements`) && !strings.HasPrefix(why, `-4 {"message":"one statement`) &&
				!strings.Contains(why, "may not be used") && !strings.Contains(why, "is empty") {
				t.Errorf("the guest was answered %s", why)
			}
		}
		equal(t, "counts", b.counts("work"), Counts{DeadLettered: int64(len(refused))})
	})
}

// What the guest is allowed is what allow.db names.
func TestPoolAndTransactionAreAllowedApart(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		tables := writingTables(`locked_until = "locked_until"`)
		for allowed, want := range map[string][2]string{`"tx"`: {"-3 ", "1"}, `"pool"`: {"1", "-3 "}, `["pool", "tx"]`: {"1", "1"}} {
			keys := strings.Replace(poolWriter(t, "dead_letter = \"dead\"\n"), `"pool"`, allowed, 1)
			if strings.Contains(allowed, "tx") {
				keys += "transactional = true\n"
			}
			own := testdb.Database{Name: db.Name, URL: fresh(t, db)}
			b := openWriting(t, own, tables+keys, untilEmpty)
			b.enqueue("jobs", "work", "k^SELECT 1", "kSELECT 1")
			b.drain()
			for i, got := range strings.Split(b.query("SELECT error FROM jobs ORDER BY id"), "\n")[:2] {
				if w := want[i]; got != w && !strings.Contains(got, "[["+w+"]]") {
					t.Errorf("%s: statement %d is answered %s", allowed, i, got)
				}
			}
		}
	})
}

// slow are statements that take for ever.
var slow = map[string]string{
	"postgres": "SELECT pg_sleep(60)", "mariadb": "SELECT SLEEP(60)",
	"sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
}

// A deadline in the middle of a statement ends it on the server with its transaction and its locks, the row is
// settled as a timeout, and the pool serves the next delivery.
func TestPoolDeadlineInTheMiddle(t *testing.T) {
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+poolWriter(t, "timeout = \"300ms\"\n"), untilEmpty)
		begin := "^BEGIN|"
		if db.Name == "sqlite" {
			begin = ""
		}
		start := time.Now()
		b.enqueue("jobs", "work", "a"+begin+"^UPDATE notes SET note = 'lost'|^"+slow[db.Name], "a^INSERT INTO notes VALUES ('kept')")
		b.drain()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		equal(t, "notes", b.notes(), "kept\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Delayed: 1})
		b.idle(db)
		if db.Name == "mariadb" {
			equal(t, "statements", b.query("SELECT info FROM information_schema.processlist WHERE info LIKE '%SLEEP%' AND id <> CONNECTION_ID()"), "")
		}
	})
}

// openGuests is the store of a thread's own pool, with the pool.
func openGuests(t *testing.T, db testdb.Database, connections int) *guestPool {
	t.Helper()
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: connections, Guests: true})
	if err != nil {
		t.Fatal(err)
	}
	p := newGuestPool(s, &config.Handler{Connections: connections, Limits: config.Limits{DBResult: 1 << 20}}, (&lines{}).logger())
	t.Cleanup(func() {
		p.end()
		p.close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// overshoot is by how much a statement outlives a deadline: the least of several tries, for the machine has other
// work.
func overshoot(t *testing.T, run func(ctx context.Context) error) time.Duration {
	t.Helper()
	least := time.Hour
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		deadline, _ := ctx.Deadline()
		err := run(ctx)
		least = min(least, time.Since(deadline))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the statement is answered %v", err)
		}
	}
	return least
}

// A call is not held up beyond its deadline: by a slow statement, a lock, or the wait for a connection.
func TestPoolKeepsToTheDeadline(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		other := connect(t, db)
		script(t, other, "CREATE TABLE notes (note varchar(200) PRIMARY KEY)")
		script(t, other, "INSERT INTO notes VALUES ('a')")
		within := func(t *testing.T, took time.Duration) {
			t.Helper()
			if took > 10*time.Millisecond {
				t.Errorf("it takes %v after the deadline", took)
			}
		}
		t.Run("statement", func(t *testing.T) {
			p := openGuests(t, db, 1)
			within(t, overshoot(t, func(ctx context.Context) error {
				defer p.end()
				_, err := p.run(ctx, slow[db.Name], nil)
				return err
			}))
		})
		t.Run("lock", func(t *testing.T) {
			p := openGuests(t, db, 1)
			tx, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			update := "UPDATE notes SET note = 'b'"
			if _, err := tx.Exec(t.Context(), &dialect.Statement{SQL: update}, 0, nil); err != nil {
				t.Fatal(err)
			}
			within(t, overshoot(t, func(ctx context.Context) error {
				defer p.end()
				_, err := p.run(ctx, update, nil)
				return err
			}))
		})
		// In the delivery's transaction the call waits for the server's word that the statement has ended.
		inTransaction := func(sql string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				r, err := forms.NewRehearsal(other, forms.Options{Table: &dialect.Table{Name: "notes"}})
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.Run(ctx, nil, forms.Call{SQL: sql, Limit: 1 << 20})
				if err := r.End(t.Context(), false); err != nil {
					t.Error(err)
				}
				return err
			}
		}
		t.Run("statement in the transaction", func(t *testing.T) { within(t, overshoot(t, inTransaction(slow[db.Name]))) })
		if db.Name != "sqlite" { // there the first statement waits for the lock, before there is anything to write
			t.Run("lock in the transaction", func(t *testing.T) {
				holder := connect(t, db)
				tx, err := holder.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				update := "UPDATE notes SET note = 'c'"
				if _, err := tx.Exec(t.Context(), &dialect.Statement{SQL: update}, 0, nil); err != nil {
					t.Fatal(err)
				}
				within(t, overshoot(t, inTransaction(update)))
			})
		}
		t.Run("connection", func(t *testing.T) {
			p := openGuests(t, db, 1)
			p.permits <- struct{}{}
			defer func() { <-p.permits }()
			within(t, overshoot(t, func(ctx context.Context) error {
				_, err := p.run(ctx, "SELECT 1", nil)
				return err
			}))
		})
	})
}

// A session that the server ends fails its delivery, and costs no other.
func TestPoolSessionIsKilled(t *testing.T) {
	kill := map[string]string{"postgres": "SELECT pg_terminate_backend(pg_backend_pid())", "mariadb": "KILL CONNECTION_ID()"}
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name == "sqlite" {
			return // it has no server
		}
		sql := kill[db.Name]
		b := openWriting(t, db, tables+poolWriter(t, "dead_letter = \"dead\"\n"), untilEmpty)
		if db.Name == "mariadb" {
			b.script("CREATE PROCEDURE die() KILL CONNECTION_ID()")
			sql = "CALL die()"
		}
		b.enqueue("jobs", "work", "k^"+sql+"|^INSERT INTO notes VALUES ('lost')", "a^INSERT INTO notes VALUES ('kept')")
		b.drain()
		equal(t, "notes", b.notes(), "kept\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, DeadLettered: 1})
		if why := b.query("SELECT error FROM jobs"); !strings.HasPrefix(why, "-4 ") {
			t.Errorf("the guest was answered %s", why)
		}
	})
}

// handler_url gives the threads' pools a user of their own, whose rights are a boundary; no more connections are
// opened than were declared.
func TestHandlerURLIsABoundary(t *testing.T) {
	eachPooled(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name == "sqlite" {
			return // it has no users
		}
		admin := connect(t, db)
		script(t, admin, "CREATE TABLE notes (note varchar(200) PRIMARY KEY)")
		user := randomUser(t, db, admin)
		script(t, admin, "GRANT SELECT, INSERT ON notes TO "+user)
		u, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, "secret")
		toml := fmt.Sprintf("handler_url = %q\n", u) + tables + poolWriter(t, "threads = 3\nconnections = 2\ndead_letter = \"dead\"\n")
		b := open(t, db, toml, untilEmpty)
		if text := fmt.Sprint(b.Warnings()); strings.Contains(text, "allow.db") {
			t.Errorf("the start warns: %s", text)
		}
		for i := range 60 {
			b.enqueue("jobs", "work", fmt.Sprintf("a^INSERT INTO notes VALUES ('%02d')", i))
		}
		b.enqueue("jobs", "work", "k^DELETE FROM jobs", "k^DELETE FROM notes")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 60, DeadLettered: 2})
		denied := map[string]string{"postgres": `"sqlstate":"42501"`, "mariadb": `"number":1142`}[db.Name]
		for why := range strings.Lines(b.query("SELECT error FROM jobs")) {
			if !strings.Contains(why, denied) {
				t.Errorf("the guest was answered %s", why)
			}
		}
		open := map[string]string{"postgres": "SELECT count(*)::text FROM pg_stat_activity WHERE usename = '" + user + "'",
			"mariadb": "SELECT count(*) FROM information_schema.processlist WHERE user = '" + user + "'"}[db.Name]
		if n, err := strconv.Atoi(strings.TrimSpace(b.query(open))); err != nil || n > 6 {
			t.Errorf("%d connections are open: %v", n, err)
		}
	})
}

// A handler_url that lets nobody in stops the start, without its password.
func TestHandlerURLThatDoesNotWork(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		bad := strings.Replace(db.URL, "127.0.0.1", "nobody:hunter2@127.0.0.1", 1)
		bad = strings.Replace(strings.Replace(bad, "postgres@nobody", "nobody", 1), "root@nobody", "nobody", 1)
		if db.Name == "sqlite" {
			bad = "sqlite:" + filepath.Join(t.TempDir(), "no such folder", "x.db")
		}
		cfg := parse(t, db, fmt.Sprintf("handler_url = %q\n", bad)+writingTables(`locked_until = "locked_until"`)+poolWriter(t, "")+
			strings.Replace(poolWriter(t, ""), "handlers.work", "handlers.other", 1))
		create(t, connect(t, db), cfg)
		_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
		var problems config.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Key != "database.handler_url" {
			t.Fatalf("the start fails with %v", err)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error holds the password: %v", err)
		}
	})
}

// The statements of a guest in its delivery's transaction have the rights of transaction_role, and what the host
// writes there has its own.
func TestTransactionRole(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name != "postgres" {
			return // it has no roles that take rights away; the configuration refuses the key
		}
		user := randomUser(t, db, connect(t, db))
		b := openWriting(t, db, tables+writer(t, "dead_letter = \"dead\"\ntransaction_role = \""+user+"\"\n"), untilEmpty)
		if text := fmt.Sprint(b.Warnings()); !strings.Contains(text, "no boundary") {
			t.Errorf("the start does not warn: %s", text)
		}
		b.script("GRANT SELECT, INSERT ON notes TO " + user)
		b.enqueue("jobs", "work", note("a", "kept"), note("k", "no"), "aDELETE FROM notes", "kDELETE FROM jobs", "kSELECT current_user::text", note("a", "last"))
		b.drain()
		equal(t, "notes", b.notes(), "kept\nlast\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, DeadLettered: 3, Delayed: 1})
		equal(t, "rows", b.rows("jobs WHERE name = 'dead'", "error"),
			"-4 {\"message\":\"permission denied for table jobs\",\"sqlstate\":\"42501\"}\n{\"columns\":[],\"rows\":[],\"affected\":1}\n{\"columns\":[\"current_user\"],\"rows\":[[\""+user+"\"]],\"affected\":0}\n")
		b.idle(db)
	})
}

// A role that the service's user cannot become stops the start.
func TestTransactionRoleThatIsNotThere(t *testing.T) {
	db := testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	cfg := parse(t, db, writingTables("")+writer(t, "transaction_role = \"no such role\"\n"))
	create(t, connect(t, db), cfg)
	_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
	var problems config.Problems
	if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Key != "handlers.work.transaction_role" {
		t.Fatalf("the start fails with %v", err)
	}
}

// randomUser makes a user without rights, who goes with the test.
func randomUser(t *testing.T, db testdb.Database, admin store.Store) string {
	t.Helper()
	name := "guest_" + strings.ToLower(rand.Text()[:12])
	create, drop := "CREATE ROLE "+name+" LOGIN PASSWORD 'secret'", "DROP OWNED BY "+name+"; DROP ROLE "+name
	if db.Name == "mariadb" {
		create, drop = "CREATE USER "+name+" IDENTIFIED BY 'secret'", "DROP USER "+name
	}
	script(t, admin, create)
	t.Cleanup(func() {
		if err := admin.Script(context.Background(), drop); err != nil {
			t.Error(err)
		}
	})
	return name
}

// huge are statements with one value that is far larger than what any answer may be.
var huge = map[string]string{"postgres": "SELECT repeat('x', 200000000)", "sqlite": "SELECT hex(zeroblob(100000000))"}

// An answer that would fill the host's memory does not: its delivery fails, and the next one is handled.
func TestHugeAnswersStayOutside(t *testing.T) {
	for _, conn := range []string{"", "^"} {
		t.Run("conn "+conn, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				sql := huge[db.Name]
				if sql == "" {
					return // the server's max_allowed_packet bounds what a function makes
				}
				handler := writer(t, "dead_letter = \"dead\"\n")
				if conn != "" {
					handler = poolWriter(t, "dead_letter = \"dead\"\n")
				}
				b := openWriting(t, db, writingTables(`locked_until = "locked_until"`)+handler, untilEmpty)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				b.enqueue("jobs", "work", "a"+conn+sql+"|"+conn+"SELECT 1", "a"+conn+"INSERT INTO notes VALUES ('next')")
				b.drain()
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
					t.Errorf("%d MiB were allocated", took>>20)
				}
				equal(t, "notes", b.notes(), "next\n")
				b.idle(db)
			})
		})
	}
}
