package store

// Pool is the connections of a store.
type Pool struct {
	InUse, Idle int
	Max         int // the most that there may be
}

// Measured is a store that knows its pool.
type Measured interface {
	Pool() Pool
}
