package host

import (
	"context"
	"errors"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// aged is a store whose server says that it is older than it is.
type aged struct {
	store.Store
	version string
}

func (a aged) Version(context.Context) (string, error) { return a.version, nil }

// serverOf is the builtin databases, whose servers all give this version.
func serverOf(version string) []databases.Database {
	list := databases.Builtin()
	for i, d := range list {
		list[i].Open = func(ctx context.Context, of dialect.Dialect, url string, o store.Options) (store.Store, error) {
			s, err := d.Open(ctx, of, url, o)
			return aged{s, version}, err
		}
	}
	return list
}

// A server below the floor is refused with one problem, whatever else would be wrong with it: its statements
// are not tried.
func TestServersBelowTheFloorAreRefused(t *testing.T) {
	tooOld := map[string][]struct{ version, what string }{
		"postgres": {{"10.23 (Debian 10.23-1)", "PostgreSQL 10.23 (Debian 10.23-1) is too old: 11 is the oldest that will do"}},
		"mariadb": {{"10.5.29-MariaDB-log", "MariaDB 10.5.29-MariaDB-log is too old: 10.6 is the oldest that will do"},
			{"8.0.0", "MySQL 8.0.0 is too old: 8.0.1 is the oldest that will do"}, {"5.7.44-log", "MySQL 5.7.44-log is too old: 8.0.1 is the oldest that will do"}},
		"sqlite": nil,
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for _, c := range tooOld[db.Name] {
			// No table is there, which is not what is reported.
			_, err := Open(t.Context(), Options{Config: parse(t, db, tables+handler(t, "work", "jobs", "")),
				Log: (&lines{}).logger(), Databases: serverOf(c.version)})
			var problems config.Problems
			if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Key != "database.url" || problems[0].What != c.what {
				t.Errorf("%s: got %v, want %s", c.version, err, c.what)
			}
		}
	})
}
