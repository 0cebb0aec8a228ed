package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MariaDBVariable holds the URL of the server whose databases MariaDB hands out.
const MariaDBVariable = "INBOX_TEST_MARIADB"

// MariaDB returns the URL of an empty database, which goes when the test ends.
func MariaDB(t testing.TB) string {
	t.Helper()
	return fresh(t, MariaDBVariable, createMariaDB, dropMariaDB)
}

// StartMariaDB starts a server for a test that stops or kills it. The test's end
// closes it.
func StartMariaDB(t testing.TB) *Server {
	t.Helper()
	return private(t, NewMariaDB)
}

// NewMariaDB starts a private MariaDB server, or the MySQL of [MySQLVariable]; the caller closes it.
func NewMariaDB(ctx context.Context) (*Server, error) {
	if root := os.Getenv(MySQLVariable); root != "" {
		return newMySQL(ctx, root)
	}
	mariadbd, err := findBinary("mariadbd", "mariadb-server-core", "/usr/sbin", "/usr/local/sbin")
	if err != nil {
		return nil, err
	}
	install, err := findBinary("mariadb-install-db", "mariadb-server-core", "/usr/bin", "/usr/local/bin")
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory("inbox-maria-", nil)
	if err != nil {
		return nil, err
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	command := func(program string, args ...string) *exec.Cmd {
		// --no-defaults has to come first, or the machine's own settings are read.
		first := []string{"--no-defaults", "--datadir=" + data, "--skip-name-resolve"}
		if !durable() {
			// A commit outlives the server, and need not outlive the machine.
			first = append(first, "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=2")
		}
		args = append(first, args...)
		if os.Geteuid() == 0 {
			args = append(args, "--user=root") // it refuses to be root unless it is told to
		}
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		// A server that starts removes the temporary tables that it finds, those of other
		// servers too, so that each needs a place of its own for them.
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		return cmd
	}

	installation := command(install, "--auth-root-authentication-method=normal", "--skip-test-db")
	if err := run(ctx, installation, filepath.Join(dir, "install.log")); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	server := &Server{
		name: "MariaDB",
		dir:  dir,
		url:  func(port int) string { return fmt.Sprintf("mariadb://root@127.0.0.1:%d/", port) },
		command: func(port int) *exec.Cmd {
			return command(mariadbd, "--socket="+socket, "--pid-file="+filepath.Join(dir, "pid"),
				"--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--skip-networking=0",
				"--max-connections=300",
				// For events_transactions_current: information_schema.innodb_trx is a copy, which the
				// server renews only when nobody has read it for 0.1 s.
				"--performance-schema=ON", "--performance-schema-instrument=transaction=ON",
				"--performance-schema-consumer-events-transactions-current=ON")
		},
		// The socket in our own directory proves that it is our server that answers,
		// and not another that took the port.
		ping: func(ctx context.Context, _ int) error {
			db, err := openMariaDB("unix", socket, "root")
			if err != nil {
				return err
			}
			defer db.Close()
			return db.PingContext(ctx)
		},
		create:     createMariaDB,
		stopSignal: syscall.SIGTERM,
		killSignal: syscall.SIGKILL,
	}
	if err := server.launch(ctx); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return server, nil
}

func createMariaDB(ctx context.Context, serverURL string) (string, error) {
	db, err := openMariaDBURL(serverURL)
	if err != nil {
		return "", err
	}
	defer db.Close()
	name := randomName()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4"); err != nil {
		return "", err
	}
	return withDatabase(serverURL, name)
}

// dropMariaDB cuts off the sessions that a test left open, whose transactions would
// hold the drop up: they are the test's own business.
func dropMariaDB(ctx context.Context, serverURL, name string) error {
	db, err := openMariaDBURL(serverURL)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = ?", name)
	if err != nil {
		return err
	}
	defer rows.Close()
	var sessions []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		sessions = append(sessions, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range sessions {
		// A session that has ended in the meantime is what we want, not an error.
		_, _ = db.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10))
	}
	_, err = db.ExecContext(ctx, "DROP DATABASE `"+name+"`")
	return err
}

func openMariaDBURL(serverURL string) (*sql.DB, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return nil, err
	}
	return openMariaDB("tcp", u.Host, u.User.Username())
}

func openMariaDB(network, address, user string) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = network, address, user
	// A ping of a server that is still starting is no news.
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
