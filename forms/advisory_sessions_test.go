package forms_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// eachWithSessions runs a test on the databases whose sessions hold locks.
func eachWithSessions(t *testing.T, run func(t *testing.T, db testdb.Database, s store.Store)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "sqlite" {
			t.Skip("its locks are the process's")
		}
		run(t, db, open(t, db))
	})
}

// killHolders ends every session of the database that holds an advisory lock, as a crash does.
func killHolders(t *testing.T, s store.Store, table *dialect.Table) {
	t.Helper()
	if s.Dialect().Name() == "PostgreSQL" {
		query(t, s, "SELECT pg_terminate_backend(pid)::text FROM (SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' "+
			"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS holders")
		met(t, "the locks are gone", func() bool { return heldLocks(t, s) == "" })
		return
	}
	name := "CONCAT(LOWER(DATABASE()), '.jobs-', channel)"
	for _, id := range strings.Fields(query(t, s, "SELECT DISTINCT IS_USED_LOCK("+name+") FROM "+quoted(s, table)+" WHERE IS_USED_LOCK("+name+") IS NOT NULL")) {
		script(t, s, "KILL "+id)
	}
	met(t, "the locks are gone", func() bool {
		return query(t, s, "SELECT COUNT(*) FROM "+quoted(s, table)+" WHERE IS_USED_LOCK("+name+") IS NOT NULL") == "0"
	})
}

// TestAdvisoryCrash spends an attempt and gives the rows back at once; late settlements change nothing.
func TestAdvisoryCrash(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		crashed, other := advisory(t, s, table), advisory(t, second(t, db, 4), table)
		d := takes(t, crashed, 5, "a1 b1")
		if d[0].Attempt != 1 {
			t.Errorf("the first delivery reads attempt %d, want 1", d[0].Attempt)
		}
		takes(t, other, 5, "")
		killHolders(t, s, table)
		again := takes(t, other, 5, "a1 b1")
		if again[0].Attempt != 2 {
			t.Errorf("the second delivery reads attempt %d, want 2", again[0].Attempt)
		}
		for i, answer := range crashed.Extend(t.Context(), d) {
			if answer.State != forms.Lost {
				t.Errorf("delivery %d of a lost session is %v, want lost", i, answer.State)
			}
		}
		ends(t, crashed, forms.Lost, finish(d[0]), finish(d[1]))
		ends(t, other, forms.Done, finish(again[0]), finish(again[1]))
		put(t, s, table, "c", 1)
		c := takes(t, crashed, 5, "c1") // with a new session
		ends(t, crashed, forms.Done, finish(c[0]))
		closed, err := crashed.Close()
		if want := (forms.Closed{ConnectionsClosed: 1}); err != nil || closed != want {
			t.Errorf("closed %+v (%v), want %+v", closed, err, want)
		}
	})
}

// TestAdvisorySettlementOfLostSession loses the session between the claim and the settlement: it is
// answered, and the row is back at once.
func TestAdvisorySettlementOfLostSession(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		a := advisory(t, s, table)
		d := takes(t, a, 5, "a1 b1")
		killHolders(t, s, table)
		answers := a.Settle(t.Context(), []*forms.Settlement{finish(d[0]), finish(d[1])})
		want := "unknown lost"
		if _, many := s.Dialect().(dialect.AdvisoryMany); many {
			want = "unknown unknown" // they were on the way together
		}
		if got := states(answers); got != want {
			t.Errorf("settlements are %s, want %s", got, want)
		}
		takes(t, a, 5, "a1 b1")
	})
}

// unsure is a dialect whose releases can be told from its other statements, and unsureStore a store whose
// database does not confirm them once that is wanted: it denies them, or does not answer.
type unsure struct{ dialect.Advisory }

func (u *unsure) Unlock() *dialect.Statement {
	s := *u.Advisory.Unlock()
	s.SQL = strings.Replace(s.SQL, "SELECT ", "SELECT /*unlock*/ ", 1)
	return &s
}

type unsureStore struct {
	store.Store
	unsure bool
	hang   bool
}

