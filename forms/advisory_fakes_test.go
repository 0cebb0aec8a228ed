package forms_test

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// counting counts the statements that its sessions are told to run, beside questions.
type counting struct {
	store.Store
	execs atomic.Int64
}

func (c *counting) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	c.execs.Add(1)
	return c.Store.Exec(ctx, s, n, args)
}

func (c *counting) Hold(ctx context.Context) (store.Session, error) {
	session, err := c.Store.Hold(ctx)
	return &countingSession{session, c}, err
}

type countingSession struct {
	store.Session
	store *counting
}

func (c *countingSession) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	c.store.execs.Add(1)
	return c.Session.Exec(ctx, s, n, args)
}

// meddling does something once when the candidates have been read.
type meddling struct {
	store.Store
	after func()
}

func (m *meddling) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	err := m.Store.Query(ctx, s, n, args, row)
	if after := m.after; after != nil && strings.Contains(s.SQL, "__lock") {
		m.after = nil
		after()
	}
	return err
}
