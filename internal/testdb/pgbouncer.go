package testdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// poolSize is how many sessions of the server a pooler shares between its clients. A test may have as
// many transactions open at a time.
const poolSize = 20

// StartPgBouncer puts a private PgBouncer in front of the server of a Postgres URL and gives the same
// URL through it. The mode is session, transaction or statement; maxPrepared is how many prepared
// statements it keeps track of, none at 0. A version that cannot keep any skips a test that wants it to.
// It takes everybody in as the user postgres, and goes when the test ends.
func StartPgBouncer(t testing.TB, databaseURL, mode string, maxPrepared int) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	program, err := findBinary("pgbouncer", "pgbouncer", "/usr/sbin", "/usr/local/sbin", "/usr/local/bin")
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"pool_mode = " + mode}
	if tracksPrepared(t, program) {
		// Written down even where it is 0, because the default differs between versions.
		settings = append(settings, "max_prepared_statements = "+strconv.Itoa(maxPrepared))
	} else if maxPrepared > 0 {
		t.Skip("this PgBouncer is older than 1.21, the first with max_prepared_statements")
	}
	server := private(t, func(ctx context.Context) (*Server, error) {
		return newPgBouncer(ctx, program, u, settings)
	})
	return server.URL
}

// tracksPrepared reports whether a PgBouncer knows max_prepared_statements, which came with 1.21.
func tracksPrepared(t testing.TB, program string) bool {
	t.Helper()
	output, err := exec.Command(program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?i)pgbouncer (\d+)\.(\d+)`).FindSubmatch(output)
	if found == nil {
		t.Fatalf("%s gives its version as %q", program, output)
	}
	major, minor := string(found[1]), string(found[2])
	n, err := strconv.Atoi(minor)
	return err == nil && (major != "1" || n >= 21)
}

func newPgBouncer(ctx context.Context, program string, behind *url.URL, settings []string) (*Server, error) {
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory("inbox-bouncer-", account)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	server := &Server{
		name: "PgBouncer",
		dir:  dir,
		url: func(port int) string {
			through := *behind
			through.Host = fmt.Sprintf("127.0.0.1:%d", port)
			return through.String()
		},
		command: func(port int) *exec.Cmd {
			// The file says the port, which another one replaces where it was taken. What goes wrong
			// here shows when the pooler reads it.
			_ = os.WriteFile(config, pgBouncerConfig(behind, dir, port, settings), 0o644)
			cmd := exec.Command(program, config)
			cmd.Dir = dir
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
			return cmd
		},
		// The socket in our own directory proves that it is our pooler that answers.
		ping: func(ctx context.Context, port int) error {
			conn, err := pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", dir, port, strings.TrimPrefix(behind.Path, "/")))
			if err != nil {
				return err
			}
			return conn.Close(ctx)
		},
		stopSignal: syscall.SIGINT,
		killSignal: syscall.SIGKILL,
	}
	if err := server.launch(ctx); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return server, nil
}

// pgBouncerConfig keeps every default that a client can feel: ignore_startup_parameters for one.
func pgBouncerConfig(behind *url.URL, dir string, port int, settings []string) []byte {
	lines := append([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s user=postgres", behind.Hostname(), behind.Port()),
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		fmt.Sprintf("listen_port = %d", port),
		"unix_socket_dir = " + dir,
		"auth_type = any",
		"max_client_conn = 200",
		fmt.Sprintf("default_pool_size = %d", poolSize),
	}, settings...)
	return []byte(strings.Join(lines, "\n") + "\n")
}
