package testdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// MySQLVariable names a folder into which a MySQL server was unpacked with the libraries that it needs, as
// scripts/servers.sh does. Where it is set, every MariaDB server of the tests is this MySQL instead: what
// holds for one has to hold for the other.
const MySQLVariable = "INBOX_TEST_MYSQL_ROOT"

// newMySQL starts a private MySQL server from such a folder; the caller closes it.
func newMySQL(ctx context.Context, root string) (*Server, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory("inbox-mysql-", nil)
	if err != nil {
		return nil, err
	}
	data, socket, admit := filepath.Join(dir, "data"), filepath.Join(dir, "socket"), filepath.Join(dir, "admit.sql")
	usr := filepath.Join(root, "usr")
	command := func(args ...string) *exec.Cmd {
		// Through its own loader, because the machine's C library may be older than the server's.
		args = append([]string{"--library-path", filepath.Join(usr, "lib", "x86_64-linux-gnu"), filepath.Join(usr, "sbin", "mysqld"),
			"--no-defaults", "--datadir=" + data, "--basedir=" + usr,
			"--lc-messages-dir=" + filepath.Join(usr, "share", "mysql"),
			"--character-sets-dir=" + filepath.Join(usr, "share", "mysql", "charsets"),
			"--plugin-dir=" + filepath.Join(usr, "lib", "mysql", "plugin"),
			"--secure-file-priv=NULL", "--mysqlx=OFF"}, args...)
		if !durable() {
			args = append(args, "--innodb-redo-log-capacity=16M", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=2")
		}
		if os.Geteuid() == 0 {
			args = append(args, "--user=root") // it refuses to be root unless it is told to
		}
		cmd := exec.Command(filepath.Join(usr, "lib64", "ld-linux-x86-64.so.2"), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		return cmd
	}
	fail := func(err error) (*Server, error) {
		os.RemoveAll(dir)
		return nil, err
	}
	// Names are not resolved, so that the root of localhost is nobody who comes over the network.
	const users = "CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';\nGRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;\n"
	if err := os.WriteFile(admit, []byte(users), 0o600); err != nil {
		return fail(err)
	}
	if err := run(ctx, command("--initialize-insecure"), filepath.Join(dir, "install.log")); err != nil {
		return fail(err)
	}
	server := &Server{
		name: "MySQL",
		dir:  dir,
		url:  func(port int) string { return fmt.Sprintf("mysql://root@127.0.0.1:%d/", port) },
		command: func(port int) *exec.Cmd {
			return command("--socket="+socket, "--pid-file="+filepath.Join(dir, "pid"), "--port="+strconv.Itoa(port),
				"--bind-address=127.0.0.1", "--skip-name-resolve", "--max-connections=300", "--init-file="+admit)
		},
		ping: func(ctx context.Context, port int) error {
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
		return fail(err)
	}
	return server, nil
}
