package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
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

// pooler is what is known of a pooler between here and the server.
type pooler struct {
	mu     sync.Mutex
	known  bool
	shares bool
}

// namesMode reports whether the URL says itself in which mode statements are run.
func namesMode(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && u.Query().Has("default_query_exec_mode")
}

// chooseMode is how statements are run: prepared once on each connection, or, where a pooler shares its
// sessions, in one trip each that leaves nothing behind, since a prepared statement would be missing or
// another client's in the next session (riverqueue/river#1153, graphile/worker#119). A pooler that keeps
// track of prepared statements does not tell (PgBouncer since 1.21), so that it is not relied on. What
// cannot be found out gets the mode that always works. An error means that there is no connection.
func (p *pooler) chooseMode(ctx context.Context, config *pgx.ConnConfig) (pgx.QueryExecMode, error) {
	a, err := connectProbe(ctx, config)
	if err != nil {
		return 0, err
	}
	shares, err := p.find(ctx, a, config)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil || shares:
		return pgx.QueryExecModeExec, nil
	default:
		return pgx.QueryExecModeCacheStatement, nil
	}
}

// SharesSessions implements [store.Pooled]. What was found out when the store was opened holds.
func (s *Store) SharesSessions(ctx context.Context) (bool, error) {
	s.pooler.mu.Lock()
	known, shares := s.pooler.known, s.pooler.shares
	s.pooler.mu.Unlock()
	if known {
		return shares, nil
	}
	config := s.pool.Config().ConnConfig
	a, err := connectProbe(ctx, config)
	if err != nil {
		return false, fmt.Errorf("connect to look for a pooler: %w", err)
	}
	return s.pooler.find(ctx, a, config)
}

// find looks for a pooler that shares sessions, and closes the connection a. A pooler in transaction mode
// gives a client whichever session is free: so while a transaction of one client occupies a session,
// another client finds itself in that one before, in another one now, or in none. Errors and settings of
// the pooler do not tell.
func (p *pooler) find(ctx context.Context, a *pgconn.PgConn, config *pgx.ConnConfig) (shares bool, err error) {
	defer closeProbe(a)
	b, err := connectProbe(ctx, config)
	if err != nil {
		return false, fmt.Errorf("connect to look for a pooler: %w", err)
	}
	defer closeProbe(b)
	for range probeRounds {
		if shares, err = probeOnce(ctx, a, b); shares || err != nil {
			break
		}
	}
	if err == nil {
		p.mu.Lock()
		p.known, p.shares = true, shares
		p.mu.Unlock()
	}
	return shares, err
}

// connectProbe is a connection beside the pool.
func connectProbe(ctx context.Context, config *pgx.ConnConfig) (*pgconn.PgConn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return conn.PgConn(), nil
}

// closeProbe takes its leave. What goes wrong with that changes nothing of what was found.
func closeProbe(c *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.Close(ctx)
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
	after, err := backend(ctx, a, "")
	switch {
	case errors.Is(err, errNoSession):
		return true, nil // it is b that occupies it
	case err != nil:
		return false, err
	case after != before:
		return true, nil
	}
	_, err = b.Exec(ctx, "ROLLBACK").ReadAll()
	return false, err
}

// errNoSession is a client that waits for a session of the server.
var errNoSession = fmt.Errorf("look for a pooler: it had no free session within %v", probeTimeout)

// backend is the number of the session that a client is in, by the simple protocol, which every pooler
// passes on.
func backend(ctx context.Context, c *pgconn.PgConn, first string) (string, error) {
	waiting, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	results, err := c.Exec(waiting, first+"SELECT pg_backend_pid()").ReadAll()
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return "", errNoSession
	case err != nil:
		return "", fmt.Errorf("look for a pooler: %w", err)
	}
	last := results[len(results)-1]
	if len(last.Rows) != 1 {
		return "", errors.New("look for a pooler: the server did not say which session this is")
	}
	return string(last.Rows[0][0]), nil
}
