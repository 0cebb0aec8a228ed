package engine

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

func TestLevels(t *testing.T) {
	out := &lines{}
	p := newProbe(t, Settings{Log: out.logger(slog.LevelInfo)})
	p.message = &Message{Subscription: "s", ID: []byte("7"), Attempt: 2}
	ptr, n := p.put(512, "a\x00line")
	for level := int32(-1); level <= 5; level++ {
		enabled, written := int64(0), int64(0)
		switch {
		case !abi.Level(level).Known():
			enabled, written = int64(abi.BadArgument), int64(abi.BadArgument)
		case abi.Level(level) >= abi.LevelInfo:
			enabled = 1
		}
		if got := p.call("log_enabled", uint64(uint32(level))); got != enabled {
			t.Errorf("log_enabled(%d) = %d", level, got)
		}
		if got := p.call("log", uint64(uint32(level)), ptr, n); got != written {
			t.Errorf("log(%d) = %d", level, got)
		}
	}
	var want []string
	for _, level := range []string{"INFO", "WARN", "ERROR"} {
		want = append(want, fmt.Sprintf("level=%s msg=\"a\uFFFDline\" row=7 attempt=2", level))
	}
	if got := strings.Join(out.all(), "\n"); got != strings.Join(want, "\n") {
		t.Error(got)
	}
}

func TestOutputBecomesLines(t *testing.T) {
	out := &lines{}
	i := faces(t, Settings{Log: out.logger(slog.LevelInfo)})
	m := face("o")
	m.ID = []byte("1")
	i.Handle(t.Context(), m)
	m = face("0")
	m.ID = []byte("2")
	i.Handle(t.Context(), m)
	var want []string
	for _, s := range []struct{ stream, level string }{{"stdout", "INFO"}, {"stderr", "WARN"}} {
		for _, line := range []string{"one", "two"} {
			want = append(want, fmt.Sprintf("level=%s msg=%s row=1 attempt=0 stream=%s", s.level, line, s.stream))
		}
	}
	for _, s := range []struct{ stream, level string }{{"stdout", "INFO"}, {"stderr", "WARN"}} {
		want = append(want, fmt.Sprintf("level=%s msg=three row=1 attempt=0 stream=%s", s.level, s.stream))
	}
	if got := strings.Join(out.all(), "\n"); got != strings.Join(want, "\n") {
		t.Error(got)
	}
}

func TestFloodIsBounded(t *testing.T) {
	out := &lines{}
	i := faces(t, Settings{Log: out.logger(slog.LevelInfo)})
	for range 2 {
		before := len(out.all())
		if r := i.Handle(t.Context(), face("L")); r.Failure != None {
			t.Fatalf("%+v", r)
		}
		if last, _ := i.mod.Memory().ReadUint32Le(4096); int32(last) != int32(abi.TooLarge) {
			t.Errorf("the last line of a flood = %d", int32(last))
		}
		got := out.all()[before:]
		most := LogBudget/(lineCost+len("because")) + 1
		if len(got) != most {
			t.Errorf("%d lines, want %d", len(got), most)
		}
		if want := fmt.Sprintf("dropped=%d", 100_000-(most-1)); !strings.Contains(got[len(got)-1], want) {
			t.Errorf("the last line does not say %s: %s", want, got[len(got)-1])
		}
	}
}

// A level that is off costs a guest nothing of its budget.
func TestLinesBelowTheLevelAreFree(t *testing.T) {
	out := &lines{}
	i := faces(t, Settings{Log: out.logger(slog.LevelError)})
	i.Handle(t.Context(), face("L"))
	if last, _ := i.mod.Memory().ReadUint32Le(4096); last != 0 {
		t.Errorf("the last line = %d", int32(last))
	}
	if got := out.all(); len(got) != 0 {
		t.Error(got)
	}
}

func TestStream(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for name, c := range map[string]struct {
		writes []string
		want   []string
	}{
		"whole lines":            {[]string{"a\nb\n"}, []string{"a", "b"}},
		"in pieces":              {[]string{"a", "b", "\nc"}, []string{"ab", "c"}},
		"empty lines":            {[]string{"\n\n"}, []string{"", ""}},
		"nothing":                {[]string{"", ""}, nil},
		"exactly the limit":      {[]string{long + "\n"}, []string{long}},
		"the limit, then an end": {[]string{long, "\n"}, []string{long}},
		"over the limit":         {[]string{long + "y\n"}, []string{long, "y"}},
		"over it, in pieces":     {[]string{long, "y", "z\n"}, []string{long, "yz"}},
		"twice the limit":        {[]string{long + long}, []string{long, long}},
	} {
		out := &lines{}
		call := newCall(Settings{Log: out.logger(slog.LevelInfo)}, pageSize)
		call.reset(&Message{})
		for _, w := range c.writes {
			if n, err := call.out.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: Write = %d, %v", name, n, err)
			}
		}
		call.flush()
		var got []string
		for _, line := range out.all() {
			message, _, _ := strings.Cut(strings.TrimPrefix(line, "level=INFO msg="), " ")
			got = append(got, strings.Trim(message, `"`))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("%s: %d lines: %.60q", name, len(got), got)
		}
	}
}

func TestStreamStopsAtTheBudget(t *testing.T) {
	out := &lines{}
	call := newCall(Settings{Log: out.logger(slog.LevelInfo)}, pageSize)
	call.reset(&Message{})
	for range 10 {
		if _, err := call.err.Write([]byte(strings.Repeat("a line\n", 10_000))); err != nil {
			t.Fatal(err)
		}
	}
	call.flush()
	got := out.all()
	if most := LogBudget/(lineCost+len("a line")) + 1; len(got) != most {
		t.Errorf("%d lines, want %d", len(got), most)
	}
	if want := fmt.Sprintf("dropped=%d", 100_000-len(got)+1); !strings.HasSuffix(got[len(got)-1], want) {
		t.Errorf("want %s: %s", want, got[len(got)-1])
	}
}

func FuzzSanitise(f *testing.F) {
	f.Add([]byte("text"), 2)
	f.Add([]byte("\xff\x00é"), 3)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		if limit < 0 || limit > 1<<20 {
			return
		}
		s := sanitise(b, limit)
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") || len(s) > limit {
			t.Errorf("sanitise(%q, %d) = %q", b, limit, s)
		}
		if utf8.Valid(b) && len(b) <= limit && !strings.Contains(string(b), "\x00") && s != string(b) {
			t.Errorf("sanitise(%q, %d) changed good text to %q", b, limit, s)
		}
	})
}
