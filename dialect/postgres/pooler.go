package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var _ store.Pooled = (*Store)(nil)

const (
	// probeRounds is how often the pooler gets the chance to show itself.
	probeRounds = 5
	// probeTimeout is how long a session is waited for that another transaction may keep busy.
	probeTimeout = 2 * time.Second
)

// SharesSessions implements [store.Pooled]. A pooler in transaction mode gives a client whichever session
// is free: so while a transaction of one client occupies a session, another client finds itself in that
// one before, in another one now, or in none. Errors and settings of the pooler do not tell.
func (s *Store) SharesSessions(ctx context.Context) (shares bool, err error) {
	a, err := s.probe(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, closeProbe(a)) }()
	b, err := s.probe(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, closeProbe(b)) }()
	for range probeRounds {
		if shares, err := probeOnce(ctx, a, b); shares || err != nil {
			return shares, err
		}
	}
	return false, nil
}

// probe is a connection beside the pool.
func (s *Store) probe(ctx context.Context) (*pgconn.PgConn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to look for a pooler: %w", err)
	}
	return conn.PgConn(), nil
}

func closeProbe(c *pgconn.PgConn) error {
	if c.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.Close(ctx)
}

func probeOnce(ctx context.Context, a, b *pgconn.PgConn) (shares bool, err error) {
	before, err := backend(ctx, a, "")
	if err != nil {
		return false, err
	}
	occupied, err := backend(ctx, b, "BEGIN;")
	if err != nil {
		return false, err
	}
	if occupied == before {
		return true, nil
	}
	waiting, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	after, err := backend(waiting, a, "")
	if err != nil {
		if waiting.Err() != nil && ctx.Err() == nil {
			return true, nil
		}
		return false, err
	}
	if after != before {
		return true, nil
	}
	_, err = b.Exec(ctx, "ROLLBACK").ReadAll()
	return false, err
}

// backend is the number of the session that a client is in, by the simple protocol, which every pooler
// passes on.
func backend(ctx context.Context, c *pgconn.PgConn, first string) (string, error) {
	results, err := c.Exec(ctx, first+"SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return "", fmt.Errorf("look for a pooler: %w", err)
	}
	last := results[len(results)-1]
	if len(last.Rows) != 1 {
		return "", errors.New("look for a pooler: the server did not say which session this is")
	}
	return string(last.Rows[0][0]), nil
}
