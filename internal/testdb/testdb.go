// Package testdb gives tests empty databases of their own.
//
// The servers come from the program internal/testserver, which starts them once for
// a whole run; `make test` uses it. A test that has to stop or kill its server starts
// a private one with [StartPostgres] or [StartMariaDB].
package testdb

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Database is an empty database for one test.
type Database struct {
	Name string // "postgres", "mariadb" or "sqlite"
	URL  string // as inbox.toml has it
}

// databases is every database that the suites run on. A new one is a line here.
var databases = []struct {
	name string
	open func(testing.TB) string
}{
	{"postgres", Postgres},
	{"mariadb", MariaDB},
	{"sqlite", SQLite},
}

// Each runs a subtest, named after the database, on an empty database of each kind.
func Each(t *testing.T, run func(t *testing.T, db Database)) {
	t.Helper()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			run(t, Database{Name: database.name, URL: database.open(t)})
		})
	}
}

// SQLite returns the URL of a database file that does not exist yet, in a directory
// that goes when the test ends.
func SQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "inbox.db")
}

// fresh creates a database on the server that the variable names.
func fresh(t testing.TB, variable string,
	create func(ctx context.Context, serverURL string) (string, error),
	drop func(ctx context.Context, serverURL, name string) error,
) string {
	t.Helper()
	serverURL := os.Getenv(variable)
	if serverURL == "" {
		t.Fatalf("%s is not set, so there is no server to test against: run `make test`, or `go run ./internal/testserver -- go test ./...`", variable)
	}
	databaseURL, err := create(t.Context(), serverURL)
	if err != nil {
		t.Fatalf("create a database on %s: %v", serverURL, err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		name := databaseName(databaseURL)
		if err := drop(ctx, serverURL, name); err != nil {
			t.Errorf("drop the database %s: %v", name, err)
		}
	})
	return databaseURL
}

// private starts a server that goes when the test ends.
func private(t testing.TB, start func(context.Context) (*Server, error)) *Server {
	t.Helper()
	server, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close %s: %v", server.name, err)
		}
	})
	return server
}

// randomName is a database's name that no other test has: several runs may share a
// server.
func randomName() string { return "inbox_" + strings.ToLower(rand.Text()[:16]) }

func databaseName(databaseURL string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		panic(err) // it is the URL that withDatabase made
	}
	return strings.TrimPrefix(u.Path, "/")
}
