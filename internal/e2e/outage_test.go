package e2e

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// eachServer runs a subtest on a server of its own, for tests that stop it.
func eachServer(t *testing.T, run func(t *testing.T, server *testdb.Server, database testdb.Database)) {
	for _, kind := range []struct {
		name  string
		start func(testing.TB) *testdb.Server
	}{{"postgres", testdb.StartPostgres}, {"mariadb", testdb.StartMariaDB}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := kind.start(t)
			run(t, server, testdb.Database{Name: kind.name, URL: server.NewDatabase(t)})
		})
	}
}

// handledOnce checks that each of the rows has exactly one settlement that was answered, or one that
// may have taken effect without an answer.
func handledOnce(t *testing.T, rows int, p *process) {
	t.Helper()
	outcomes := settledOnce(t, final, p)
	unanswered := 0
	for id := 1; id <= rows; id++ {
		row := strconv.Itoa(id)
		if p.count(called(row)) == 0 {
			t.Errorf("row %s was never delivered", row)
		}
		if outcomes[row] == "acked" {
			continue
		}
		unanswered++
		if p.count(func(l *line) bool { return l.Row == row && l.State == "unknown" }) == 0 {
			t.Errorf("row %s is gone and nothing settled it", row)
		}
	}
	t.Logf("%d calls for %d rows; %d of them were settled without an answer", p.count(called("")), rows, unanswered)
}

// timgit/pg-boss#365: the death of the database killed the process. Here it is stopped once in its
// orderly way and once as a crash does, and the process goes on by itself.
func TestProcessOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, server *testdb.Server, database testdb.Database) {
		const rows = 400
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 4\nlease = \"1s\""})
		b.enqueue(repeat("020", rows)...)
		p := b.start("serve")
		failed, working := starting("rows could not be claimed"), starting("claims work again")
		for i, end := range []func() error{server.Stop, server.Kill} {
			atMost := rows - (i+1)*rows/4
			eventually(t, "enough rows are gone for the next outage", func() bool {
				n, err := b.countError(everyRow)
				return err == nil && n <= atMost
			})
			// An outage is reported once for each claim that fails, and its end once.
			failures, recoveries := p.count(failed), p.count(working)
			if err := end(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the process notices the outage", func() bool {
				return p.count(failed) > failures || p.ended()
			})
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the process claims again", func() bool {
				return p.count(working) > recoveries || p.ended()
			})
			if p.ended() {
				t.Fatal("the process ended with its database")
			}
		}
		b.empty()
		p.terminate()
		handledOnce(t, rows, p)
		healthy(t, p)
	})
}

// rails/solid_queue#748: a row stayed claimed for ever when its finish failed. The database is away when
// the handler ends, and until the lease has ended.
func TestSettlementWithoutADatabaseReturnsTheRow(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, server *testdb.Server, database testdb.Database) {
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 1\nlease = \"1s\""})
		b.enqueue("01000")
		p := b.start("serve")
		p.says("a call about the row", called("1"))
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		p.says("that the row is not settled", starting("not settled"))
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.empty()
		p.terminate()
		if n := p.count(called("1")); n != 2 {
			t.Errorf("the row was delivered %d times; its first settlement had no database", n)
		}
		handledOnce(t, 1, p)
		healthy(t, p)
	})
}

// A database that is back before the lease has ended costs no delivery.
func TestSettlementWaitsForADatabaseThatRestarts(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, server *testdb.Server, database testdb.Database) {
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 1\nlease = \"30s\""})
		b.enqueue("02000")
		p := b.start("serve")
		p.says("a call about the row", called("1"))
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.empty()
		p.terminate()
		if n := p.count(called("1")); n != 1 {
			t.Errorf("the row was delivered %d times", n)
		}
		if n := p.count(settled("1", "acked")); n != 1 {
			t.Errorf("the row was settled %d times", n)
		}
		healthy(t, p)
	})
}

