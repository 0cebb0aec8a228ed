package engine

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// The Go toolchain's reactors work: //go:wasmexport, initialisation, goroutines, clocks, the collector. One
// test, because compiling three megabytes takes ten seconds under the race detector.
func TestGoGuest(t *testing.T) {
	wasm, err := os.ReadFile(testwasm.Go(t, "testdata/goguest"))
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, newEngine(t, Options{}), "goguest", wasm, Limits{Memory: 16 << 20})
	t.Run("Case40_MemoryIsBounded", func(t *testing.T) { goMemory(t, m) })
	t.Run("Functions", func(t *testing.T) { goFunctions(t, m) })
	t.Run("Failures", func(t *testing.T) { goFailures(t, m) })
	t.Run("Refusal", func(t *testing.T) { goRefusal(t, m) })
}

func order(what string) *Message {
	return &Message{Payload: fmt.Appendf(nil, `{"do":%q,"items":[]}`, what), Timeout: 30 * time.Second}
}

// A Go reactor's memory grew with every call (knqyf263/go-plugin#78).
func goMemory(t *testing.T, m *Module) {
	i := instance(t, m, Settings{})
	waste := order("waste") // 3 GiB in all
	var early int64
	for n := range 50_000 {
		r := i.Handle(t.Context(), waste)
		if r.Failure != None || r.Code != abi.Ack || !r.Reusable {
			t.Fatalf("call %d: %+v", n, r)
		}
		if n == 1000 {
			early = r.Memory
		}
	}
	if late := i.Memory(); late > early+early/10 {
		t.Errorf("the memory grew from %d to %d bytes", early, late)
	}
}

func goFunctions(t *testing.T, m *Module) {
	out := &lines{}
	fresh := func() *Instance { return instance(t, m, Settings{Log: out.logger(slog.LevelInfo)}) }
	i := fresh()

	later := order("later")
	later.Attempt = 7
	if r := i.Handle(t.Context(), later); r.Code != abi.RetryAfter || r.Delay != 7*time.Second {
		t.Errorf("later: %+v", r)
	}
	if r := i.Handle(t.Context(), &Message{Payload: []byte("{")}); r.Code != abi.DeadLetter || r.Reason != "unexpected end of JSON input" {
		t.Errorf("bad JSON: %+v", r)
	}
	if r := i.Handle(t.Context(), &Message{Payload: []byte{}}); r.Code != abi.DeadLetter {
		t.Errorf("no payload: %+v", r)
	}
	before := time.Now().UnixNano()
	r := i.Handle(t.Context(), order("time"))
	if at, err := strconv.ParseInt(r.Reason, 10, 64); err != nil || at < before || at > time.Now().UnixNano() {
		t.Errorf("time: %+v, %v", r, err)
	}
	if r := i.Handle(t.Context(), order("nap")); r.Failure != None || r.Code != abi.Ack {
		t.Errorf("nap: %+v", r)
	}
	if r := i.Handle(t.Context(), order("say")); r.Failure != None {
		t.Errorf("say: %+v", r)
	}
	if got := strings.Join(out.all(), "\n"); !strings.Contains(got, `msg="to stdout"`) || !strings.Contains(got, `level=WARN msg="to stderr"`) {
		t.Error(got)
	}
	other := fresh()
	if a, b := i.Handle(t.Context(), order("random")), other.Handle(t.Context(), order("random")); a.Reason == "" || a.Reason == b.Reason {
		t.Errorf("random: %q and %q", a.Reason, b.Reason)
	}
}

func goFailures(t *testing.T, m *Module) {
	for do, want := range map[string]struct {
		failure Failure
		reason  string
	}{
		"panic": {Trap, "unreachable"},
		"exit":  {Exit, "proc_exit(0)"},
		"loop":  {Timeout, "the deadline passed"},
		"sleep": {Timeout, "the deadline passed"},
		"keep":  {Trap, "unreachable (memory was refused at its limit of 16 MiB)"},
	} {
		out := &lines{}
		i := instance(t, m, Settings{Log: out.logger(slog.LevelInfo)})
		message := order(do)
		if want.failure == Timeout {
			message.Timeout = 100 * time.Millisecond
		}
		r := i.Handle(t.Context(), message)
		if r.Failure != want.failure || r.Reason != want.reason {
			t.Errorf("%s: %+v", do, r)
		}
		mustBeDiscarded(t, i, r)
		if all := strings.Join(out.all(), "\n"); do == "panic" && !strings.Contains(all, "panic: the order says so") {
			t.Errorf("the panic is not in the log: %s", all)
		}
	}
}

func goRefusal(t *testing.T, m *Module) {
	_, err := m.NewInstance(t.Context(), Settings{Config: map[string]string{"refuse": "please"}})
	if err == nil || !strings.HasSuffix(err.Error(), "inbox_init: refused with code 3; reason: told to: please") {
		t.Error(err)
	}
}
