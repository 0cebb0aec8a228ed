//go:build unix

package engine

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// mounted is a command that sees a directory at /data, which has a secret beside it.
func mounted(t *testing.T, log *lines, write bool) (*Instance, string) {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "dir")
	put := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(above, "secret"), "SECRET")
	put(filepath.Join(dir, "a.txt"), "hello")
	put(filepath.Join(dir, "sub", "b.txt"), "world")
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
	mount, err := OpenMount(dir, "/data", write)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newEngine(t, Options{CacheDir: compiled}).Load(t.Context(), testwasm.GoCommand(t, "testdata/gocommand"), Limits{})
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
	return instance(t, m, Settings{Env: [][2]string{{"TZ", "Europe/Berlin"}}, Mounts: []*Mount{mount}, Log: log.logger(slog.LevelInfo)}), dir
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
		message, _, _ = strings.Cut(message, " row=")
		out = append(out, strings.Trim(message, `"`))
	}
	return out
}

// wazero#2321: a symbolic link leads out of a mount.
func TestCase36_NoPathLeavesAMount(t *testing.T) {
	for _, write := range []bool{false, true} {
		noPathLeaves(t, write)
	}
}

func noPathLeaves(t *testing.T, write bool) {
	t.Helper()
	log := &lines{}
	i, _ := mounted(t, log, write)
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
	i, _ := mounted(t, log, false)
	if got := strings.Join(printed(t, i, log, "change /data"), " "); got != strings.TrimSpace(strings.Repeat("true ", 9)) {
		t.Errorf("refused: %s", got)
	}
	if got := printed(t, i, log, "paths /data/a.txt"); len(got) != 1 || got[0] != "/data/a.txt hello true" {
		t.Errorf("%q", got)
	}
}

// A mount that is declared so may be changed, and nothing beside it: neither through a name nor through a link, nor
// can a link be made that leads out.
func TestMountsThatMayBeChanged(t *testing.T) {
	log := &lines{}
	i, dir := mounted(t, log, true)
	above := filepath.Dir(dir)
	outside := func() string {
		var names []string
		if err := filepath.WalkDir(above, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path == dir {
				return filepath.SkipDir
			}
			names = append(names, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(above, "secret"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ") + string(text)
	}
	before := outside()
	want := []string{
		"write <nil>", "append <nil>", "read hello again", "create <nil>", "exclusive true", "mkdir <nil>", "rename <nil>", "truncate <nil>", "link <nil>",
		"times 1000", "at <nil> 1X3", "remove <nil>", "rmdir <nil>", "remove a directory that is not empty true", "symlink true", "a pipe true", "remove the mount true",
	}
	if got := printed(t, i, log, "write /data"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "hello again" {
		t.Errorf("the file holds %q: %v", text, err)
	}
	ways := "/data/../secret /data/up /data/absolute /data/dirup/secret /data/dirup/new /data/root/tmp/new /data/twice /data/../new /secret /new"
	for _, line := range printed(t, i, log, "escape "+ways) {
		if !strings.HasSuffix(line, " refused") {
			t.Errorf("a way out: %s", line)
		}
	}
	if after := outside(); after != before {
		t.Errorf("outside of the mount is %s, and was %s", after, before)
	}
}

// The environment holds what the handler allows, and nothing else of the host's.
func TestEnvironmentIsWhatIsAllowed(t *testing.T) {
	log := &lines{}
	i, _ := mounted(t, log, false)
	got := printed(t, i, log, "env ")
	if text := strings.Join(got, " "); !strings.Contains(text, "TZ=Europe/Berlin") || strings.Contains(text, "PATH=") || strings.Contains(text, "HOME=") {
		t.Errorf("%q", got)
	}
}