// A process that is told to stop while its database is away ends all the same.
func TestTerminationWithoutADatabase(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, server *testdb.Server, database testdb.Database) {
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 1\nclaim = 10\nlease = \"2s\""})
		b.enqueue(repeat("0500", 10)...)
		p := b.start("serve")
		p.says("a call about row 1", called("1"))
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		p.signal(syscall.SIGTERM)
		if code := p.code(); code < 0 || code > 1 {
			t.Errorf("the exit code is %d", code)
		}
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := b.start("serve")
		b.empty()
		next.terminate()
		settledOnce(t, final, p, next)
		healthy(t, p, next)
	})
}

// riverqueue/river#1258, #1302: claims, extensions and settlements reach the database, and their answers
// do not come back. Whatever the program cannot know, no row is lost and none is finished twice.
func TestAnswersGetLost(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		if database.Name == "sqlite" {
			return // it has no connection that could break
		}
		t.Parallel()
		const rows, cuts = 600, 12
		direct := database
		proxy, through := newProxy(t, database.URL)
		database.URL = through
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 4\nlease = \"1s\"\npoll_interval = \"100ms\""})
		b.db = open(t, direct)
		b.enqueue(repeat("010", rows)...)
		p := b.start("serve")
		for i := range cuts {
			// Each cut comes a while after the process has shown that it works.
			before := p.count(settled("", ""))
			eventually(t, "rows are settled between the cuts", func() bool {
				return p.count(settled("", "")) >= before+20 || b.count(everyRow) == 0
			})
			proxy.cut(time.Duration(i) * 4 * time.Millisecond)
		}
		b.empty()
		p.terminate()
		handledOnce(t, rows, p)
		healthy(t, p)
	})
}

// timgit/pg-boss#851: a half-open socket. Connections that fall silent without an end are given up: all of
// them at some moment, or one in the middle of a statement.
func TestSilentConnectionsAreGivenUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, statement string }{{"all", ""}, {"settlement", "DELETE"}, {"claim", "FOR UPDATE"}, {"commit", "COMMIT"}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, database testdb.Database) {
				if database.Name == "sqlite" {
					return // it has no connection that could fall silent
				}
				t.Parallel()
				silentConnections(t, database, test.statement)
			})
		})
	}
}

func silentConnections(t *testing.T, database testdb.Database, statement string) {
	const rows = 200
	direct := database
	proxy, through := newProxy(t, database.URL)
	database.URL = through
	b := newInbox(t, database, options{module: slow(t), handler: "threads = 4\nlease = \"1s\""})
	b.db = open(t, direct)
	b.enqueue(repeat("010", rows)...)
	p := b.start("serve")
	eventually(t, "rows are settled", func() bool { return p.count(settled("", "")) >= 20 })
	if statement == "" {
		proxy.silence()
	} else {
		proxy.trigger.Store(statement)
	}
	b.empty()
	p.terminate()
	handledOnce(t, rows, p)
	healthy(t, p)
}

// rails/solid_queue#309: "database is locked". Another program writes to the file of SQLite for longer
// than a lease, and for longer than a statement waits.
func TestOutsideWriterOnSQLite(t *testing.T) {
	t.Parallel()
	for _, held := range []time.Duration{6 * time.Second, 13 * time.Second} {
		t.Run(held.String(), func(t *testing.T) {
			t.Parallel()
			const rows = 400
			b := newInbox(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)},
				options{module: slow(t), handler: "threads = 4\nlease = \"1s\""})
			b.enqueue(repeat("010", rows)...)
			p := b.start("serve")
			eventually(t, "rows are settled", func() bool { return p.count(settled("", "")) >= 20 })
			writer, err := b.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := writer.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(held) // what the other program does, not what is waited for
			if p.ended() {
				t.Fatal("the process has ended")
			}
			if _, err := writer.ExecContext(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
			if err := writer.Close(); err != nil {
				t.Fatal(err)
			}
			b.empty()
			p.terminate()
			handledOnce(t, rows, p)
			healthy(t, p)
		})
	}
}
