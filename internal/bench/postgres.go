package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres is the loops over pgx, whose statements are prepared on first use.
type postgres struct {
	url    string
	admin  *pgx.Conn
	server int // the process whose children are the sessions, 0 where it is not on this machine
}

func openPostgres(ctx context.Context, url string) (database, error) {
	p := &postgres{url: url}
	var err error
	if p.admin, err = pgx.Connect(ctx, url); err != nil {
		return nil, err
	}
	if address, ok := p.admin.PgConn().Conn().RemoteAddr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		return p, nil
	}
	// A number that is that of something else here belongs to another machine.
	if session, err := readProcess(int(p.admin.PgConn().PID())); err == nil && session.name == "postgres" {
		p.server = session.parent
	}
	return p, nil
}

func (p *postgres) close() error { return p.admin.Close(context.Background()) }

func (p *postgres) cpu() (time.Duration, bool) {
	if p.server == 0 {
		return 0, false
	}
	return familyCPU(p.server)
}

func (p *postgres) fill(ctx context.Context, t *queue) error {
	columns := []string{"payload"}
	if t.form == Advisory {
		columns = append(columns, "customer")
	}
	n := 0
	rows := pgx.CopyFromFunc(func() ([]any, error) {
		if n == t.Rows {
			return nil, nil
		}
		row := []any{t.payload(n)}
		if t.form == Advisory {
			row = append(row, t.key(n))
		}
		n++
		return row, nil
	})
	if _, err := p.admin.CopyFrom(ctx, pgx.Identifier{tableName}, columns, rows); err != nil {
		return err
	}
	_, err := p.admin.Exec(ctx, "VACUUM (ANALYZE) "+tableName)
	return err
}

// counted waits for the end of the other sessions, at most a second: what they did is counted when they end.
func (p *postgres) counted(ctx context.Context) (c counts, err error) {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var others int
		err := p.admin.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'inbox-wasm%'").Scan(&others)
		if err != nil {
			return c, err
		}
		if others <= 1 { // the store's
			break
		}
	}
	err = p.admin.QueryRow(ctx, "SELECT (xact_commit + xact_rollback)::float8, (to_jsonb(s) ->> 'sessions')::float8 FROM pg_stat_database s WHERE datname = current_database()").
		Scan(&c.transactions, &c.sessions)
	return c, err
}

func (p *postgres) loops(f Form) []loop {
	one := func(name string, size int, turn func(*pgxWorker, context.Context) (int, error)) loop {
		return loop{name, size, func(ctx context.Context, _ *queue, workers int) (crew, error) {
			config, err := pgxpool.ParseConfig(p.url)
			if err != nil {
				return nil, err
			}
			config.MaxConns = int32(connections(workers))
			config.ConnConfig.RuntimeParams["application_name"] = "inbox-wasm"
			pool, err := pgxpool.NewWithConfig(ctx, config)
			if err != nil {
				return nil, err
			}
			return &pgxCrew{pool, size, turn}, nil
		}}
	}
	switch f {
	case Lease:
		return []loop{
			one("loop, one row", 1, (*pgxWorker).lease),
			one("loop, groups of 100", 100, (*pgxWorker).lease),
			one("loop, groups of 1000", 1000, (*pgxWorker).lease),
		}
	case RowLock:
		return []loop{
			one("loop, one row", 1, (*pgxWorker).rowLock),
			one("loop, 16 a transaction", 16, (*pgxWorker).rowLock),
		}
	default:
		return []loop{one("loop, a key a session", 1, (*pgxWorker).advisory)}
	}
}

type pgxCrew struct {
	pool *pgxpool.Pool
	size int
	turn func(*pgxWorker, context.Context) (int, error)
}

func (c *pgxCrew) close() { c.pool.Close() }

func (c *pgxCrew) worker(ctx context.Context) (func(context.Context) (int, error), func(), error) {
	held, err := c.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	w := &pgxWorker{conn: held.Conn(), size: c.size}
	return func(ctx context.Context) (int, error) { return c.turn(w, ctx) }, held.Release, nil
}

// pgxWorker is one worker of a loop, with its session.
type pgxWorker struct {
	conn *pgx.Conn
	size int
	jobs []job
	ids  []int64
}

// runner is a session or its transaction.
type runner interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// claim runs a statement that answers the rows that it claims.
func (w *pgxWorker) claim(ctx context.Context, in runner, sql string, args ...any) error {
	w.jobs, w.ids = w.jobs[:0], w.ids[:0]
	rows, err := in.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var j job
		if err := rows.Scan(&j.id, &j.payload); err != nil {
			return err
		}
		w.jobs, w.ids = append(w.jobs, j), append(w.ids, j.id)
	}
	return rows.Err()
}

