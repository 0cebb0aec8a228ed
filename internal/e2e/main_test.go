// Package e2e tests the built program as its users run it: as a process on a database, which is
// killed, stopped, continued, and cut off from its server.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// shared is the folder of this run: the program, built once, and the cache of compiled modules, so that
// the guest is compiled once.
var shared string

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == dieCommand {
		os.Exit(die(os.Args[2], os.Args[3], os.Args[4]))
	}
	// The tests that run beside each other wait most of the time, so that the processors are no measure.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "inbox-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var (
	plainProgram = sync.OnceValues(func() (string, error) { return build("inbox-wasm") })
	raceProgram  = sync.OnceValues(func() (string, error) { return build("inbox-wasm-race", "-race") })
)

func build(name string, flags ...string) (string, error) {
	out := filepath.Join(shared, name)
	args := append([]string{"build", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, "../../cmd/inbox-wasm")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return out, nil
}
