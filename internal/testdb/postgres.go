package testdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PostgresVariable holds the URL of the server whose databases Postgres hands out.
const PostgresVariable = "INBOX_TEST_POSTGRES"

// PostgresBinariesVariable names the folder of a PostgreSQL server's programs, to test another version than
// that in PATH.
const PostgresBinariesVariable = "INBOX_TEST_POSTGRES_BIN"

// Postgres returns the URL of an empty database, which goes when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	return fresh(t, PostgresVariable, createPostgres, dropPostgres)
}

// StartPostgres starts a server for a test that stops or kills it. The test's end
// closes it.
func StartPostgres(t testing.TB) *Server {
	t.Helper()
	return private(t, NewPostgres)
}

// NewPostgres starts a private Postgres server; the caller closes it.
func NewPostgres(ctx context.Context) (*Server, error) {
	postgres, err := findPostgres()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory("inbox-pg-", account)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
		return cmd
	}

	// Nothing here survives the machine, so what is made here is not synced to its disk.
	initdb := command(filepath.Join(filepath.Dir(postgres), "initdb"), "-D", data, "-U", "postgres",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err := run(ctx, initdb, filepath.Join(dir, "initdb.log")); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	server := &Server{
		name: "Postgres",
		dir:  dir,
		url: func(port int) string {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		},
		command: func(port int) *exec.Cmd {
			args := []string{"-D", data, "-k", dir, "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-c", "max_connections=200"}
			if !durable() {
				args = append(args, "-c", "fsync=off")
			}
			return command(postgres, args...)
		},
		// The socket in our own directory proves that it is our server that answers,
		// and not another that took the port.
		ping: func(ctx context.Context, port int) error {
			conn, err := pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres", dir, port))
			if err != nil {
				return err
			}
			return conn.Close(ctx)
		},
		create:     createPostgres,
		stopSignal: syscall.SIGINT,
		killSignal: syscall.SIGQUIT,
	}
	if err := server.launch(ctx); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return server, nil
}

func findPostgres() (string, error) {
	if folder := os.Getenv(PostgresBinariesVariable); folder != "" {
		return filepath.Abs(filepath.Join(folder, "postgres"))
	}
	return findBinary("postgres", "postgresql", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
}

func createPostgres(ctx context.Context, serverURL string) (string, error) {
	name := randomName()
	if err := execPostgres(ctx, serverURL, `CREATE DATABASE "`+name+`"`); err != nil {
		return "", err
	}
	return withDatabase(serverURL, name)
}

// dropPostgres cuts off the sessions that a test left open: they are its own business. The drop waits for
// their ends; WITH (FORCE) would do both, but not before version 13.
func dropPostgres(ctx context.Context, serverURL, name string) error {
	end := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'"
	if err := execPostgres(ctx, serverURL, end); err != nil {
		return err
	}
	return execPostgres(ctx, serverURL, `DROP DATABASE "`+name+`"`)
}

func execPostgres(ctx context.Context, serverURL, sql string) error {
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}
