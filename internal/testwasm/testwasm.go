// Package testwasm builds guest modules for tests, from WAT and from Go. A missing tool fails the test that
// needs it: a test that is skipped proves nothing.
package testwasm

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// build is one module, built once a process.
type build struct {
	once sync.Once
	wasm []byte
	err  error
}

var builds sync.Map // of a key to *build

// built runs a command once for key and returns the file that it wrote. Every test that asks for a failed
// build fails.
func built(t testing.TB, key any, command func(out string) *exec.Cmd) []byte {
	t.Helper()
	v, _ := builds.LoadOrStore(key, &build{})
	b := v.(*build)
	b.once.Do(func() { b.wasm, b.err = run(command) })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.wasm
}

func run(command func(out string) *exec.Cmd) ([]byte, error) {
	// Not t.TempDir: the first test that asks may end long before the last.
	dir, err := os.MkdirTemp("", "testwasm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.wasm")
	cmd := command(out)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return os.ReadFile(out)
}

// WAT assembles a module from its text form. The bytes are shared: do not change them.
func WAT(t testing.TB, source string) []byte {
	t.Helper()
	const tool = "wat2wasm"
	if _, err := exec.LookPath(tool); err != nil {
		t.Fatalf("%s is missing: run apt-get update and apt-get install -y --no-install-recommends wabt", tool)
	}
	return built(t, sha256.Sum256([]byte(source)), func(out string) *exec.Cmd {
		cmd := exec.Command(tool, "--enable-tail-call", "-o", out, "-")
		cmd.Stdin = strings.NewReader(source)
		return cmd
	})
}

// WATFile assembles the module at path into a file of the test's own, and returns that file's path.
func WATFile(t testing.TB, path string) string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Base(path), WAT(t, string(source)))
}

// Go builds the Go package in dir as a WASI reactor and returns the path of the module, in a directory of the
// test's own.
func Go(t testing.TB, dir string) string {
	t.Helper()
	return goModule(t, dir, "c-shared")
}

// GoCommand builds the Go program in dir as a WASI command.
func GoCommand(t testing.TB, dir string) string {
	t.Helper()
	return goModule(t, dir, "exe")
}

func goModule(t testing.TB, dir, mode string) string {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	wasm := built(t, mode+" "+dir, func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-buildmode="+mode, "-o", out, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		return cmd
	})
	return write(t, filepath.Base(dir), wasm)
}

func write(t testing.TB, name string, wasm []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
