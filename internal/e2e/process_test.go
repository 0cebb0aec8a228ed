package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests: for what happens within seconds on an idle machine.
const patience = 2 * time.Minute

// pause is how often a condition is looked at.
const pause = 40 * time.Millisecond

// eventually waits until the condition holds, and fails the test when it does not.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is still not so that %s", patience, what)
		}
		time.Sleep(pause)
	}
}

// process is a run of the program. Its output goes to files, so that a kill loses nothing of it.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	done   chan struct{} // closed when the process has ended
	err    error         // what the wait said; read it after done
	stdout string
	log    string

	// The rest is what has been read of the log.
	offset int64
	rest   []byte
	lines  []line
}

// line is a line of the log.
type line struct {
	Level   string `json:"level"`
	Message string `json:"msg"`
	Row     string `json:"row"`
	Attempt int    `json:"attempt"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	State   string `json:"state"`
	Error   string `json:"error"`
}

// start runs the program. The process ends with the test, and with this process however that ends:
// the kernel kills it with the thread that started it, which is kept for it.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{t: t, done: make(chan struct{}), stdout: filepath.Join(dir, "stdout"), log: filepath.Join(dir, "stderr")}
	p.cmd = exec.Command(program, args...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	stdout, err := os.Create(p.stdout)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = stdout, log
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s\n%s%s", p.cmd, tail(p.stdout), tail(p.log))
		}
	})
	return p
}

// kill ends the process as kill -9 does, stopped or not.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error: it has ended
	<-p.done
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v: %v", s, err)
	}
}

// code waits for the end of the process and returns its exit code, -1 where a signal ended it.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("the process has not ended after %v", patience)
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Fatal(p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// succeed waits for the end of the process, which has to be a success.
func (p *process) succeed() {
	p.t.Helper()
	if code := p.code(); code != 0 {
		p.t.Fatalf("exit code %d", code)
	}
}

// terminate stops the process in its orderly way.
func (p *process) terminate() {
	p.t.Helper()
	eventually(p.t, "the process serves, and so hears signals", func() bool { return p.count(serving) > 0 })
	p.signal(syscall.SIGTERM)
	p.succeed()
}

// output is what the process has printed.
func (p *process) output() string {
	p.t.Helper()
	text, err := os.ReadFile(p.stdout)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// read is the log up to now.
func (p *process) read() []line {
	p.t.Helper()
	file, err := os.Open(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, p.offset, 1<<40))
	if err != nil {
		p.t.Fatal(err)
	}
	p.offset += int64(len(text))
	p.rest = append(p.rest, text...)
	for {
		text, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return p.lines
		}
		p.rest = rest
		if bytes.Contains(text, []byte(`"msg":"accepted"`)) {
			continue // the webhook guest's, thousands of them
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			// A crash or the race detector speaks for itself.
			l = line{Level: "NONE", Message: string(text)}
		}
		p.lines = append(p.lines, l)
	}
}

// count is how many lines of the log pass the test.
func (p *process) count(is func(*line) bool) int {
	p.t.Helper()
	n := 0
	for _, l := range p.read() {
		if is(&l) {
			n++
		}
	}
	return n
}

// says waits for a line that passes the test.
func (p *process) says(what string, is func(*line) bool) {
	p.t.Helper()
	eventually(p.t, "the log has "+what, func() bool { return p.count(is) > 0 || p.ended() })
	if p.count(is) == 0 {
		p.t.Fatalf("the process ended without %s", what)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// called passes the line by which the guest of testdata reports a call about the row.
func called(id string) func(*line) bool {
	return func(l *line) bool { return l.Message == "called" && (id == "" || l.Row == id) }
}

// settled passes the line of a settlement that took effect; an empty id or outcome is any.
func settled(id, outcome string) func(*line) bool {
	return func(l *line) bool {
		return l.Message == "settled" && (id == "" || l.Row == id) && (outcome == "" || l.Outcome == outcome)
	}
}

// serving passes the line of a process that has started.
func serving(l *line) bool { return l.Message == "serving" }

// lost passes the line of a delivery that found its row taken; an empty id is any.
func lost(id string) func(*line) bool {
	return func(l *line) bool { return strings.HasPrefix(l.Message, "lease lost") && (id == "" || l.Row == id) }
}

// starting passes lines that begin with the text.
func starting(text string) func(*line) bool {
	return func(l *line) bool { return strings.HasPrefix(l.Message, text) }
}

// tail is the end of a file, for a failure's report.
func tail(name string) string {
	const most = 2 << 10
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
