package mysql_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/mysql"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := mysql.Open(t.Context(), mysql.New(), testdb.MariaDB(t), store.Options{MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Script(t.Context(), "CREATE TABLE items (id int PRIMARY KEY, word varchar(200), raw varbinary(300))"); err != nil {
		t.Fatal(err)
	}
	return s
}

func hold(t *testing.T, s store.Store) store.Session {
	t.Helper()
	session, err := s.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func step(sql string, args ...any) store.Step {
	return store.Step{Statement: &dialect.Statement{SQL: sql}, Args: args}
}

func asking(answer *[]string, sql string, args ...any) store.Step {
	s := step(sql, args...)
	s.Row = func(v [][]byte) error {
		words := make([]string, len(v))
		for i := range v {
			words[i] = string(v[i])
		}
		*answer = append(*answer, strings.Join(words, "|"))
		return nil
	}
	return s
}

func items(t *testing.T, s store.Store) string {
	t.Helper()
	var answer []string
	ask := asking(&answer, "SELECT id FROM items ORDER BY id")
	if err := s.Query(context.WithoutCancel(t.Context()), ask.Statement, 0, nil, ask.Row); err != nil {
		t.Fatal(err)
	}
	return strings.Join(answer, " ")
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// Values of every kind stay values in a text of several statements, whatever a backslash means to the session.
func TestHostileValuesOfATrip(t *testing.T) {
	words := []string{"'", `"`, `\`, `\'`, `'; COMMIT; DROP TABLE items; --`, "?", "'?", "\x00", "\x1a", "\n\r\t", "`", "END", "/*!*/", "ü🦀"}
	for _, mode := range []string{"", "NO_BACKSLASH_ESCAPES"} {
		t.Run(mode, func(t *testing.T) {
			s := open(t)
			session := hold(t, s)
			defer session.Close()
			set := dialect.Statement{SQL: "SET SESSION sql_mode = CONCAT(@@sql_mode, ?)"}
			if _, err := session.Exec(t.Context(), &set, 0, []any{"," + mode}); err != nil {
				t.Fatal(err)
			}
			all := make([]byte, 256)
			for b := range all {
				all[b] = byte(b)
			}
			for i, word := range words {
				var answer []string
				work, err := session.BeginWork(t.Context(), store.TxOptions{}, step("INSERT INTO items VALUES (?, ?, ?)", int64(i), word, all),
					asking(&answer, "SELECT word, raw FROM items WHERE id = ? AND word = ? AND raw = ?", int64(i), word, all))
				if err != nil {
					t.Fatalf("%q: %v", word, err)
				}
				if err := work.CommitWith(t.Context(), step("UPDATE items SET word = CONCAT(word, ?) WHERE id = ?", word, int64(i)),
					asking(&answer, "SELECT word FROM items WHERE id = ? AND word = ?", int64(i), word+word)); err != nil {
					t.Fatalf("%q: %v", word, err)
				}
				equal(t, "the row", strings.Join(answer, " and "), word+"|"+string(all)+" and "+word+word)
			}
		})
	}
}

// What fails in the middle of a trip ends it there, and nothing of it is kept.
func TestFailureInTheMiddleOfATrip(t *testing.T) {
	s := open(t)
	session := hold(t, s)
	defer session.Close()
	for _, steps := range [][]store.Step{
		{step("INSERT INTO items (id) VALUES (1)"), step("INSERT INTO items (id) VALUES (1)"), step("INSERT INTO items (id) VALUES (2)")},
		{asking(new([]string), "SELECT 1"), step("INSERT INTO items (id) VALUES (3)"), asking(new([]string), "SELECT 9223372036854775807 + 1"), step("INSERT INTO items (id) VALUES (4)")},
	} {
		work, err := session.BeginWork(t.Context(), store.TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := work.CommitWith(t.Context(), steps...); err == nil || s.Failure(err) != store.Refused {
			t.Errorf("the commit ended with %v", err)
		}
		if err := work.Rollback(); err != nil {
			t.Error(err)
		}
		equal(t, "rows", items(t, s), "")

		work, err = session.BeginWork(t.Context(), store.TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		committed, err := work.(store.Chainer).Chain(t.Context(), store.TxOptions{}, steps, step("INSERT INTO items (id) VALUES (5)"))
		if err == nil || committed {
			t.Errorf("the chain ended with %v, committed %v", err, committed)
		}
		if err := work.Rollback(); err != nil {
			t.Error(err)
		}
		equal(t, "rows", items(t, s), "")
	}
}

// A session that is killed in front of the commit has committed nothing and does not know; behind it, it says that it has.
func TestKilledInTheMiddleOfATrip(t *testing.T) {
	for name, behind := range map[string]bool{"in front of the commit": false, "behind it": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			session := hold(t, s)
			defer session.Close()
			var id []string
			work, err := session.BeginWork(t.Context(), store.TxOptions{}, asking(&id, "SELECT CONNECTION_ID()"))
			if err != nil {
				t.Fatal(err)
			}
			last := []store.Step{step("INSERT INTO items (id) VALUES (1)")}
			sleep := asking(new([]string), "SELECT SLEEP(60)")
			var first []store.Step
			if behind {
				first = append(first, sleep)
			} else {
				last = append(last, sleep)
			}
			killed := make(chan error, 1)
			go func() { killed <- killSleeper(t.Context(), s, id[0]) }()
			committed, err := work.(store.Chainer).Chain(t.Context(), store.TxOptions{}, last, first...)
			if err == nil || s.Failure(err) != store.Unanswered || committed != behind {
				t.Errorf("the chain ended with %v, committed %v", err, committed)
			}
			if err := <-killed; err != nil {
				t.Fatal(err)
			}
			want := ""
			if behind {
				want = "1"
			}
			equal(t, "rows", items(t, s), want)
		})
	}
}

// killSleeper kills the session once it sleeps.
func killSleeper(ctx context.Context, s store.Store, id string) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		asleep := false
		look := dialect.Statement{SQL: "SELECT 1 FROM information_schema.processlist WHERE state = 'User sleep' AND id = " + id}
		if err := s.Query(ctx, &look, 0, nil, func([][]byte) error { asleep = true; return nil }); err != nil {
			return err
		}
		if asleep {
			_, err := s.Exec(ctx, &dialect.Statement{SQL: "KILL " + id}, 0, nil)
			return err
		}
	}
	return errors.New("the session never slept")
}

// A connection takes one statement at a time, so that a guest's cannot become two.
func TestOneStatementAtATime(t *testing.T) {
	s := open(t)
	if err := s.Script(t.Context(), "INSERT INTO items (id) VALUES (1); INSERT INTO items (id) VALUES (2)"); err == nil {
		t.Error("two statements ran as one")
	}
	equal(t, "rows", items(t, s), "")
}
