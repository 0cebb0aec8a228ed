package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// writingTables are a queue in a form, with its dead letter table.
func writingTables(form string) string {
	var text strings.Builder
	for _, name := range []string{"jobs", "dead_jobs"} {
		fmt.Fprintf(&text, "[tables.%s]\nid = \"id\"\ngroup = \"name\"\nattempt = \"attempt\"\nretry_after = \"retry_after\"\npayload = \"payload\"\nerror = \"error\"\n%s\n", name, form)
	}
	return text.String()
}

// writer is a handler of the guest that writes in its transaction.
func writer(t testing.TB, keys string) string {
	t.Helper()
	module := testwasm.WATFile(t, filepath.Join("testdata", "writes.wat"))
	return fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\ntransactional = true\nallow = { db = \"tx\" }\n"+
		"backoff = { initial = \"1h\", max = \"1h\" }\n%s\n", module, keys)
}

// eachTransactional runs a test in every form on every database that has it.
func eachTransactional(t *testing.T, run func(t *testing.T, db testdb.Database, tables string)) {
	t.Helper()
	for _, form := range []struct{ name, keys string }{{"lease", `locked_until = "locked_until"`}, {"row lock", ""}, {"advisory lock", `advisory_lock = "jobs-{id}"`}} {
		t.Run(form.name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				if db.Name == "sqlite" && form.name == "row lock" {
					t.Skip("SQLite has no row locks; its refusal is tested with the configuration")
				}
				run(t, db, writingTables(form.keys))
			})
		})
	}
}

// openWriting opens a service beside a table for what guests write.
func openWriting(t *testing.T, db testdb.Database, toml string, change ...func(*Options)) *bench {
	t.Helper()
	b := open(t, db, toml, change...)
	b.script("CREATE TABLE notes (note varchar(200) PRIMARY KEY)")
	return b
}

func (b *bench) notes() string {
	b.t.Helper()
	return b.query("SELECT note FROM notes ORDER BY note")
}

// idle checks that nothing is left open on the server, which sees the end of a connection later than its client.
func (b *bench) idle(db testdb.Database) {
	b.t.Helper()
	switch db.Name {
	case "postgres":
		b.soonNothing("open transactions", "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'")
		b.soonNothing("locks", "SELECT locktype FROM pg_locks WHERE pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
	case "mariadb":
		b.soonNothing("open transactions", "SELECT sql_text FROM performance_schema.events_transactions_current JOIN performance_schema.threads USING (thread_id) "+
			"LEFT JOIN performance_schema.events_statements_current USING (thread_id) WHERE state = 'ACTIVE' AND processlist_db = DATABASE() AND processlist_id <> CONNECTION_ID()")
	}
}

// soonNothing waits until an answer has no row.
func (b *bench) soonNothing(what, sql string) {
	b.t.Helper()
	eventually(b.t, "there are no "+what, func() bool { return b.query(sql) == "" })
}

// note is a payload: a face, and a statement that writes the note.
func note(face, text string) string { return face + "INSERT INTO notes VALUES ('" + text + "')" }

// What a guest writes is there if and only if it acked, and its row ends as it would have without.
func TestTransactionalOutcomes(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+writer(t, "threads = 2\nmax_attempts = 3\ndead_letter = \"dead\"\ntimeout = \"300ms\"\n"), untilEmpty)
		var payloads []string
		for _, face := range []string{"a", "d", "k", "S", "R", "r", "t", "l", "x", "7"} {
			payloads = append(payloads, note(face, "by "+face))
		}
		b.enqueue("jobs", "work", payloads...)
		b.drain()
		equal(t, "notes", b.notes(), "by a\n")
		equal(t, "rows", b.rows("jobs", "name", "attempt"), "work|2\nwork|2\nwork|1\ndead|1\nwork|2\ndead|3\nwork|2\nwork|2\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Dropped: 1, DeadLettered: 2, Snoozed: 1, Delayed: 5, Retried: 2})
		b.idle(db)
	})
}

// A dead letter's move to another table is in the transaction too.
func TestTransactionalMovesToATable(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+writer(t, "dead_letter = \"dead_jobs\"\n"), untilEmpty)
		b.enqueue("jobs", "work", note("k", "dead"), note("a", "ok"))
		b.drain()
		equal(t, "notes", b.notes(), "ok\n")
		equal(t, "moved", b.rows("dead_jobs", "name", "attempt"), "work|1\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, DeadLettered: 1})
	})
}

// A statement that fails leaves the row to on_failure.outcome, whatever the guest returns and whatever it
// wrote before and tries after.
func TestTransactionalAckAfterAFailedStatement(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+writer(t, "max_attempts = 1\ndead_letter = \"dead\"\n"), untilEmpty)
		insert := "INSERT INTO notes VALUES ('one')"
		b.enqueue("jobs", "work", "a"+insert+"|SELECT nonsense|"+insert)
		b.drain()
		equal(t, "notes", b.notes(), "")
		equal(t, "rows", b.rows("jobs", "name"), "dead\n")
		if why := b.rows("jobs", "error"); !strings.Contains(why, "acked after a statement in its transaction had failed") || !strings.Contains(why, "nonsense") {
			t.Errorf("the reason is %s", why)
		}
		b.idle(db)
	})
}

