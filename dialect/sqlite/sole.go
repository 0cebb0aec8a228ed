package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/dialect/store/sqlstore"
)

// Store is a file as a [store.Store].
type Store struct{ *sqlstore.Store }

var _ store.Sole = (*Store)(nil)

// placeOf is the file's own path: whatever links lead to it, it is one database.
func placeOf(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// occupied are the files that this process occupies, by their place.
var occupied = struct {
	mu    sync.Mutex
	files map[string]*occupation
}{files: map[string]*occupation{}}

type occupation struct {
	users int
	conn  *sql.Conn
	db    *sql.DB
}

// Occupy implements [store.Sole] by a lock on a file of its own beside the database, which stays there
// empty. SQLite itself locks it, as every system does it, and the system ends the lock with the process,
// however that ends. Stores of one process share it.
func (s *Store) Occupy(ctx context.Context) (release func() error, err error) {
	place := s.Place()
	occupied.mu.Lock()
	defer occupied.mu.Unlock()
	o := occupied.files[place]
	if o == nil {
		if o, err = occupy(ctx, place); err != nil {
			return nil, err
		}
		occupied.files[place] = o
	}
	o.users++
	var once sync.Once
	return func() (err error) {
		once.Do(func() { err = vacate(place, o) })
		return err
	}, nil
}

func occupy(ctx context.Context, place string) (*occupation, error) {
	path := place + "-occupied"
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		err = fmt.Errorf("another process serves %s in the advisory lock form, which keeps its locks in one process; "+
			"stop that process, or take the lease form with locked_until (%s is locked: %w)", place, path, err)
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	return &occupation{conn: conn, db: db}, nil
}

func vacate(place string, o *occupation) error {
	occupied.mu.Lock()
	defer occupied.mu.Unlock()
	if o.users--; o.users > 0 {
		return nil
	}
	delete(occupied.files, place)
	return errors.Join(o.conn.Close(), o.db.Close())
}
