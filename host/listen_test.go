package host

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func onPostgres(t *testing.T) testdb.Database {
	t.Helper()
	return testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
}

// listening is a service whose only handler polls once an hour and listens, running and idle.
func listening(t *testing.T, db testdb.Database) *bench {
	t.Helper()
	toml := tables + strings.Replace(handler(t, "work", "jobs", "listen = true"), `"20ms"`, `"1h"`, 1)
	b := open(t, db, toml)
	b.script(b.store.Dialect().(dialect.Notifies).Trigger(b.subscriptions()[0].table))
	b.start()
	eventually(t, "the handler listens and has looked for rows", func() bool {
		return b.log.count("msg=listening") > 0 && b.subscriptions()[0].emptyClaims.Load() > 1
	})
	return b
}

func (b *bench) insert(group string) {
	b.t.Helper()
	b.script(`INSERT INTO jobs (name, payload) VALUES ('` + group + `', 'ok')`)
}

func (b *bench) waitForAcks(n int64) {
	b.t.Helper()
	eventually(b.t, "the row is handled", func() bool { return b.counts("work").Acked >= n })
}

func TestARowOfAnotherProgramWakesAListener(t *testing.T) {
	b := listening(t, onPostgres(t))
	b.insert("work")
	b.waitForAcks(1)
}

// A group that is too long for a notification wakes everybody, and its insert succeeds (oban#791).
func TestALongGroupStillInsertsAndWakes(t *testing.T) {
	b := listening(t, onPostgres(t))
	b.insert(strings.Repeat("x", 9000))
	b.script(`ALTER TABLE jobs DISABLE TRIGGER ALL`)
	b.insert("work") // nobody tells of this one
	b.script(`ALTER TABLE jobs ENABLE TRIGGER ALL`)
	b.insert(strings.Repeat("y", 9000))
	b.waitForAcks(1)
}

// What was written while the connection was lost is found when it is back.
func TestAListenerReconnectsAndLooks(t *testing.T) {
	b := listening(t, onPostgres(t))
	b.script(`ALTER TABLE jobs DISABLE TRIGGER ALL`)
	b.insert("work")
	b.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	b.waitForAcks(1)
}

// A connection that has gone silent without a word is noticed (pg-boss#851).
func TestAHalfOpenConnectionIsNoticed(t *testing.T) {
	db := onPostgres(t)
	hole := newBlackHole(t, &db.URL)
	b := listening(t, db)
	hole.swallow.Store(true)
	eventually(t, "the silent connection is given up", func() bool { return b.log.count("notifications are lost") > 0 })
	hole.swallow.Store(false)
	eventually(t, "it listens again", func() bool { return b.log.count("msg=listening") > 1 })
	b.insert("work")
	b.waitForAcks(1)
}

func TestWritingThroughTheProgramAnnounces(t *testing.T) {
	db := onPostgres(t)
	b := listening(t, db)
	b.script(`ALTER TABLE jobs DISABLE TRIGGER ALL`)
	other := reopen(t, b.options.Config)
	other.enqueue("jobs", "work", "ok")
	b.waitForAcks(1)
}

func TestChannelsOfLongNamesFit(t *testing.T) {
	long := strings.Repeat("n", 60)
	db := onPostgres(t)
	b := &bench{t: t, Service: &Service{store: connect(t, db)}}
	b.script(`CREATE SCHEMA ` + long)
	table := &dialect.Table{Schema: long, Name: long, ID: []string{"id"}, Roles: map[dialect.Role]string{dialect.Payload: "payload"}}
	d := b.store.Dialect().(dialect.Notifies)
	b.script(d.Schema(table).Table)
	b.script(d.Trigger(table))
	if channel := d.Channel(table); len(channel) > 63 || channel == d.Channel(&dialect.Table{Schema: long, Name: long + "m"}) {
		t.Errorf("channel %q", channel)
	}
	b.script(`INSERT INTO ` + long + `.` + long + ` (payload) VALUES ('x')`)
}

// blackHole is a proxy that can stop passing on what the connections that listen send and get.
type blackHole struct{ swallow atomic.Bool }

// newBlackHole puts itself before the server of the URL.
func newBlackHole(t *testing.T, databaseURL *string) *blackHole {
	t.Helper()
	u, err := url.Parse(*databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	u.Host = front.Addr().String()
	*databaseURL = u.String()
	h := &blackHole{}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, back)
			mu.Unlock()
			l := &silenced{hole: h}
			running.Go(func() { l.pass(back, client, true) })
			running.Go(func() { l.pass(client, back, false) })
		}
	})
	t.Cleanup(func() {
		front.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return h
}

// silenced is a connection through the black hole.
type silenced struct {
	hole    *blackHole
	listens atomic.Bool
}

func (s *silenced) pass(to io.WriteCloser, from io.Reader, sent bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if sent && strings.Contains(string(buf[:n]), "LISTEN ") {
			s.listens.Store(true)
		}
		if n > 0 && !(s.hole.swallow.Load() && s.listens.Load()) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