// Statements that would break the delivery are refused, and the delivery goes on as if they had not been tried.
func TestTransactionalRefusals(t *testing.T) {
	statements := map[string][]string{
		"": {"COMMIT", "ROLLBACK", "SAVEPOINT a", "BEGIN", "SET ROLE postgres", "INSERT INTO notes VALUES ('two'); COMMIT", ""},
		"postgres": {"SELECT pg_advisory_unlock_all()", "SELECT set_config('role', 'postgres', false)", "SET LOCAL ROLE postgres",
			"PREPARE TRANSACTION 'a'", "DO $$ BEGIN COMMIT; END $$", "RESET ALL", "DEALLOCATE ALL"},
		"mariadb": {"CREATE TABLE t (id int)", "DROP TABLE notes", "TRUNCATE notes", "SELECT GET_LOCK('a', 0)", "SELECT RELEASE_ALL_LOCKS()",
			"LOCK TABLES notes WRITE", "SELECT 1 /*! ; COMMIT */", "START TRANSACTION", "SET autocommit = 1"},
		"sqlite": {"ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'", "PRAGMA user_version = 1", "CREATE TABLE t (id int)"},
	}
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+writer(t, "dead_letter = \"dead\"\n"), untilEmpty)
		refused := append(statements[""], statements[db.Name]...)
		for i, sql := range refused {
			b.enqueue("jobs", "work", fmt.Sprintf("aINSERT INTO notes VALUES ('%02d')|%s", i, sql), fmt.Sprintf("k%s", sql))
		}
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: int64(len(refused)), DeadLettered: int64(len(refused))})
		var want strings.Builder
		for i := range refused {
			fmt.Fprintf(&want, "%02d\n", i)
		}
		equal(t, "notes", b.notes(), want.String())
		for why := range strings.Lines(b.rows("jobs", "error")) {
			if !strings.HasPrefix(why, `-4 {"message":"`) {
				t.Errorf("the guest was answered %s", why)
			}
		}
		b.idle(db)
	})
}

// What the commit would refuse is a failure of the handler like any other, and counts its attempts.
func TestTransactionalDeferredConstraint(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name != "postgres" {
			t.Skip("only Postgres puts constraints off until the commit for every kind of table")
		}
		b := openWriting(t, db, tables+writer(t, "max_attempts = 1\ndead_letter = \"dead\"\n"), untilEmpty)
		b.script("CREATE TABLE links (note varchar(200) REFERENCES notes DEFERRABLE INITIALLY DEFERRED)")
		b.enqueue("jobs", "work", "aINSERT INTO links VALUES ('none')", "aINSERT INTO links VALUES ('one')|"+note("", "one"))
		b.drain()
		equal(t, "links", b.query("SELECT note FROM links"), "one\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, DeadLettered: 1})
		if why := b.rows("jobs", "error"); !strings.Contains(why, "violates foreign key") {
			t.Errorf("the reason is %s", why)
		}
		b.idle(db)
	})
}

// What the database says of a statement reaches the guest, with its code.
func TestTransactionalErrors(t *testing.T) {
	want := map[string]string{
		"postgres": `"sqlstate":"23505"`,
		"mariadb":  `"sqlstate":"23000","number":1062`,
		"sqlite":   `"number":1555`,
	}
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+writer(t, "dead_letter = \"dead\"\n"), untilEmpty)
		b.script("INSERT INTO notes VALUES ('old')")
		b.enqueue("jobs", "work", note("k", "old"))
		b.drain()
		if why := b.rows("jobs", "error"); !strings.HasPrefix(why, "-4 ") || !strings.Contains(why, want[db.Name]) {
			t.Errorf("the guest was answered %s", why)
		}
	})
}

