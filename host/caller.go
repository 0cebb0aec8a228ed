package host

import (
	"context"
	"slices"
	"sync"
)

// caller is a thread's calls of its guest, as the settler sees them: it interrupts the one that works on
// a row that is lost. A context is made anew only after it was cancelled, so that a call costs none.
type caller struct {
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	tasks  []*task // of the call that is on its way
}

// begin is the context of a call about rows.
func (c *caller) begin(ctx context.Context, tasks []*task) context.Context {
	for _, t := range tasks {
		t.caller.Store(c)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.ctx.Err() != nil {
		c.ctx, c.cancel = context.WithCancel(ctx)
	}
	c.tasks = tasks
	return c.ctx
}

// end says that the call is over.
func (c *caller) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = nil
}

// close ends the last context.
func (c *caller) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// interrupt ends the call that works on the row, where one does.
func (t *task) interrupt() {
	c := t.caller.Load()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.tasks, t) {
		c.cancel()
	}
}
