package cockroach

import (
	"context"
	"errors"
	"net/url"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Database is what a program's main appends to its databases.
var Database = databases.Database{Schemes: []string{"cockroachdb", "cockroach"}, Dialect: New(), Open: Open}

// Store is PostgreSQL's store, without what that offers beyond the interface: a cluster neither sends
// notifications nor keeps locks that a pooler could break.
type Store struct{ store.Store }

// Open connects to the cluster that a cockroachdb:// URL names, whose parameters are those of pgx.
func Open(ctx context.Context, d dialect.Dialect, rawURL string, o store.Options) (store.Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error's own text repeats the URL, which may hold a password.
		return nil, errors.New("the URL cannot be parsed; percent-encode special characters in the password")
	}
	u.Scheme = "postgres"
	parameters := u.Query()
	// NULL would come first, and a row without a priority before all others.
	parameters.Set("null_ordered_last", "on")
	u.RawQuery = parameters.Encode()
	s, err := postgres.Open(ctx, d, u.String(), o)
	if err != nil {
		return nil, err
	}
	return Store{s}, nil
}

// Version implements [store.Store]. A cluster calls itself a PostgreSQL 13 where it is asked for the
// server_version.
func (s Store) Version(ctx context.Context) (version string, err error) {
	err = s.Query(ctx, &dialect.Statement{SQL: "SELECT version()"}, 0, nil, func(values [][]byte) error {
		version = string(values[0])
		return nil
	})
	return version, err
}

// Failure implements [store.Store]. The cluster says of a commit that it may have taken effect
// (statement_completion_unknown), which must not be tried again.
func (s Store) Failure(err error) store.Failure {
	var answered *pgconn.PgError
	if errors.As(err, &answered) && answered.Code == "40003" {
		return store.Unanswered
	}
	return s.Store.Failure(err)
}