const (
	pgLeaseClaim = "UPDATE " + tableName + " SET locked_until = $1, attempt = attempt + 1 WHERE ctid = ANY(ARRAY(SELECT ctid FROM " + tableName +
		" WHERE locked_until IS NULL OR locked_until <= $2 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING id, payload"
	pgLeaseSettleOne = "DELETE FROM " + tableName + " WHERE id = $1 AND locked_until = $2"
	pgLeaseSettle    = "DELETE FROM " + tableName + " WHERE id = ANY($1) AND locked_until = $2"
)

// lease claims rows, and settles those of a claim with one statement, while the expiry is still the claim's.
func (w *pgxWorker) lease(ctx context.Context) (int, error) {
	now := time.Now().Truncate(time.Microsecond)
	token := now.Add(leaseTime)
	if err := w.claim(ctx, w.conn, pgLeaseClaim, token, now, w.size); err != nil || len(w.jobs) == 0 {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	sql, which := pgLeaseSettle, any(w.ids)
	if w.size == 1 {
		sql, which = pgLeaseSettleOne, w.ids[0]
	}
	tag, err := w.conn.Exec(ctx, sql, which, token)
	if err != nil {
		return 0, err
	}
	return len(w.jobs), all("the settlement", tag.RowsAffected(), len(w.jobs))
}

const (
	pgRowLockClaim     = "SELECT id, payload FROM " + tableName + " ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED"
	pgRowLockSettleOne = "DELETE FROM " + tableName + " WHERE id = $1"
	pgRowLockSettle    = "DELETE FROM " + tableName + " WHERE id = ANY($1)"
)

// rowLock handles rows in a transaction that holds them.
func (w *pgxWorker) rowLock(ctx context.Context) (int, error) {
	tx, err := w.conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	n, err := w.inTransaction(ctx, tx)
	if err != nil {
		return 0, errors.Join(err, tx.Rollback(ctx))
	}
	return n, tx.Commit(ctx)
}

func (w *pgxWorker) inTransaction(ctx context.Context, tx pgx.Tx) (int, error) {
	if err := w.claim(ctx, tx, pgRowLockClaim, w.size); err != nil || len(w.jobs) == 0 {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	sql, which := pgRowLockSettle, any(w.ids)
	if w.size == 1 {
		sql, which = pgRowLockSettleOne, w.ids[0]
	}
	tag, err := tx.Exec(ctx, sql, which)
	if err != nil {
		return 0, err
	}
	return len(w.jobs), all("the settlement", tag.RowsAffected(), len(w.jobs))
}

// pgAdvisoryLock locks the first key that is free among those of the first rows: the lock is tried row by row, until
// the limit is reached, and never on rows beyond it.
const pgAdvisoryLock = "WITH c AS MATERIALIZED (SELECT id, hashtextextended('" + tableName + "-' || customer, 0) AS key FROM " + tableName +
	" ORDER BY id LIMIT $1) SELECT id, key FROM c WHERE pg_try_advisory_lock(key) LIMIT 1"

const (
	pgAdvisoryTake   = "UPDATE " + tableName + " SET attempt = attempt + 1 WHERE id = $1 RETURNING id, payload"
	pgAdvisoryUnlock = "SELECT pg_advisory_unlock($1)"
)

// advisory holds one key: lock, take, settle, unlock. A row may be finished between the look at it and its lock: then it
// looks again.
func (w *pgxWorker) advisory(ctx context.Context) (int, error) {
	for {
		var id, key int64
		switch err := w.conn.QueryRow(ctx, pgAdvisoryLock, candidates).Scan(&id, &key); {
		case errors.Is(err, pgx.ErrNoRows):
			return 0, nil
		case err != nil:
			return 0, err
		}
		n, err := w.underLock(ctx, id)
		var released bool
		err = errors.Join(err, w.conn.QueryRow(ctx, pgAdvisoryUnlock, key).Scan(&released))
		if err == nil && !released {
			err = fmt.Errorf("the lock of row %d was not held", id)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (w *pgxWorker) underLock(ctx context.Context, id int64) (int, error) {
	if err := w.claim(ctx, w.conn, pgAdvisoryTake, id); err != nil || len(w.jobs) == 0 {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	tag, err := w.conn.Exec(ctx, pgRowLockSettleOne, id)
	if err != nil {
		return 0, err
	}
	return 1, all("the settlement", tag.RowsAffected(), 1)
}
