package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var _ store.Listener = (*Store)(nil)

// A connection that has gone silent is asked after quiet whether it still lives, and given up after
// patience: together well below the 15 seconds after which a half-open socket has to be noticed.
const (
	quiet    = 5 * time.Second
	patience = 5 * time.Second
)

// Listen implements [store.Listener] on a connection of its own beside the pool.
func (s *Store) Listen(ctx context.Context, channels []string, ready func(), notified func(channel, payload string)) (err error) {
	connecting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	for _, channel := range channels {
		if _, err := conn.Exec(connecting, "LISTEN "+quote(channel)); err != nil {
			return fmt.Errorf("listen on %q: %w", channel, err)
		}
	}
	ready()
	for {
		waiting, cancel := context.WithTimeout(ctx, quiet)
		notification, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			notified(notification.Channel, notification.Payload)
		case ctx.Err() != nil:
			return nil
		case waiting.Err() == nil:
			return err
		default:
			if err := alive(ctx, conn); err != nil {
				return fmt.Errorf("the connection is silent: %w", err)
			}
		}
	}
}

func alive(ctx context.Context, conn *pgx.Conn) error {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return conn.Ping(asking)
}
