package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// listener wakes subscriptions when other sessions write rows for them. A notification that is lost
// loses no row: the poll interval is the floor.
type listener struct {
	log      *slog.Logger
	store    store.Listener
	channels map[string][]*subscription
}

// newListener gives nil where no subscription listens.
func newListener(s *Service, subscriptions []*subscription) (*listener, error) {
	l := &listener{log: s.options.Log, channels: map[string][]*subscription{}}
	for _, sub := range subscriptions {
		if !sub.handler.Listen {
			continue
		}
		d, notifies := s.store.Dialect().(dialect.Notifies)
		var listens bool
		if l.store, listens = s.store.(store.Listener); !notifies || !listens {
			return nil, errors.New("the database has no notifications to listen to")
		}
		channel := d.Channel(sub.table)
		l.channels[channel] = append(l.channels[channel], sub)
	}
	if len(l.channels) == 0 {
		return nil, nil
	}
	return l, nil
}

// run listens until ctx ends, and connects again whenever the connection is lost. What was written
// meanwhile is made up for by waking everybody once.
func (l *listener) run(ctx context.Context) {
	names := make([]string, 0, len(l.channels))
	for name := range l.channels {
		names = append(names, name)
	}
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval = 100 * time.Millisecond
	retry.MaxInterval = 5 * time.Second
	for {
		err := l.store.Listen(ctx, names, func() {
			retry.Reset()
			l.log.Debug("listening", "channels", names)
			for _, subs := range l.channels {
				wake(subs, "")
			}
		}, func(channel, group string) { wake(l.channels[channel], group) })
		if ctx.Err() != nil {
			return
		}
		pause := retry.NextBackOff()
		l.log.Warn("notifications are lost; polling goes on", "error", err, "again_in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// wake wakes the subscriptions that read a group; an empty group is every one.
func wake(subs []*subscription, group string) {
	for _, sub := range subs {
		if group == "" || sub.reads(group) {
			signal(sub.wake)
		}
	}
}

// reads reports whether the subscription reads the rows of a group.
func (s *subscription) reads(group string) bool {
	return s.handler.Table.Group == "" || s.handler.Group == config.EveryGroup || s.handler.Group == group
}