// Values go in and come back as the contract has them.
func TestTransactionalValues(t *testing.T) {
	for _, c := range []struct{ on, sql, want string }{
		{"postgres", `SELECT $1::bigint AS a, $2::numeric AS "b""", $3::text, $4::bytea, $5::boolean, $6::jsonb, $7::timestamptz, $8::text~` +
			`[9007199254740993, 12.50, "ü\u0000"]`, "-4 "},
		{"postgres", `SELECT $1::bigint AS a, $2::numeric AS "b""", $3::text AS c, $4::bytea AS d, $5::boolean AS e, $6::jsonb AS f, $7::timestamptz AS g, $8::text AS h~` +
			`[9007199254740993, 12.50, "ü", {"base64":"AP8="}, true, {"a": 1}, "2026-02-03T04:05:06.5Z", null]`,
			`{"columns":["a","b\"","c","d","e","f","g","h"],"rows":[[9007199254740993,12.50,"ü",{"base64":"AP8="},true,{"a": 1},"2026-02-03T04:05:06.5Z",null]],"affected":0}`},
		{"postgres", `SELECT 'NaN'::float8 AS a, 0.5::real AS b, '{1,2}'::int[] AS c, '2026-02-03'::date AS d, 'infinity'::timestamp AS e`,
			`{"columns":["a","b","c","d","e"],"rows":[["NaN",0.5,"{1,2}","2026-02-03","infinity"]],"affected":0}`},
		{"mariadb", `SELECT ? AS a, CAST(? AS DECIMAL(10,2)) AS b, ? AS c, ? AS d, CAST('2026-02-03 04:05:06.5' AS DATETIME(1)) AS e, ? AS f, b'101' AS g, 1e20 AS h, '?' AS i~` +
			`[9007199254740993, 12.50, "ü", {"base64":"AP8="}, null]`,
			`{"columns":["a","b","c","d","e","f","g","h","i"],"rows":[[9007199254740993,12.50,"ü",{"base64":"AP8="},"2026-02-03T04:05:06.5Z",null,{"base64":"BQ=="},1e+20,"?"]],"affected":0}`},
		{"mariadb", `SELECT '?'~["), (RELEASE_ALL_LOCKS()"]`, "-4 "},
		{"mariadb", `SELECT 18446744073709551615 AS a`, `{"columns":["a"],"rows":[[18446744073709551615]],"affected":0}`},
		{"sqlite", `SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e, ? AS f~[9007199254740993, 12.5, "ü", {"base64":"AP8="}, null, [1]]`,
			`{"columns":["a","b","c","d","e","f"],"rows":[[9007199254740993,12.5,"ü",{"base64":"AP8="},null,"[1]"]],"affected":0}`},
		{"postgres sqlite", "INSERT INTO notes VALUES ('a'), ('b') RETURNING note", `{"columns":["note"],"rows":[["a"],["b"]],"affected":2}`},
		{"mariadb", "INSERT INTO notes VALUES ('a'), ('b') RETURNING note", `{"columns":["note"],"rows":[["a"],["b"]],"affected":2}`},
		{"postgres mariadb sqlite", "INSERT INTO notes VALUES ('a'), ('b')", `{"columns":[],"rows":[],"affected":2}`},
		{"postgres sqlite", "WITH x AS (SELECT 'a' AS n) INSERT INTO notes SELECT n FROM x", `{"columns":[],"rows":[],"affected":1}`},
		{"postgres mariadb sqlite", "SELECT note FROM notes", `{"columns":["note"],"rows":[],"affected":0}`},
		{"postgres mariadb sqlite", `SELECT 1~{"a":1}`, "-2 "},
		{"postgres mariadb sqlite", `SELECT 1~[1`, "-2 "},
		{"postgres", "SELECT repeat('x', 5000)", "-6 "},
		{"mariadb", "SELECT REPEAT('x', 5000)", "-6 "},
		{"sqlite", "SELECT hex(zeroblob(2500))", "-6 "},
	} {
		t.Run(c.sql[:min(len(c.sql), 40)], func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				if !strings.Contains(c.on, db.Name) {
					t.Skip("the statement is another database's")
				}
				b := openWriting(t, db, writingTables(`locked_until = "locked_until"`)+writer(t, "dead_letter = \"dead\"\nlimits = { db_result = 4000 }\n"), untilEmpty)
				if strings.Contains(c.sql, "RETURNING") && b.realMySQL() {
					t.Skip("MySQL has no RETURNING")
				}
				b.enqueue("jobs", "work", "k"+c.sql)
				b.drain()
				got := strings.TrimSuffix(b.rows("jobs", "error"), "\n")
				if strings.HasPrefix(c.want, "-4") {
					got = got[:min(len(got), len(c.want))]
				}
				equal(t, "answer", got, c.want)
			})
		})
	}
}

// A deadline in the middle of a statement ends it on the server, and the row is settled as a timeout at once.
func TestTransactionalDeadlineInTheMiddle(t *testing.T) {
	slow := map[string]string{
		"postgres": "SELECT pg_sleep(60)", "mariadb": "SELECT SLEEP(60)",
		"sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
	}
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+writer(t, "timeout = \"300ms\"\n"), untilEmpty)
		start := time.Now()
		b.enqueue("jobs", "work", note("a", "lost")+"|"+slow[db.Name], note("a", "kept"))
		b.drain()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		equal(t, "notes", b.notes(), "kept\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Delayed: 1})
		equal(t, "rows", b.rows("jobs", "attempt"), "2\n")
		b.idle(db)
		if db.Name == "mariadb" {
			equal(t, "statements", b.query("SELECT info FROM information_schema.processlist WHERE info LIKE '%SLEEP%' AND id <> CONNECTION_ID()"), "")
		}
	})
}
