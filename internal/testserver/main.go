// Command testserver runs a command beside private database servers:
//
//	go run ./internal/testserver -- go test ./...
//
// It starts one Postgres and one MariaDB with their data in temporary directories,
// tells the command their addresses in INBOX_TEST_POSTGRES and INBOX_TEST_MARIADB,
// stops both when the command ends, and exits with the command's code (which
// `go run` turns into 1). Nothing that it started outlives it. With -durable the servers
// keep what they commit as they do by default, which is slower than tests need.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// patience is how long an interrupted command may take to end.
const patience = 10 * time.Second

// servers is what the command gets. A new one is a line here.
var servers = []struct {
	variable string
	start    func(context.Context) (*testdb.Server, error)
}{
	{testdb.PostgresVariable, testdb.NewPostgres},
	{testdb.MariaDBVariable, testdb.NewMariaDB},
}

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/testserver [-durable] -- COMMAND ARGS...")
	}
	durable := flag.Bool("durable", false, "let commits outlive the machine, for measurements")
	flag.Parse()
	if *durable {
		os.Setenv(testdb.DurableVariable, "1")
	}
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// `go run` does not pass a SIGTERM or its own death on: without this, a run that is
	// killed from outside would go on unseen. The setting belongs to the thread.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
		return 1, fmt.Errorf("ask to be told of the parent's death: %w", err)
	}

	began := time.Now()
	running, err := startAll(signals)
	defer func() {
		for _, server := range running {
			if closed := server.Close(); closed != nil {
				code, err = max(code, 1), errors.Join(err, closed)
			}
		}
	}()
	if err != nil {
		return 1, err
	}
	environment := os.Environ()
	for i, server := range running {
		environment = append(environment, servers[i].variable+"="+server.URL)
		fmt.Fprintf(os.Stderr, "testserver: %s=%s\n", servers[i].variable, server.URL)
	}
	fmt.Fprintf(os.Stderr, "testserver: %d servers started in %.1f s\n", len(running), time.Since(began).Seconds())
	return runCommand(args, environment, signals)
}

// startAll starts the servers side by side. A signal abandons the start. On an error
// it returns the servers that did start, so that they are closed.
func startAll(signals <-chan os.Signal) ([]*testdb.Server, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started := make([]*testdb.Server, len(servers))
	failures := make([]error, len(servers))
	var pending sync.WaitGroup
	for i, server := range servers {
		pending.Go(func() { started[i], failures[i] = server.start(ctx) })
	}
	done := make(chan struct{})
	go func() { pending.Wait(); close(done) }()
	select {
	case <-done:
	case received := <-signals:
		cancel(fmt.Errorf("stopped by the signal %q before the servers were up", received))
		<-done
	}

	if err := errors.Join(append(failures, context.Cause(ctx))...); err != nil {
		var running []*testdb.Server
		for _, server := range started {
			if server != nil {
				running = append(running, server)
			}
		}
		return running, err
	}
	return started, nil
}

// runCommand runs the command with our own standard streams and returns its exit
// code, or 128 and the signal's number where one ended it. Signals are passed on; a
// command that does not end on one is killed after a while.
func runCommand(args, environment []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// At a terminal the command shares our process group, so that it can be a shell
	// and gets an interrupt directly. Elsewhere it leads its own, and a signal reaches
	// all of it: `go test` would leave its test binaries behind.
	interactive := term.IsTerminal(int(os.Stdin.Fd()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !interactive, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	target := cmd.Process.Pid
	if !interactive {
		target = -target
	}

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var tooLate <-chan time.Time
	for {
		select {
		case err := <-ended:
			if err == nil {
				return 0, nil
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return 1, err
			}
			if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return exit.ExitCode(), nil
		case received := <-signals:
			if interactive && received == syscall.SIGINT {
				continue
			}
			_ = syscall.Kill(target, received.(syscall.Signal)) // an error: it has just ended
			if tooLate == nil {
				tooLate = time.After(patience)
			}
		case <-tooLate:
			_ = syscall.Kill(target, syscall.SIGKILL)
		}
	}
}
