//go:build unix

package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// mounted is a command that sees a directory at /data, which has a secret beside it.
func mounted(t *testing.T, log *lines) *Instance {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "dir")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(above, "secret"), "SECRET")
	write(filepath.Join(dir, "a.txt"), "hello")
	write(filepath.Join(dir, "sub", "b.txt"), "world")
	for name, target := range map[string]string{
		"inner": "sub/b.txt", "up": "../secret", "absolute": filepath.Join(above, "secret"), "dirup": "..", "root": "/", "twice": "dirup/secret",
		"self": "self", "proc": "/proc/self/root",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	mount, err := OpenMount(dir, "/data")
	if err != nil {
		t.Fatal(err)
	}
	m, err := newEngine(t, Options{}).Load(t.Context(), testwasm.GoCommand(t, "testdata/gocommand"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := mount.Close(); err != nil {
			t.Error(err)
		}
	})
	return instance(t, m, Settings{Env: [][2]string{{"TZ", "Europe/Berlin"}}, Mounts: []*Mount{mount}, Log: log.logger(slog.LevelInfo)})
}

// said runs the command and gives the lines that it printed.
func printed(t *testing.T, i *Instance, log *lines, input string) []string {
	t.Helper()
	before := len(log.all())
	if r := i.Handle(t.Context(), &Message{Subscription: "work", ID: []byte("1"), Payload: []byte(input), Timeout: 10 * time.Second}); r.Code != abi.Ack {
		t.Fatalf("%s: %+v", input, r)
	}
	var out []string
	for _, line := range log.all()[before:] {
		_, message, _ := strings.Cut(line, "msg=")
		message, _, _ = strings.Cut(message, " subscription=work")
		out = append(out, strings.Trim(message, `"`))
	}
	return out
}

// wazero#2321: a symbolic link leads out of a mount.
func TestCase36_NoPathLeavesAMount(t *testing.T) {
	log := &lines{}
	i := mounted(t, log)
	good := map[string]string{"/data/a.txt": "hello", "/data/sub/b.txt": "world", "/data/inner": "world", "/data/sub/../a.txt": "hello"}
	paths := []string{"/data/../secret", "/data/up", "/data/absolute", "/data/dirup/secret", "/data/root/etc/passwd", "/data/twice", "/data/self",
		"/data/proc/etc/passwd", "/secret", "/etc/passwd", "/", "/data/sub/../../secret", "/data//../secret", "/data/./../secret",
		"/data/sub/../../../../../../../../etc/passwd", "/data/pipe", "/data/a.txt/../../secret"}
	for path := range good {
		paths = append(paths, path)
	}
	for _, line := range printed(t, i, log, "paths "+strings.Join(paths, " ")) {
		path, text, _ := strings.Cut(line, " ")
		want := " false"
		if good[path] != "" {
			want = good[path] + " true"
		}
		if text != want {
			t.Errorf("%s: %q, want %q", path, text, want)
		}
	}
	if got := printed(t, i, log, "list /data"); len(got) != 1 || !strings.Contains(got[0], "a.txt") || !strings.Contains(got[0], "sub") {
		t.Errorf("%q", got)
	}
}

func TestMountsAreReadOnly(t *testing.T) {
	log := &lines{}
	i := mounted(t, log)
	if got := strings.Join(printed(t, i, log, "change /data"), " "); got != strings.TrimSpace(strings.Repeat("true ", 9)) {
		t.Errorf("refused: %s", got)
	}
	if got := printed(t, i, log, "paths /data/a.txt"); len(got) != 1 || got[0] != "/data/a.txt hello true" {
		t.Errorf("%q", got)
	}
}

// The environment holds what the handler allows, and nothing else of the host's.
func TestEnvironmentIsWhatIsAllowed(t *testing.T) {
	log := &lines{}
	got := printed(t, mounted(t, log), log, "env ")
	if text := strings.Join(got, " "); !strings.Contains(text, "TZ=Europe/Berlin") || strings.Contains(text, "PATH=") || strings.Contains(text, "HOME=") {
		t.Errorf("%q", got)
	}
}
