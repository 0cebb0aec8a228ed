// Package store is how statements reach a database: the interfaces that the forms run over, which
// each database's own package implements.
package store

import (
	"context"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Conn runs statements. Arguments are bound in the order of the statement's Params; a []any
// argument is an array, where the dialect says so. Values are nil, string, []byte, a number or []any.
type Conn interface {
	// Query runs a statement about n rows of a list (n is 0 for other statements) and calls row for
	// each row of its answer. The values are text or bytes, nil for NULL, and valid during the call
	// alone.
	Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func(values [][]byte) error) error
	// Exec runs a statement and says how many rows it changed.
	Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error)
	// ExecEach runs a statement once for each list of arguments, in as few round trips as the
	// database allows, and stops at the first error.
	ExecEach(ctx context.Context, s *dialect.Statement, args [][]any) error
}

// Tx is a transaction. It ends with Commit or Rollback; a Rollback after either does nothing.
type Tx interface {
	Conn
	Commit(ctx context.Context) error
	Rollback() error
}

// Session is one connection of the pool, held until it is released or closed. It is used by one
// goroutine at a time.
type Session interface {
	Conn
	Worker
	// Begin starts a transaction that will write.
	Begin(ctx context.Context) (Tx, error)
	// Release gives the connection back to the pool. What the session holds on the server stays held.
	Release() error
	// Close ends the session on the server, with everything that it holds there.
	Close() error
}

// Store is one database. It is safe for concurrent use. As a Conn, each statement commits on its own.
type Store interface {
	Conn
	Dialect() dialect.Dialect
	// Begin starts a transaction that will write. It waits for a connection until ctx ends.
	Begin(ctx context.Context) (Tx, error)
	// Hold takes a connection out of the pool. It waits for one until ctx ends.
	Hold(ctx context.Context) (Session, error)
	// Prepare parses a statement on the server without running it.
	Prepare(ctx context.Context, s *dialect.Statement) error
	// Script runs statements that create tables, outside of any form.
	Script(ctx context.Context, sql string) error
	// Failure says what is known of a statement that failed.
	Failure(err error) Failure
	// Version is the server's version in its own words.
	Version(ctx context.Context) (string, error)
	// Place tells the database from every other that this process may reach: stores with one place
	// share their locks.
	Place() string
	// Close waits for the statements in flight and closes every connection.
	Close() error
}

// Sole is a store whose database keeps no locks that a session holds, so that the process keeps them: it
// may be the only one that does so for this database.
type Sole interface {
	// Occupy keeps other processes from doing so until release is called or the process ends, and
	// fails where another has done it before.
	Occupy(ctx context.Context) (release func() error, err error)
}

// Pooled is a store that may reach its database through a pooler.
type Pooled interface {
	// SharesSessions finds out whether the pooler hands out one session of the server to several
	// clients between their transactions, so that a session's locks protect nobody.
	SharesSessions(ctx context.Context) (bool, error)
}

// Pipeliner is a store that runs several statements in one round trip.
type Pipeliner interface {
	// Pipeline runs the steps in a transaction of their own. It fails, and has changed nothing, where one of
	// them would wait for a lock for longer than lockTimeout.
	Pipeline(ctx context.Context, lockTimeout time.Duration, steps ...Step) error
}

// Listener is a store whose database tells it of rows that other sessions write.
type Listener interface {
	// Listen calls notified for each notification on the channels, and ready once nothing is missed
	// any more. It returns when ctx ends, with nil, or when the connection is lost.
	Listen(ctx context.Context, channels []string, ready func(), notified func(channel, payload string)) error
}

// Failure is what is known of the effect of a statement that failed.
type Failure uint8

const (
	// Unanswered statements may have taken effect or not: the connection broke while they were on
	// their way. They are never repeated.
	Unanswered Failure = iota
	// Refused statements were answered with an error and changed nothing.
	Refused
	// Transient statements were refused for a reason that passes by itself, such as a deadlock, a
	// lock wait that was too long or a busy database. They may be run again as they are.
	Transient
	// Unsent statements never reached the database.
	Unsent
)

// Options are what a store is opened with.
type Options struct {
	// MaxConnections is the size of the pool, at least 1.
	MaxConnections int
	// Guests says that the pool is for the statements of guests alone.
	Guests bool
}
