// Package databases is the table of the databases that the program knows. A program with a database
// of its own appends one line to it.
package databases

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/mysql"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/sqlite"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Database is a database that queues can live in.
type Database struct {
	// Schemes are the URL schemes that select it.
	Schemes []string
	Dialect dialect.Dialect
	// Open connects to a URL of one of the schemes.
	Open func(ctx context.Context, d dialect.Dialect, url string, o store.Options) (store.Store, error)
}

// Builtin lists the databases that come with the program.
func Builtin() []Database {
	return []Database{
		{[]string{"postgres", "postgresql"}, postgres.New(), postgres.Open},
		{[]string{"mysql", "mariadb"}, mysql.New(), mysql.Open},
		{[]string{"sqlite"}, sqlite.New(), sqlite.Open},
	}
}

// Find is the database that a URL selects.
func Find(list []Database, url string) (Database, error) {
	scheme, _, found := strings.Cut(url, ":")
	if found {
		for _, d := range list {
			if slices.Contains(d.Schemes, scheme) {
				return d, nil
			}
		}
	}
	var known []string
	for _, d := range list {
		for _, s := range d.Schemes {
			known = append(known, s+":")
		}
	}
	return Database{}, fmt.Errorf("the URL selects no known database; start it with one of %s", strings.Join(known, " "))
}

// Open connects to the database that a URL selects. Errors never hold the URL's password.
func Open(ctx context.Context, list []Database, url string, o store.Options) (store.Store, error) {
	d, err := Find(list, url)
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, d.Dialect, url, o)
}
