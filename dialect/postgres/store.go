package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Store implements [store.Store] over pgx, for PostgreSQL and whatever speaks its protocol.
type Store struct {
	pool    *pgxpool.Pool
	dialect dialect.Dialect
	// pooler is what is known of a pooler between here and the server.
	pooler pooler
}

// Open connects to the server that a postgres:// URL names. The server is asked once, so that a wrong
// URL fails here.
func Open(ctx context.Context, d dialect.Dialect, rawURL string, o store.Options) (store.Store, error) {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		var parse *pgconn.ParseConfigError
		if errors.As(err, &parse) {
			// The error's own text repeats the URL, which may hold a password.
			return nil, errors.New("the URL cannot be parsed; percent-encode special characters in the password")
		}
		return nil, err
	}
	config.MaxConns = int32(o.MaxConnections)
	config.MaxConnIdleTime = 5 * time.Minute
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	parameters := config.ConnConfig.RuntimeParams
	parameters["timezone"] = "UTC"
	parameters["datestyle"] = "ISO"
	parameters["client_encoding"] = "UTF8" // the default is the encoding of the database
	if parameters["application_name"] == "" {
		parameters["application_name"] = applicationName()
	}
	s := &Store{dialect: d}
	if !namesMode(rawURL) {
		if config.ConnConfig.DefaultQueryExecMode, err = s.pooler.chooseMode(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	if config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeExec {
		config.AfterConnect = exactFloats
	}
	current := leaveReadOnly(config)
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	current.Store(s.pool)
	if err := s.pool.Ping(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// applicationName tells the sessions of one process from those of another. The server cuts it to 63 bytes.
func applicationName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("inbox-wasm %.40s:%d", host, os.Getpid())
}

// exactFloats has a server before version 12 write every digit of a floating-point number, as later ones do.
// A pooler does not take the setting as a parameter of the connection, and where it shares its sessions the
// numbers stay rounded.
func exactFloats(ctx context.Context, conn *pgx.Conn) error {
	if dialect.CheckVersion("PostgreSQL", conn.PgConn().ParameterStatus("server_version"), "12") == nil {
		return nil
	}
	_, err := conn.Exec(ctx, "SET extra_float_digits = 3")
	return err
}

// readOnly is the error of a server that takes no writes, or none any more.
const readOnly = "25006"

// leaveReadOnly closes a connection whose server has become read-only, whatever it was in use for, and
// has the pool, once there is one, use no other that was opened before: the next one finds the server that
// writes (riverqueue/river#1225).
func leaveReadOnly(config *pgxpool.Config) *atomic.Pointer[pgxpool.Pool] {
	var pool atomic.Pointer[pgxpool.Pool]
	keep := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(c *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code != readOnly {
			return keep(c, e)
		}
		if p := pool.Load(); p != nil {
			p.Reset()
		}
		return false
	}
	return &pool
}

// unsent marks the failure of a statement that never left the process.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// Dialect implements [store.Store].
func (s *Store) Dialect() dialect.Dialect { return s.dialect }

// with runs work on a connection of the pool, and again where a statement was outdated: each connection has its own
// of it, and another one would be no better.
func (s *Store) with(ctx context.Context, work func(session) error) error {
	held, err := s.pool.Acquire(ctx)
	if err != nil {
		return unsent{err}
	}
	defer held.Release()
	err = work(session{held.Conn()})
	if answered := new(pgconn.PgError); errors.As(err, &answered) && outdated(answered) {
		err = work(session{held.Conn()})
	}
	return err
}

// Query implements [store.Conn].
func (s *Store) Query(ctx context.Context, st *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	return s.with(ctx, func(c session) error { return c.Query(ctx, st, n, args, row) })
}

// Exec implements [store.Conn].
func (s *Store) Exec(ctx context.Context, st *dialect.Statement, n int, args []any) (changed int64, err error) {
	err = s.with(ctx, func(c session) (err error) {
		changed, err = c.Exec(ctx, st, n, args)
		return err
	})
	return changed, err
}

// ExecEach implements [store.Conn].
func (s *Store) ExecEach(ctx context.Context, st *dialect.Statement, args [][]any) error {
	return s.with(ctx, func(c session) error { return c.ExecEach(ctx, st, args) })
}

// readCommitted names the level, since a database or a role may have another default: what is read after a
// lock has to be what was committed before it.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// Begin implements [store.Store].
func (s *Store) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := s.pool.BeginTx(ctx, readCommitted)
	if err != nil {
		return nil, unsent{err}
	}
	return &transaction{session: session{tx.Conn()}, tx: tx}, nil
}

// Hold implements [store.Store].
func (s *Store) Hold(ctx context.Context) (store.Session, error) {
	held, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, unsent{err}
	}
	return &heldSession{session: session{held.Conn()}, held: held}, nil
}

// Prepare implements [store.Store].
func (s *Store) Prepare(ctx context.Context, st *dialect.Statement) error {
	return s.with(ctx, func(c session) error {
		_, err := c.conn.PgConn().Prepare(ctx, "", st.Text(1), nil)
		return err
	})
}

// Script implements [store.Store].
func (s *Store) Script(ctx context.Context, text string) error {
	_, err := s.pool.Exec(ctx, text)
	return err
}

