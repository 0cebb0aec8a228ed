package store

import (
	"context"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Step is one statement of several that travel together, in as few round trips as the database allows.
type Step struct {
	Statement *dialect.Statement
	// N is how many rows of a list the statement is about, 0 for other statements.
	N    int
	Args []any
	// Row is called for each row of the answer, as in [Conn].Query; nil where there is none to read.
	Row func(values [][]byte) error
}

// TxOptions say how a transaction is opened that stays open while a delivery is handled.
type TxOptions struct {
	// Level is the isolation level, empty for [dialect.ReadCommitted].
	Level dialect.Level
}

// Worker is what a [Session] offers beside its plain transactions: those in which a delivery is
// handled. The server does not end them for being idle.
type Worker interface {
	// BeginWork starts a transaction and runs the first steps in it. After an error none is open.
	BeginWork(ctx context.Context, o TxOptions, first ...Step) (Work, error)
	// Ping finds out whether the server still keeps the session.
	Ping(ctx context.Context) error
}

// Work is a transaction in which a delivery is handled. Its session stays with it.
type Work interface {
	Tx
	// CommitWith runs the last steps and commits. After an error the transaction has to be rolled
	// back; an [Uncommitted] error says that the commit was never asked for.
	CommitWith(ctx context.Context, last ...Step) error
}

// Chainer is a [Work] whose database commits it and starts the next one in fewer round trips than the two are.
type Chainer interface {
	// Chain runs the last steps, commits, starts another transaction in the place of this one, with the options that this one
	// has, and runs the first steps in it. It says whether the commit is known to have taken effect, also where the next transaction then failed. After an
	// error what is open has to be rolled back.
	Chain(ctx context.Context, o TxOptions, last []Step, first ...Step) (committed bool, err error)
}

// Sequencer is a [Session] that goes on behind a commit in the same round trip.
type Sequencer interface {
	// Sequence runs the steps in a transaction of their own, commits it, and runs what comes after. Nothing runs after a
	// failure. It says whether the commit is known to have taken effect; after an error no transaction is open. A step
	// fails that would wait for a lock for longer than lockTimeout, which is the session's own where it is 0.
	Sequence(ctx context.Context, lockTimeout time.Duration, steps []Step, after ...Step) (committed bool, err error)
}

// Uncommitted is the error of a step that failed before its transaction's commit was on the way.
type Uncommitted struct{ Err error }

func (u *Uncommitted) Error() string { return u.Err.Error() }

// Unwrap gives the step's own error.
func (u *Uncommitted) Unwrap() error { return u.Err }
