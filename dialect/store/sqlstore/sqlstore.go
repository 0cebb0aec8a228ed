// Package sqlstore is the store of every database that is reached through database/sql.
package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Config says what differs between such databases.
type Config struct {
	DB      *sql.DB
	Dialect dialect.Dialect
	// Failure says what is known of a statement that failed with an error of the driver.
	Failure func(err error) store.Failure
	// BeginWork lists the statements that start a transaction in which a delivery is handled.
	BeginWork func(o store.TxOptions) []string
	// Chain is the statement that commits a transaction and starts another one like it, empty where there is none.
	Chain string
	// Together makes one statement of several, which the database runs in their order up to the first that fails; nil
	// where each is a round trip of its own.
	Together func(statements []string) string
	// Guest says how statements of guests run, nil where they do not.
	Guest *Guest
	// VersionSQL answers the server's version.
	VersionSQL string
	// Place is the store's.
	Place string
	// OnClose runs after the connections are closed.
	OnClose func() error
}

// Store implements [store.Store] over a pool of database/sql. It is safe for concurrent use.
type Store struct {
	conn
	config Config
}

// New is a store over the pool, which it owns from now on.
func New(config Config) *Store {
	return &Store{conn: conn{config.DB}, config: config}
}

// unsent marks the failure of a statement that never left the process.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// Dialect implements [store.Store].
func (s *Store) Dialect() dialect.Dialect { return s.config.Dialect }

// Begin implements [store.Store].
func (s *Store) Begin(ctx context.Context) (store.Tx, error) {
	held, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := held.Begin(ctx)
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return &owned{tx, held}, nil
}

// Hold implements [store.Store].
func (s *Store) Hold(ctx context.Context) (store.Session, error) {
	held, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	return held, nil
}

func (s *Store) hold(ctx context.Context) (*session, error) {
	held, err := s.config.DB.Conn(ctx)
	if err != nil {
		return nil, unsent{err}
	}
	return &session{conn: conn{held}, held: held, config: &s.config}, nil
}

// Prepare implements [store.Store].
func (s *Store) Prepare(ctx context.Context, st *dialect.Statement) error {
	prepared, err := s.config.DB.PrepareContext(ctx, st.Text(1))
	if err != nil {
		return err
	}
	return prepared.Close()
}

// Script implements [store.Store].
func (s *Store) Script(ctx context.Context, text string) error {
	_, err := s.config.DB.ExecContext(ctx, text)
	return err
}

// Failure implements [store.Store].
func (s *Store) Failure(err error) store.Failure {
	if u := (unsent{}); errors.As(err, &u) {
		return store.Unsent
	}
	return s.config.Failure(err)
}

// Version implements [store.Store].
func (s *Store) Version(ctx context.Context) (string, error) {
	var version string
	err := s.config.DB.QueryRowContext(ctx, s.config.VersionSQL).Scan(&version)
	return version, err
}

// Place implements [store.Store].
func (s *Store) Place() string { return s.config.Place }

// Pool implements [store.Measured].
func (s *Store) Pool() store.Pool {
	stats := s.config.DB.Stats()
	return store.Pool{InUse: stats.InUse, Idle: stats.Idle, Max: stats.MaxOpenConnections}
}

// Close implements [store.Store].
func (s *Store) Close() error {
	err := s.config.DB.Close()
	if s.config.OnClose != nil {
		err = errors.Join(err, s.config.OnClose())
	}
	return err
}

// runner is what a pool and a transaction of database/sql have in common.
type runner interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

type conn struct{ runner runner }

// Query implements [store.Conn].
func (c conn) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) (err error) {
	rows, err := c.runner.QueryContext(ctx, s.Text(n), arguments(args)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return read(rows, row)
}

// read calls row for each row that is left of an answer.
func read(rows *sql.Rows, row func([][]byte) error) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	raw := make([]value, len(columns))
	values := make([][]byte, len(columns))
	targets := make([]any, len(columns))
	for i := range raw {
		targets[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
		for i := range raw {
			values[i] = raw[i].bytes
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// value takes what a driver gives as text or bytes, and tells no bytes from NULL, which [sql.RawBytes]
// does not for every driver. It copies: a driver's own bytes go when a context ends.
type value struct {
	bytes []byte // nil for NULL
	own   []byte
}

// Scan implements [sql.Scanner].
func (v *value) Scan(source any) error {
	v.own = v.own[:0]
	switch s := source.(type) {
	case nil:
		v.bytes = nil
		return nil
	case []byte:
		v.own = append(v.own, s...)
	case string:
		v.own = append(v.own, s...)
	case int64:
		v.own = strconv.AppendInt(v.own, s, 10)
	case uint64:
		v.own = strconv.AppendUint(v.own, s, 10)
	case float32:
		v.own = strconv.AppendFloat(v.own, float64(s), 'g', -1, 32)
	case float64:
		v.own = strconv.AppendFloat(v.own, s, 'g', -1, 64)
	case bool:
		v.own = strconv.AppendBool(v.own, s)
	default:
		return fmt.Errorf("the driver answers a %T", source)
	}
	if v.bytes = v.own; v.bytes == nil {
		v.bytes = []byte{}
	}
	return nil
}

// Exec implements [store.Conn].
func (c conn) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	result, err := c.runner.ExecContext(ctx, s.Text(n), arguments(args)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// ExecEach implements [store.Conn].
func (c conn) ExecEach(ctx context.Context, s *dialect.Statement, args [][]any) (err error) {
	prepared, err := c.runner.PrepareContext(ctx, s.Text(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	for _, list := range args {
		if _, err := prepared.ExecContext(ctx, arguments(list)...); err != nil {
			return err
		}
	}
	return nil
}

type session struct {
	conn
	held   *sql.Conn
	config *Config
	id     string // of the session on its server, once a guest needs it
}

// Begin implements [store.Session].
func (s *session) Begin(ctx context.Context) (store.Tx, error) {
	w, err := s.BeginWork(ctx, store.TxOptions{})
	if err != nil {
		return nil, unsent{err}
	}
	return w, nil
}

// Release implements [store.Session].
func (s *session) Release() error { return s.held.Close() }

// Close implements [store.Session]. A pool closes a connection that calls itself bad.
func (s *session) Close() error {
	err := s.held.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// owned is a transaction on a connection that goes back to the pool with it.
type owned struct {
	store.Tx
	held *session
}

// Commit implements [store.Tx].
func (o *owned) Commit(ctx context.Context) error { return o.release(o.Tx.Commit(ctx)) }

// Rollback implements [store.Tx].
func (o *owned) Rollback() error {
	if o.held == nil {
		return nil
	}
	return o.release(o.Tx.Rollback())
}

// release gives the connection back, or closes it where nobody knows what it still holds.
func (o *owned) release(err error) error {
	held := o.held
	o.held = nil
	if err != nil {
		// What is known of the transaction is in its own error, which no other may join.
		if closing := held.Close(); closing != nil {
			return fmt.Errorf("%w (and its connection did not close: %v)", err, closing)
		}
		return err
	}
	return held.Release()
}
