package forms

import "context"

// lock is a mutex that can be waited for until a context ends.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// Lock waits as long as it takes.
func (l lock) Lock() { l <- struct{}{} }

// LockContext waits until ctx ends.
func (l lock) LockContext(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TryLock waits for nobody.
func (l lock) TryLock() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock is by whoever has it locked.
func (l lock) Unlock() { <-l }
