package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// dieCommand makes the test's binary, run again, a host that kills itself: die KIND MOMENT CONFIG.
const dieCommand = "die"

// Kinds of statements and calls at which a host can die.
const (
	atClaim  = "claim"  // a claim that answers the row, or the take of the advisory form
	atLock   = "lock"   // of a key
	atCall   = "call"   // of the guest
	atFinish = "finish" // the removal of a row that is acked
	atMove   = "move"   // the insert of a dead letter
	atUnlock = "unlock" // of a key
	atExtend = "extend" // of a lease
	atProbe  = "probe"  // of the session that holds a row
)

// Moments of a statement.
const (
	before    = "before"    // it is not sent
	ran       = "ran"       // it has run, and its transaction is not committed
	committed = "committed" // its transaction is committed, and nobody has read the answer
)

// die runs a host on a store that kills this process.
func die(kind, moment, path string) int {
	k := &killer{kind: kind, moment: moment}
	log := slog.New(&dyingLog{slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}), k})
	err := func() error {
		cfg, err := config.Load(path, os.LookupEnv)
		if err != nil {
			return err
		}
		list := databases.Builtin()
		for i := range list {
			open := list[i].Open
			list[i].Open = func(ctx context.Context, d dialect.Dialect, url string, o store.Options) (store.Store, error) {
				s, err := open(ctx, d, url, o)
				if err != nil {
					return nil, err
				}
				wrapped := &killStore{Store: s, conn: conn{s, k, s.Begin}}
				if sole, ok := s.(store.Sole); ok {
					return &killSole{wrapped, sole}, nil
				}
				return wrapped, nil
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		service, err := host.Open(ctx, host.Options{Config: cfg, Log: log, Databases: list})
		if err != nil {
			return err
		}
		return service.Run(ctx, nil)
	}()
	fmt.Fprintln(os.Stderr, "the host is still alive:", err)
	return 1
}

// killer kills this process at one moment of one kind of statement.
type killer struct {
	kind, moment string
	claimed      atomic.Bool
}

// at dies where this is the moment.
func (k *killer) at(kind, moment string) {
	if kind == atClaim {
		k.claimed.Store(true)
	}
	if kind == k.kind && moment == k.moment {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

// apart reports whether a statement that commits on its own has to be given a transaction: what dies
// between the two is the same to the database.
func (k *killer) apart(kind string) bool { return kind == k.kind && k.moment == ran }

// kindOf says what a statement is, by its text.
func kindOf(s *dialect.Statement) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s.SQL, part) })
	}
	switch {
	case slices.ContainsFunc(s.Returns, func(o dialect.Output) bool { return o.Field == dialect.FieldPayload }), has("__counted"):
		return atClaim
	case has("pg_try_advisory_lock(", " COALESCE(GET_LOCK("):
		return atLock
	case has("pg_advisory_unlock(", "RELEASE_LOCK("):
		return atUnlock
	case has("GREATEST(", "MAX("):
		return atExtend
	case has(`INSERT INTO "dead"`, "INSERT INTO `dead`"):
		return atMove
	case has(`DELETE FROM "jobs"`, "DELETE FROM `jobs`", "DELETE q FROM (SELECT `id`"):
		return atFinish
	}
	return ""
}

// conn is a store or a session outside of any transaction.
type conn struct {
	store.Conn
	k     *killer
	begin func(ctx context.Context) (store.Tx, error)
}

func (c conn) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	return c.run(ctx, s, func(on store.Conn) error { return on.Query(ctx, s, n, args, row) })
}

func (c conn) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (changed int64, err error) {
	err = c.run(ctx, s, func(on store.Conn) error {
		changed, err = on.Exec(ctx, s, n, args)
		return err
	})
	return changed, err
}

func (c conn) run(ctx context.Context, s *dialect.Statement, run func(on store.Conn) error) error {
	kind := kindOf(s)
	c.k.at(kind, before)
	if kind == c.k.kind && kind == atExtend {
		tellExpiry(ctx, c.Conn)
	}
	if c.k.apart(kind) {
		tx, err := c.begin(ctx)
		if err != nil {
			return err
		}
		if err := run(tx); err != nil {
			return err
		}
		c.k.at(kind, ran)
	}
	if err := run(c.Conn); err != nil {
		return err
	}
	c.k.at(kind, committed)
	return nil
}

// tellExpiry logs the lease of the first row before it is extended.
func tellExpiry(ctx context.Context, on store.Conn) {
	s := dialect.Statement{SQL: "SELECT " + expiryText + " FROM jobs WHERE id = 1"}
	err := on.Query(ctx, &s, 0, nil, func(v [][]byte) error {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info("expiry", "state", string(v[0]))
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "the expiry cannot be read:", err)
	}
}

const expiryText = "CAST(locked_until AS CHAR(40))"