// Version implements [store.Store].
func (s *Store) Version(ctx context.Context) (string, error) {
	var version string
	err := s.pool.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return version, err
}

// Place implements [store.Store].
func (s *Store) Place() string {
	c := s.pool.Config().ConnConfig
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
}

// Pool implements [store.Measured]. A connection that is being opened is in use.
func (s *Store) Pool() store.Pool {
	stat := s.pool.Stat()
	return store.Pool{InUse: int(stat.AcquiredConns() + stat.ConstructingConns()), Idle: int(stat.IdleConns()), Max: int(stat.MaxConns())}
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Failure implements [store.Store]. A server that is going away says so with a fatal error, and it
// may have committed before. Classes 40 (rollback), 53 (resources) and 55P03 (lock) pass by
// themselves (PostgreSQL documentation, appendix A), and so does a statement that has to be prepared anew.
// One that a read-only server refused has to find another connection, so that it counts as not sent.
func (s *Store) Failure(err error) store.Failure {
	var never unsent
	if errors.As(err, &never) || pgconn.SafeToRetry(err) {
		return store.Unsent
	}
	var answered *pgconn.PgError
	switch {
	case !errors.As(err, &answered), answered.Severity == "FATAL", answered.Severity == "PANIC":
		return store.Unanswered
	case answered.Code == readOnly:
		return store.Unsent
	case strings.HasPrefix(answered.Code, "40"), strings.HasPrefix(answered.Code, "53"), answered.Code == "55P03", outdated(answered):
		return store.Transient
	default:
		return store.Refused
	}
}

// outdated reports whether a prepared statement is no longer what it was, or not there, so that it did not
// run. pgx forgets a statement that has failed. The text "cached plan must not change result type"
// (pgbouncer/pgbouncer#1038) comes in the server's language; the name of the routine does not.
func outdated(e *pgconn.PgError) bool {
	return e.Code == "0A000" && e.Routine == "RevalidateCachedQuery" || e.Code == "26000"
}

// session runs statements on one connection.
type session struct{ conn *pgx.Conn }

// Query implements [store.Conn].
func (c session) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	rows, err := c.conn.Query(ctx, s.Text(n), arguments(args)...)
	if err != nil {
		return err
	}
	return each(rows, row)
}

// Exec implements [store.Conn].
func (c session) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	tag, err := c.conn.Exec(ctx, s.Text(n), arguments(args)...)
	return tag.RowsAffected(), err
}

// ExecEach implements [store.Conn]: one round trip for all.
func (c session) ExecEach(ctx context.Context, s *dialect.Statement, args [][]any) error {
	batch := &pgx.Batch{}
	for _, list := range args {
		batch.Queue(s.Text(1), arguments(list)...)
	}
	return c.conn.SendBatch(ctx, batch).Close()
}

// arguments replaces the arrays of a statement's arguments by their text form.
func arguments(args []any) []any {
	for i, a := range args {
		if list, ok := a.([]any); ok {
			args[i] = arrayText(list)
		}
	}
	return args
}

// arrayText writes an array as the server reads it (PostgreSQL documentation, section 8.15.6).
func arrayText(list []any) string {
	text := make([]byte, 0, 2+24*len(list))
	text = append(text, '{')
	for i, element := range list {
		if i > 0 {
			text = append(text, ',')
		}
		switch v := element.(type) {
		case nil:
			text = append(text, "NULL"...)
		case int64:
			text = strconv.AppendInt(text, v, 10)
		case []byte:
			text = append(text, `"\\x`...)
			text = hex.AppendEncode(text, v)
			text = append(text, '"')
		case string:
			text = append(text, '"')
			for _, c := range []byte(v) {
				if c == '"' || c == '\\' {
					text = append(text, '\\')
				}
				text = append(text, c)
			}
			text = append(text, '"')
		default:
			panic(fmt.Sprintf("an array of %T is bound to a statement", v))
		}
	}
	return string(append(text, '}'))
}

type heldSession struct {
	session
	held *pgxpool.Conn
}

// Begin implements [store.Session].
func (h *heldSession) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := h.held.BeginTx(ctx, readCommitted)
	if err != nil {
		return nil, unsent{err}
	}
	return &transaction{session: h.session, tx: tx}, nil
}

// Release implements [store.Session].
func (h *heldSession) Release() error {
	h.held.Release()
	return nil
}

// Close implements [store.Session].
func (h *heldSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return h.held.Hijack().Close(ctx)
}

type transaction struct {
	session
	tx    pgx.Tx
	ended bool
}

// Commit implements [store.Tx].
func (t *transaction) Commit(ctx context.Context) error {
	t.ended = true
	return t.tx.Commit(ctx)
}

// rollbackTimeout bounds the wait for a server that does not answer; the connection is closed then,
// which rolls back as well.
const rollbackTimeout = 5 * time.Second

// closeTimeout bounds the farewell to a server; the connection is cut off then.
const closeTimeout = 2 * time.Second

// Rollback implements [store.Tx]. A closed connection has rolled back. After a commit, whatever came of it,
// the connection is no longer the transaction's, and may be another's.
func (t *transaction) Rollback() error {
	if t.ended {
		return nil
	}
	t.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	closed := t.conn.IsClosed()
	if err := t.tx.Rollback(ctx); !closed && !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil
}
