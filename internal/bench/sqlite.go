package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// sqlite is the loops for a SQLite file. Their workers share one connection, as the host's do: SQLite takes one writer
// at a time.
type sqlite struct{ dsn string }

func openSQLite(_ context.Context, rawURL string) (database, error) {
	path, err := url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(rawURL, "sqlite:"), "//"))
	if err != nil {
		return nil, errors.New("the URL's path is badly percent-encoded")
	}
	parameters := url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}
	return &sqlite{"file:" + (&url.URL{Path: path}).EscapedPath() + "?" + parameters.Encode()}, nil
}

func (s *sqlite) open() (*sql.DB, error) {
	db, err := sql.Open("sqlite", s.dsn)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func (s *sqlite) close() error { return nil }

// cpu is that of this process.
func (s *sqlite) cpu() (time.Duration, bool) { return 0, false }

func (s *sqlite) counted(context.Context) (counts, error) { return counts{}, nil }

func (s *sqlite) fill(ctx context.Context, t *queue) (err error) {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := insert(ctx, db, t); err != nil {
		return err
	}
	// A long log would be written back in the middle of whichever drain comes next.
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func (s *sqlite) loops(f Form) []loop {
	one := func(name string, size int, prepare func(context.Context, *liteCrew) error) loop {
		return loop{name, size, func(ctx context.Context, _ *queue, _ int) (crew, error) {
			db, err := s.open()
			if err != nil {
				return nil, err
			}
			c := &liteCrew{db: db, size: size, keys: map[string]bool{}}
			if err := prepare(ctx, c); err != nil {
				return nil, errors.Join(err, db.Close())
			}
			return c, nil
		}}
	}
	if f == Advisory {
		return []loop{one("loop, a key a worker", 1, prepareAdvisory)}
	}
	return []loop{
		one("loop, one row", 1, prepareLease),
		one("loop, groups of 100", 100, prepareLease),
		one("loop, groups of 1000", 1000, prepareLease),
	}
}

// liteCrew is the workers of a loop, with their statements.
type liteCrew struct {
	db   *sql.DB
	size int
	turn func(*liteWorker, context.Context) (int, error)

	look, claim, settle *sql.Stmt // closed with the pool

	mu   sync.Mutex
	keys map[string]bool // held, in the advisory form
}

type liteWorker struct {
	*liteCrew
	jobs []job
	ids  []int64
}

func (c *liteCrew) close() { c.db.Close() }

func (c *liteCrew) worker(context.Context) (func(context.Context) (int, error), func(), error) {
	w := &liteWorker{liteCrew: c}
	return func(ctx context.Context) (int, error) { return c.turn(w, ctx) }, func() {}, nil
}

func prepareLease(ctx context.Context, c *liteCrew) (err error) {
	c.turn = (*liteWorker).lease
	c.claim, err = c.db.PrepareContext(ctx, "UPDATE "+tableName+" SET locked_until = ?, attempt = attempt + 1 WHERE id IN (SELECT id FROM "+tableName+
		" WHERE locked_until IS NULL OR locked_until <= ? ORDER BY id LIMIT ?) RETURNING id, payload")
	if err != nil {
		return err
	}
	c.settle, err = c.db.PrepareContext(ctx, "DELETE FROM "+tableName+" WHERE id IN (SELECT value FROM json_each(?)) AND locked_until = ?")
	if c.size == 1 && err == nil {
		c.settle, err = c.db.PrepareContext(ctx, "DELETE FROM "+tableName+" WHERE id = ? AND locked_until = ?")
	}
	return err
}

// lease claims rows, and settles those of a claim with one statement, while the expiry is still the claim's.
func (w *liteWorker) lease(ctx context.Context) (int, error) {
	now, token := expiry()
	rows, err := w.claim.QueryContext(ctx, token, now, w.size)
	if w.jobs, err = claimed(w.jobs, rows, err); err != nil || len(w.jobs) == 0 {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	which := any(w.jobs[0].id)
	if w.size > 1 {
		w.ids = w.ids[:0]
		for _, j := range w.jobs {
			w.ids = append(w.ids, j.id)
		}
		list, err := json.Marshal(w.ids)
		if err != nil {
			return 0, err
		}
		which = string(list)
	}
	n, err := changed(w.settle.ExecContext(ctx, which, token))
	if err != nil {
		return 0, err
	}
	return len(w.jobs), all("the settlement", n, len(w.jobs))
}

func prepareAdvisory(ctx context.Context, c *liteCrew) (err error) {
	c.turn = (*liteWorker).advisory
	if c.look, err = c.db.PrepareContext(ctx, "SELECT id, customer FROM "+tableName+" ORDER BY id LIMIT ?"); err != nil {
		return err
	}
	if c.claim, err = c.db.PrepareContext(ctx, "UPDATE "+tableName+" SET attempt = attempt + 1 WHERE id = ? RETURNING id, payload"); err != nil {
		return err
	}
	c.settle, err = c.db.PrepareContext(ctx, "DELETE FROM "+tableName+" WHERE id = ?")
	return err
}

// advisory holds one key in this process: lock, take, settle, unlock. A row may be finished between the look at it and
// its lock: then it looks again.
func (w *liteWorker) advisory(ctx context.Context) (int, error) {
	for {
		id, key, err := w.lock(ctx)
		if err != nil || key == "" {
			return 0, err
		}
		n, err := w.underLock(ctx, id)
		w.mu.Lock()
		delete(w.keys, key)
		w.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// lock locks the first key that is free among those of the first rows; there may be none.
func (c *liteCrew) lock(ctx context.Context) (id int64, key string, err error) {
	rows, err := c.look.QueryContext(ctx, candidates)
	if err != nil {
		return 0, "", err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&id, &key); err != nil {
			return 0, "", err
		}
		c.mu.Lock()
		held := c.keys[key]
		c.keys[key] = true
		c.mu.Unlock()
		if !held {
			return id, key, nil
		}
	}
	return 0, "", rows.Err()
}

func (w *liteWorker) underLock(ctx context.Context, id int64) (int, error) {
	rows, err := w.claim.QueryContext(ctx, id)
	if w.jobs, err = claimed(w.jobs, rows, err); err != nil || len(w.jobs) == 0 {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	n, err := changed(w.settle.ExecContext(ctx, id))
	if err != nil {
		return 0, err
	}
	return 1, all("the settlement", n, 1)
}
