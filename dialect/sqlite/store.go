package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/dialect/store/sqlstore"
)

// busyTimeout is how long a statement waits for another program that writes to the file.
const busyTimeout = "10000"

// Open opens the file that a sqlite: URL names, and creates it where its folder exists. All statements
// share one connection: SQLite takes one writer at a time, and a second connection would only wait
// for the first with its lock held. The pool's size matters to one of guests alone, whose statements read
// beside each other.
func Open(ctx context.Context, d dialect.Dialect, rawURL string, o store.Options) (store.Store, error) {
	path, err := filePath(rawURL)
	if err != nil {
		return nil, err
	}
	if folder := filepath.Dir(path); folder != "." {
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("the folder of the file %s: %w", path, err)
		}
	}
	parameters := url.Values{
		"_pragma": {"busy_timeout(" + busyTimeout + ")", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)"},
		"_txlock": {"immediate"},
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + parameters.Encode()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if o.Guests {
		db.SetMaxOpenConns(o.MaxConnections)
		db.SetMaxIdleConns(o.MaxConnections)
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	place, err := placeOf(path)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{sqlstore.New(sqlstore.Config{DB: db, Dialect: d, Failure: failure, BeginWork: begin, Guest: guests, VersionSQL: "SELECT sqlite_version()",
		Place: place})}, nil
}

func filePath(rawURL string) (string, error) {
	rest, found := strings.CutPrefix(rawURL, "sqlite:")
	if !found {
		return "", errors.New("the URL is not one of sqlite")
	}
	rest = strings.TrimPrefix(rest, "//")
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", errors.New("the URL's path is badly percent-encoded")
	}
	switch {
	case path == "" || path == ":memory:":
		return "", errors.New("a queue needs a file; write sqlite:NAME.db")
	case strings.Contains(path, "?"):
		return "", errors.New("a sqlite: URL takes no parameters")
	}
	return path, nil
}

// begin starts a transaction that will write: unless it is told otherwise, one that only reads first would
// fail when it came to write.
func begin(o store.TxOptions) []string {
	level := o.Level
	if level == "" {
		level = immediate
	}
	return []string{"BEGIN " + level.SQL()}
}

// failure knows that an embedded database always answers: what failed was rolled back.
func failure(err error) store.Failure {
	var answered *sqlitedriver.Error
	if errors.As(err, &answered) {
		if code := answered.Code() & 0xff; code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED {
			return store.Transient
		}
	}
	return store.Refused
}
