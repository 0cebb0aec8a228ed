package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"
)

// execute runs one statement on a database of any kind.
func execute(ctx context.Context, databaseURL, statement string) error {
	var db *sql.DB
	var err error
	switch scheme, rest, _ := strings.Cut(databaseURL, ":"); scheme {
	case "postgres":
		return execPostgres(ctx, databaseURL, statement)
	case "mariadb":
		db, err = openMariaDBURL(databaseURL)
		statement = fmt.Sprintf(statement, databaseName(databaseURL)+".")
	case "sqlite":
		db, err = sql.Open("sqlite", rest)
	default:
		err = fmt.Errorf("unknown database %q", scheme)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

func TestEachDatabaseIsEmptyAndItsOwn(t *testing.T) {
	for range 2 {
		Each(t, func(t *testing.T, db Database) {
			statement := "CREATE TABLE jobs (id integer)"
			if db.Name == "mariadb" {
				statement = "CREATE TABLE %sjobs (id integer)"
			}
			if err := execute(t.Context(), db.URL, statement); err != nil {
				t.Fatalf("the table cannot be made, so the database is not a fresh one: %v", err)
			}
		})
	}
}

func TestDatabasesGoWithTheirTest(t *testing.T) {
	var postgres, mariadb string
	t.Run("with sessions left open", func(t *testing.T) {
		postgres, mariadb = Postgres(t), MariaDB(t)
		conn, err := pgx.Connect(t.Context(), postgres)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "BEGIN; CREATE TABLE jobs (id integer)"); err != nil {
			t.Fatal(err)
		}
		db, err := openMariaDBURL(mariadb)
		if err != nil {
			t.Fatal(err)
		}
		session, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		name := databaseName(mariadb)
		for _, statement := range []string{"USE " + name, "CREATE TABLE jobs (id integer)", "BEGIN", "INSERT INTO jobs VALUES (1)"} {
			if _, err := session.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := execPostgres(t.Context(), postgres, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the Postgres database is still there: %v", err)
	}
	db, err := openMariaDBURL(mariadb)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "USE "+databaseName(mariadb)); err == nil || !strings.Contains(err.Error(), "Unknown database") {
		t.Errorf("the MariaDB database is still there: %v", err)
	}
}

// fatal is a test that remembers why it was ended.
type fatal struct {
	testing.TB
	message string
}

func (f *fatal) Helper() {}

func (f *fatal) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestMissingServerFailsAndSaysHowToRun(t *testing.T) {
	t.Setenv(PostgresVariable, "")
	recorder := &fatal{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Postgres(recorder)
	}()
	<-done
	for _, want := range []string{PostgresVariable, "make test", "go run ./internal/testserver -- go test ./..."} {
		if !strings.Contains(recorder.message, want) {
			t.Errorf("%q does not mention %q", recorder.message, want)
		}
	}
}

func TestMissingBinaryNamesItsPackage(t *testing.T) {
	_, err := findBinary("no-such-server", "no-such-server-core", filepath.Join(t.TempDir(), "*"))
	if err == nil || !strings.Contains(err.Error(), "no-such-server-core") {
		t.Errorf("got %v", err)
	}
}

func TestServerKeepsItsDataAndPort(t *testing.T) {
	for _, test := range []struct {
		name          string
		start         func(testing.TB) *Server
		table, insert string
	}{
		{"postgres", StartPostgres, "CREATE TABLE jobs (id integer PRIMARY KEY)", "INSERT INTO jobs VALUES (1)"},
		{"mariadb", StartMariaDB, "CREATE TABLE %sjobs (id integer PRIMARY KEY)", "INSERT INTO %sjobs VALUES (1)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := test.start(t)
			database := server.NewDatabase(t)
			if err := execute(t.Context(), database, test.table); err != nil {
				t.Fatal(err)
			}
			if err := execute(t.Context(), database, test.insert); err != nil {
				t.Fatal(err)
			}
			for _, end := range []struct {
				name string
				call func() error
			}{{"stop", server.Stop}, {"kill", server.Kill}} {
				if err := end.call(); err != nil {
					t.Fatalf("%s: %v", end.name, err)
				}
				if err := execute(t.Context(), database, test.insert); err == nil {
					t.Fatalf("the server answers after %s", end.name)
				}
				if err := server.Start(t.Context()); err != nil {
					t.Fatalf("start after %s: %v", end.name, err)
				}
				// The row is there if and only if its twin is refused.
				if err := execute(t.Context(), database, test.insert); err == nil || !strings.Contains(strings.ToLower(err.Error()), "duplicate") {
					t.Errorf("the row did not survive %s: %v", end.name, err)
				}
			}
			if err := server.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(server.dir); !os.IsNotExist(err) {
				t.Errorf("the data are still there: %v", err)
			}
		})
	}
}

func TestAbandonedStartLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, start := range map[string]func(context.Context) (*Server, error){"postgres": NewPostgres, "mariadb": NewMariaDB} {
		if server, err := start(ctx); err == nil {
			t.Errorf("%s started although its context had ended: %v", name, server.Close())
		}
	}
}
