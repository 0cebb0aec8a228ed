package testdb

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startLimit bounds the start of a server; a recovery after a kill is part of it.
const startLimit = time.Minute

// DurableVariable has the servers keep their own defaults for what a commit outlives and how large their logs are, for
// measurements. Without it they are made for tests, which outlive no machine.
const DurableVariable = "INBOX_TEST_DURABLE"

func durable() bool { return os.Getenv(DurableVariable) != "" }

// Server is a private database server: its data lie in a temporary directory, it
// listens on a free port of the loopback, and it ends with this process.
type Server struct {
	// URL names the server as inbox.toml would. On Postgres that is its database
	// postgres, on MariaDB no database at all.
	URL string

	name       string
	dir        string
	port       int
	url        func(port int) string
	command    func(port int) *exec.Cmd
	ping       func(ctx context.Context, port int) error
	create     func(ctx context.Context, serverURL string) (string, error)
	stopSignal syscall.Signal
	killSignal syscall.Signal
	process    *process
}

// Start starts a server that has been stopped or killed, on the same port and the
// same data, and returns once it answers.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()

	logName := filepath.Join(s.dir, "log")
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command(s.port)
	cmd.Stdout, cmd.Stderr = log, log

	// killSignal is what leaves nothing behind, so it serves for our own death too.
	s.process, err = start(cmd, s.killSignal)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.process.done:
			return fmt.Errorf("%s ended while it was starting: %v\n%s", s.name, s.process.err, tail(logName))
		case <-ctx.Done():
			s.process.killGroup()
			return fmt.Errorf("start %s: %w\n%s", s.name, ctx.Err(), tail(logName))
		case <-tick.C:
			if s.ping(ctx, s.port) == nil {
				return nil
			}
		}
	}
}

// Stop ends the server in its own orderly way; its data stay.
func (s *Server) Stop() error { return s.process.end(s.stopSignal) }

// Kill ends the server at once, as a crash does: clients are cut off and the next
// start recovers. Postgres gets a SIGQUIT, because a SIGKILL would leak its shared
// memory and leave its backends running.
func (s *Server) Kill() error { return s.process.end(s.killSignal) }

// Close kills the server and removes its data.
func (s *Server) Close() error {
	err := s.Kill()
	if removed := os.RemoveAll(s.dir); err == nil {
		err = removed
	}
	return err
}

// NewDatabase creates an empty database on the server and returns its URL. It goes
// when the server is closed.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	name, err := s.create(t.Context(), s.URL)
	if err != nil {
		t.Fatalf("create a database on %s: %v", s.name, err)
	}
	return name
}

// launch starts the server for the first time. The port was free when it was chosen
// and may be taken by the time the server binds it, so another is tried then.
func (s *Server) launch(ctx context.Context) (err error) {
	for range 3 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		s.URL = s.url(s.port)
		if err = s.Start(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// newDirectory makes the directory of a server, owned by the account that it runs
// as. It lies in /tmp where TMPDIR is long: a socket's path has to stay below 108 bytes.
func newDirectory(pattern string, account *syscall.Credential) (string, error) {
	parent := os.TempDir()
	if len(parent) > 60 {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil || account == nil {
		return dir, err
	}
	return dir, os.Chown(dir, int(account.Uid), int(account.Gid))
}

// unprivileged is the account for a server that refuses to run as root; nil where
// this process is not root and the server simply runs as it does.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the user id of %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the group id of %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("neither the account postgres nor nobody exists, and Postgres does not run as root")
}

// findBinary looks a server's program up in PATH and then in the places where
// distributions put servers.
func findBinary(name, debianPackage string, patterns ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		// A link in PATH is followed: the programs beside its target belong together.
		return filepath.EvalSymlinks(path)
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(pattern, name))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("the program %s is neither in PATH nor in %v: install the package %s (make test does)", name, patterns, debianPackage)
}

// withDatabase is the URL of another database on the same server.
func withDatabase(serverURL, database string) (string, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}
