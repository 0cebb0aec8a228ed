package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// crowd bounds the connections of a server. Where there are too many, the one goes that has waited for longest without a
// whole request: clients that do nothing, or nearly nothing, keep nobody out, such as the one that asks whether the
// process lives.
type crowd struct {
	limit int

	mu  sync.Mutex
	all map[net.Conn]struct{}
	// waiting are those without a request in work, in the order in which they began to wait.
	waiting []net.Conn
	closing bool
}

func newCrowd(limit int) *crowd { return &crowd{limit: limit, all: map[net.Conn]struct{}{}} }

// note is the ConnState of a server.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.all[conn] = struct{}{}
		c.waiting = append(c.waiting, conn)
		switch {
		case c.closing:
			c.drop(conn)
		case len(c.all) > c.limit:
			c.drop(c.waiting[0])
		}
	case http.StateIdle:
		c.waiting = append(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		c.leave(conn)
		delete(c.all, conn)
	}
}

// drop closes a connection that waits. The lock is held.
func (c *crowd) drop(conn net.Conn) {
	c.leave(conn)
	delete(c.all, conn)
	conn.Close() // what its goroutine gets to know of an error, nobody needs to
}

// leave takes a connection out of those that wait. The lock is held.
func (c *crowd) leave(conn net.Conn) {
	if i := slices.Index(c.waiting, conn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
}

type connectionKey struct{}

// name is the ConnContext of a server.
func (c *crowd) name(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// serve counts a request in work.
func (c *crowd) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.leave(r.Context().Value(connectionKey{}).(net.Conn))
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// dismiss closes what waits, and what comes yet.
func (c *crowd) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for len(c.waiting) > 0 {
		c.drop(c.waiting[0])
	}
}
