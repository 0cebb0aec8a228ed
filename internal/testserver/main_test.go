package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "testserver")
	if output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

func TestExitCodeIsTheCommands(t *testing.T) {
	var stderr bytes.Buffer
	cmd := exec.Command(build(t), "--", "sh", "-c", `test -n "$INBOX_TEST_POSTGRES" && test -n "$INBOX_TEST_MARIADB" && exit 7`)
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, want exit code 7\n%s", err, &stderr)
	}
}

// TestNothingOutlivesIt ends the program in each way and looks for its servers.
func TestNothingOutlivesIt(t *testing.T) {
	program := build(t)
	temporary := temporaryDirectory(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, "--", "sh", "-c",
				`echo "$INBOX_TEST_POSTGRES"; echo "$INBOX_TEST_MARIADB"; echo $$; exec sleep 1000`)
			cmd.Stderr = os.Stderr
			cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for scanner := bufio.NewScanner(stdout); len(lines) < 3 && scanner.Scan(); {
				lines = append(lines, scanner.Text())
			}
			if len(lines) < 3 {
				t.Fatalf("the command printed %q, and then: %v", lines, cmd.Wait())
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the exit code of an interrupted run is 0")
			}
			for _, server := range lines[:2] {
				u, err := url.Parse(server)
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, server+" to be closed", func() bool {
					conn, err := net.Dial("tcp", u.Host)
					if err == nil {
						conn.Close()
					}
					return err != nil
				})
			}
			eventually(t, "the command to end", func() bool {
				state, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", lines[2]))
				return err != nil || strings.Contains(string(state), ") Z ")
			})
		})
	}
}

// temporaryDirectory is for the data that a program killed with SIGKILL cannot
// remove. t.TempDir has too long a path, and the servers' account may not enter it.
func temporaryDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "inbox-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// eventually polls the condition, for ten seconds at most.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited ten seconds for %s", what)
		case <-tick.C:
		}
	}
}