func (u *unsureStore) Dialect() dialect.Dialect {
	return &unsure{u.Store.Dialect().(dialect.Advisory)}
}

func (u *unsureStore) Hold(ctx context.Context) (store.Session, error) {
	session, err := u.Store.Hold(ctx)
	return &unsureSession{session, u}, err
}

type unsureSession struct {
	store.Session
	store *unsureStore
}

func (u *unsureSession) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	if u.store.unsure && strings.Contains(s.SQL, "/*unlock*/") {
		if u.store.hang {
			<-ctx.Done()
			return ctx.Err()
		}
		return row([][]byte{[]byte("0")})
	}
	return u.Session.Query(ctx, s, n, args, row)
}

func (u *unsureStore) Failure(err error) store.Failure {
	if errors.Is(err, context.DeadlineExceeded) {
		return store.Unanswered
	}
	return u.Store.Failure(err)
}

// TestAdvisoryUnconfirmedUnlock closes the session whose release the database did not confirm, within
// five seconds: its other deliveries are lost and their rows are back. The settlement itself took effect.
func TestAdvisoryUnconfirmedUnlock(t *testing.T) {
	for _, hang := range []bool{false, true} {
		eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
			table := keyed(t, s, channels())
			for _, channel := range []string{"a", "b", "c"} {
				put(t, s, table, channel, 1)
			}
			broken := &unsureStore{Store: s, hang: hang}
			a, other := advisory(t, broken, table), advisory(t, second(t, db, 4), table)
			d := takes(t, a, 5, "a1 b1 c1")
			broken.unsure = true
			start := time.Now()
			ends(t, a, forms.Done, finish(d[0]))
			for _, answer := range a.Extend(t.Context(), d[1:]) {
				if answer.State != forms.Lost {
					t.Errorf("another delivery of the session is %v, want lost", answer.State)
				}
			}
			met(t, "the rows are back", func() bool {
				rows, _ := take(t, other, 5)
				return len(rows) == 2
			})
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("the session was closed after %v, want at most 5 s", took)
			}
			ends(t, a, forms.Lost, finish(d[1]), finish(d[2]))
			broken.unsure = false
			closed, err := a.Close()
			if want := (forms.Closed{ConnectionsClosed: 1}); err != nil || closed != want {
				t.Errorf("closed %+v (%v), want %+v", closed, err, want)
			}
		})
	}
}

// TestAdvisorySettlementRefused releases the lock of a row whose statement fails, and leaves the row as it
// was; its key rests for a while, so that the rows of other keys go on.
func TestAdvisorySettlementRefused(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		script(t, s, "CREATE TABLE children (job bigint, FOREIGN KEY (job) REFERENCES jobs (id))")
		script(t, s, "INSERT INTO children SELECT id FROM jobs WHERE channel = 'a'")
		clock := newClock()
		a := advisory(t, s, table, clock.use)
		d := takes(t, a, 5, "a1 b1")
		ends(t, a, forms.Failed, finish(d[0]))
		takes(t, advisory(t, second(t, db, 4), table, clock.use), 5, "a1")
		takes(t, a, 5, "")
		equal(t, "attempt", attempts(t, s, table), "3 2")
		ends(t, a, forms.Done, finish(d[1]))
	})
}

// TestAdvisoryLockedRow does not wait for a row that another transaction has locked, and a settlement of
// such a row gives up in time and releases its lock.
func TestAdvisoryLockedRow(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		a := advisory(t, s, table)
		d := takes(t, a, 1, "a1")
		outside, err := second(t, db, 1).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lock := dialect.Statement{SQL: "SELECT 1 FROM jobs FOR UPDATE"}
		if err := outside.Query(t.Context(), &lock, 0, nil, func([][]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		takes(t, a, 5, "")
		if took := time.Since(start); took > 900*time.Millisecond {
			t.Errorf("a claim waited %v for a locked row", took)
		}
		ends(t, a, forms.Failed, finish(d[0]))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the settlement of a locked row took %v", took)
		}
		noLocks(t, s)
		if err := outside.Rollback(); err != nil {
			t.Fatal(err)
		}
		takes(t, a, 5, "b1")
	})
}
