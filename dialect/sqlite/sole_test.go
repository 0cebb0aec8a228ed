package sqlite_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect/sqlite"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// occupyVariable names a file that this test's own program occupies instead of running tests, until its
// standard input ends.
const occupyVariable = "INBOX_TEST_OCCUPY"

func TestMain(m *testing.M) {
	if file := os.Getenv(occupyVariable); file != "" {
		occupyUntilEnd(file)
		return
	}
	os.Exit(m.Run())
}

func occupyUntilEnd(file string) {
	s, err := sqlite.Open(context.Background(), sqlite.New(), "sqlite:"+file, store.Options{MaxConnections: 1})
	if err == nil {
		_, err = s.(store.Sole).Occupy(context.Background())
	}
	if err != nil {
		os.Stdout.WriteString("refused: " + err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("occupied\n")
	bufio.NewReader(os.Stdin).ReadByte()
}

func open(t *testing.T, file string) store.Sole {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.New(), "sqlite:"+file, store.Options{MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(store.Sole)
}

// TestOccupyIsTheProcessesOwn refuses a second process, whatever link leads it to the file, and leaves
// nothing behind of one that was killed.
func TestOccupyIsTheProcessesOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inbox.db")
	s := open(t, file)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), occupyVariable+"="+link)
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "occupied\n" {
		t.Fatalf("the other process says %q (%v)", line, err)
	}
	if _, err := s.Occupy(t.Context()); err == nil || !strings.Contains(err.Error(), "another process serves "+file) {
		t.Errorf("a file that another process serves: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	release, err := s.Occupy(t.Context())
	if err != nil {
		t.Fatalf("the other process was killed: %v", err)
	}

	// Stores of one process share it, until the last has released it.
	again, err := open(t, link).Occupy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	refused := func() string {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), occupyVariable+"="+file)
		output, _ := child.Output()
		return string(output)
	}
	if got := refused(); !strings.HasPrefix(got, "refused: another process serves") {
		t.Errorf("a second process says %q", got)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	if got := refused(); got != "occupied\n" {
		t.Errorf("a process after the last release says %q", got)
	}
}