type killStore struct {
	store.Store
	conn
}

type killSole struct {
	*killStore
	store.Sole
}

func (s *killStore) Query(ctx context.Context, st *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	return s.conn.Query(ctx, st, n, args, row)
}

func (s *killStore) Exec(ctx context.Context, st *dialect.Statement, n int, args []any) (int64, error) {
	return s.conn.Exec(ctx, st, n, args)
}

func (s *killStore) ExecEach(ctx context.Context, st *dialect.Statement, args [][]any) error {
	return s.Store.ExecEach(ctx, st, args)
}

func (s *killStore) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &killTx{Tx: tx, k: s.k}, nil
}

func (s *killStore) Hold(ctx context.Context) (store.Session, error) {
	held, err := s.Store.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return &killSession{Session: held, conn: conn{held, s.k, held.Begin}}, nil
}

type killSession struct {
	store.Session
	conn
}

func (s *killSession) Query(ctx context.Context, st *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	return s.conn.Query(ctx, st, n, args, row)
}

func (s *killSession) Exec(ctx context.Context, st *dialect.Statement, n int, args []any) (int64, error) {
	return s.conn.Exec(ctx, st, n, args)
}

func (s *killSession) ExecEach(ctx context.Context, st *dialect.Statement, args [][]any) error {
	return s.Session.ExecEach(ctx, st, args)
}

func (s *killSession) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := s.Session.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &killTx{Tx: tx, k: s.k}, nil
}

func (s *killSession) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	w, err := s.Session.BeginWork(ctx, o, first...)
	if err != nil {
		return nil, err
	}
	kinds := make([]string, len(first))
	for i, step := range first {
		kinds[i] = kindOf(step.Statement)
		s.k.at(kinds[i], ran)
	}
	return &killWork{killTx{Tx: w, k: s.k, kinds: kinds}, w}, nil
}

func (s *killSession) Ping(ctx context.Context) error {
	if s.k.claimed.Load() {
		s.k.at(atProbe, before)
	}
	return s.Session.Ping(ctx)
}

// killTx is a transaction that remembers what ran in it.
type killTx struct {
	store.Tx
	k     *killer
	kinds []string
}

func (t *killTx) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	t.enter(ctx, s)
	err := t.Tx.Query(ctx, s, n, args, row)
	t.leave(s, err)
	return err
}

func (t *killTx) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	t.enter(ctx, s)
	changed, err := t.Tx.Exec(ctx, s, n, args)
	t.leave(s, err)
	return changed, err
}

func (t *killTx) enter(ctx context.Context, s *dialect.Statement) {
	kind := kindOf(s)
	t.k.at(kind, before)
	if kind == t.k.kind && kind == atExtend {
		tellExpiry(ctx, t.Tx)
	}
}

func (t *killTx) leave(s *dialect.Statement, err error) {
	if err != nil {
		return
	}
	kind := kindOf(s)
	t.kinds = append(t.kinds, kind)
	if kind != atClaim { // more statements belong to a claim
		t.k.at(kind, ran)
	}
}

func (t *killTx) Commit(ctx context.Context) error {
	for _, kind := range t.kinds {
		t.k.at(kind, ran)
	}
	if err := t.Tx.Commit(ctx); err != nil {
		return err
	}
	for _, kind := range t.kinds {
		t.k.at(kind, committed)
	}
	return nil
}

type killWork struct {
	killTx
	work store.Work
}

func (w *killWork) CommitWith(ctx context.Context, last ...store.Step) error {
	for _, step := range last {
		w.k.at(kindOf(step.Statement), before)
	}
	if slices.ContainsFunc(last, func(step store.Step) bool { return w.k.apart(kindOf(step.Statement)) }) {
		for _, step := range last {
			if _, err := w.Exec(ctx, step.Statement, 0, step.Args); err != nil {
				return err
			}
		}
	}
	if err := w.work.CommitWith(ctx, last...); err != nil {
		return err
	}
	for _, kind := range w.kinds {
		w.k.at(kind, committed)
	}
	for _, step := range last {
		w.k.at(kindOf(step.Statement), committed)
	}
	return nil
}

// dyingLog dies at the line that the guest logs at its begin.
type dyingLog struct {
	slog.Handler
	k *killer
}

func (l *dyingLog) Handle(ctx context.Context, r slog.Record) error {
	err := l.Handler.Handle(ctx, r)
	if r.Message == "called" {
		l.k.at(atCall, ran)
	}
	return err
}

func (l *dyingLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &dyingLog{l.Handler.WithAttrs(attrs), l.k}
}

func (l *dyingLog) WithGroup(name string) slog.Handler {
	return &dyingLog{l.Handler.WithGroup(name), l.k}
}

// soon bounds what a server does at once when a client is gone.
const soon = 10 * time.Second
