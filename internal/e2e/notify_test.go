package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// manager stands in for systemd: it listens at a socket as NOTIFY_SOCKET names it.
type manager struct {
	mu       sync.Mutex
	messages []string
}

// newManager listens until the test ends. The program that is started next speaks to it.
func newManager(t *testing.T, watchdog time.Duration) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	m, done := &manager{}, make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 8<<10)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.messages = append(m.messages, string(buffer[:n]))
			m.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
		os.RemoveAll(dir)
	})
	t.Setenv("NOTIFY_SOCKET", path)
	if watchdog > 0 {
		t.Setenv("WATCHDOG_USEC", strconv.FormatInt(watchdog.Microseconds(), 10))
	}
	return m
}

// said gives the messages from one on.
func (m *manager) said(from int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.messages[from:])
}

// count is how many messages there are.
func (m *manager) count() int { return len(m.said(0)) }

// hears waits for a message with a line that begins so, and gives the line and the number of the message after it.
func (m *manager) hears(t *testing.T, from int, start string) (line string, next int) {
	t.Helper()
	eventually(t, "the manager hears "+start, func() bool {
		for i, message := range m.said(from) {
			for l := range strings.Lines(message) {
				if l = strings.TrimSuffix(l, "\n"); strings.HasPrefix(l, start) {
					line, next = l, from+i+1
					return true
				}
			}
		}
		return false
	})
	return line, next
}

// A manager is told of the start, of reloads that work and that do not, of the stop, and that the program lives.
func TestTheManagerIsTold(t *testing.T) {
	m := newManager(t, 900*time.Millisecond)
	b := newInbox(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, options{module: slow(t), runtime: `drain_timeout = "7s"`})
	if n := m.count(); n > 0 {
		t.Errorf("a command that serves nothing says %q", m.said(0))
	}
	p := b.start("serve")
	_, at := m.hears(t, 0, "READY=1")
	for range 3 {
		_, at = m.hears(t, at, "WATCHDOG=1")
	}

	p.signal(syscall.SIGHUP)
	line, at := m.hears(t, at, "MONOTONIC_USEC=")
	if !strings.HasPrefix(m.said(at - 1)[0], "RELOADING=1\n") {
		t.Errorf("%q", m.said(at - 1)[0])
	}
	if n, err := strconv.ParseInt(strings.TrimPrefix(line, "MONOTONIC_USEC="), 10, 64); err != nil || n <= 0 {
		t.Errorf("%s: %v", line, err)
	}
	_, at = m.hears(t, at, "READY=1")

	good, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(good) + "\n[handlers.work.confg]\n")
	p.signal(syscall.SIGHUP)
	_, at = m.hears(t, at, "RELOADING=1")
	_, at = m.hears(t, at, "READY=1")
	if line, at = m.hears(t, at, "STATUS="); !strings.Contains(line, "the last reload was refused: ") || !strings.Contains(line, "handlers.work.confg: unknown key") {
		t.Error(line)
	}
	write(string(good))
	p.signal(syscall.SIGHUP)
	_, at = m.hears(t, at, "READY=1")
	if line, at = m.hears(t, at, "STATUS="); strings.Contains(line, "refused") {
		t.Error(line)
	}

	p.signal(syscall.SIGTERM)
	_, stopping := m.hears(t, at, "STOPPING=1")
	if line, _ := m.hears(t, at, "EXTEND_TIMEOUT_USEC="); line != "EXTEND_TIMEOUT_USEC=37000000" {
		t.Error(line)
	}
	p.succeed()
	for _, message := range m.said(stopping) {
		if strings.Contains(message, "READY=1") {
			t.Errorf("after the stop has begun the manager hears %q", message)
		}
	}
}

// A start that fails is never ready.
func TestTheManagerIsNotToldOfAStartThatFails(t *testing.T) {
	m := newManager(t, 0)
	b := newInbox(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, options{module: slow(t)})
	if _, err := b.db.Exec("DROP TABLE jobs"); err != nil {
		t.Fatal(err)
	}
	if code := b.start("serve").code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, message := range m.said(0) {
		if !strings.HasPrefix(message, "STATUS=") {
			t.Errorf("the manager hears %q", message)
		}
	}
}
