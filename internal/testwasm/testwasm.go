// Package testwasm builds guest modules for tests, from WAT and from Go. A missing tool fails the test that
// needs it: a test that is skipped proves nothing.
package testwasm

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// C builds a handler in C without a C library, as guest-sdk/c says.
func C(t testing.TB, file string) string {
	t.Helper()
	return clang(t, file, "c", "-std=c11")
}

// CXX builds a source that is C++ too as C++.
func CXX(t testing.TB, file string) string {
	t.Helper()
	return clang(t, file, "c++", "-std=c++17", "-fno-exceptions", "-fno-rtti")
}

func clang(t testing.TB, file, language string, options ...string) string {
	t.Helper()
	compiler, linker := tool(t, "clang-14", "clang"), tool(t, "wasm-ld-14", "wasm-ld")
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	wasm := built(t, language+" "+file, func(out string) *exec.Cmd {
		args := append(options, "--target=wasm32", "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-Werror", "-nostdlib", "-fuse-ld="+linker,
			"-Wl,--no-entry,--stack-first", "-x", language, "-o", out, file)
		return exec.Command(compiler, args...)
	})
	return write(t, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), wasm)
}

// tool is the path of the first of some programs that is there.
func tool(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("%s is missing: run scripts/install.sh", strings.Join(names, " or "))
	return ""
}

// Rust builds the crate in dir, a cdylib of that name, for wasm32-unknown-unknown.
func Rust(t testing.TB, dir string) string {
	t.Helper()
	cargo := rustTool(t, "cargo")
	linker := tool(t, "wasm-ld-14", "wasm-ld") // Debian's Rust has libraries that later ones do not read
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	const target = "wasm32-unknown-unknown"
	wasm := built(t, "rust "+dir, func(out string) *exec.Cmd {
		build := filepath.Dir(out)
		cmd := exec.Command("sh", "-c", `"$0" build --release --offline --locked --target `+target+` --target-dir "$1" && cp "$1"/`+target+`/release/*.wasm "$2"`, cargo, build, out)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RUSTC="+rustTool(t, "rustc"), "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="+linker)
		return cmd
	})
	return write(t, filepath.Base(dir), wasm)
}

// rustTool is a program of a Rust that has a standard library for WebAssembly: the one that comes first may have none.
func rustTool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/bin/"} {
		sysroot, err := exec.Command(dir+"rustc", "--print", "sysroot").Output()
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(sysroot)), "lib", "rustlib", "wasm32-unknown-unknown")); err == nil {
			if path, err := exec.LookPath(dir + name); err == nil {
				return path
			}
		}
	}
	t.Fatalf("%s for wasm32-unknown-unknown is missing: run scripts/install.sh", name)
	return ""
}

// AssemblyScript builds a handler with the compiler that npm has installed beside it.
func AssemblyScript(t testing.TB, file string) string {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := tool(t, filepath.Join(filepath.Dir(file), "node_modules", ".bin", "asc"))
	wasm := built(t, "assemblyscript "+file, func(out string) *exec.Cmd {
		cmd := exec.Command(compiler, filepath.Base(file), "-O3", "-o", out)
		cmd.Dir = filepath.Dir(file)
		return cmd
	})
	return write(t, strings.TrimSuffix(filepath.Base(file), ".ts"), wasm)
}

// JavaScript builds a handler with what npm has installed beside it.
func JavaScript(t testing.TB, file string) string {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	builder := tool(t, filepath.Join(filepath.Dir(file), "node_modules", ".bin", "inbox-wasm-build"))
	wasm := built(t, "javascript "+file, func(out string) *exec.Cmd {
		return exec.Command(builder, file, "-o", out)
	})
	return write(t, strings.TrimSuffix(filepath.Base(file), ".js"), wasm)
}

// ZigFolder is where scripts/install.sh puts a Zig.
func ZigFolder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "tools", "zig")
}

// Zig builds the handler in dir, a program.
func Zig(t testing.TB, dir string) string {
	t.Helper()
	compiler := zig(t)
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	wasm := built(t, "zig "+dir, func(out string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", `"$0" build --prefix "$1" && cp "$1"/bin/*.wasm "$2"`, compiler, filepath.Dir(out), out)
		cmd.Dir = dir
		return cmd
	})
	return write(t, filepath.Base(dir), wasm)
}

// ZigTests runs the tests of what is in dir.
func ZigTests(t testing.TB, dir string) {
	t.Helper()
	cmd := exec.Command(zig(t), "build", "test")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s in %s: %v\n%s", cmd, dir, err, out)
	}
}

func zig(t testing.TB) string {
	t.Helper()
	return tool(t, "zig", filepath.Join(ZigFolder(), "zig"))
}
