package web

import (
	"context"
	"sync"
	"time"
)

// sampleTimeout bounds how long an answer that viewers share may take.
const sampleTimeout = 10 * time.Second

// sample is an answer that all viewers share, so that their number costs nothing. An answer that took long is kept for
// longer: whatever is asked of it, it is being found out for less than a tenth of the time.
type sample[T any] struct {
	least time.Duration // that an answer is kept
	take  func(ctx context.Context) (T, error)

	mu    sync.Mutex
	value T
	err   error
	at    time.Time
	until time.Time
}

// get gives the answer and when it was true. One viewer finds it out while the others wait.
func (s *sample[T]) get(work context.Context) (T, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.until) {
		return s.value, s.at, s.err
	}
	// Not the viewer's context: the others wait for it too.
	ctx, cancel := context.WithTimeout(work, sampleTimeout)
	defer cancel()
	s.value, s.err = s.take(ctx)
	took := time.Since(now)
	s.at, s.until = now, now.Add(took+max(s.least, 10*took))
	return s.value, s.at, s.err
}

// forget has the next viewer find the answer out anew.
func (s *sample[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}
