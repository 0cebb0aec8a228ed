package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Bounds on what a guest says, so that no guest can fill a disk or a database.
const (
	MaxReason = 4 << 10   // bytes of a reason
	MaxLine   = 8 << 10   // bytes of a log line
	LogBudget = 256 << 10 // bytes of log lines a message, where its settings have no limit (a batch shares what its messages have), each counted as 64 more than it is
)

const lineCost = 64

// sanitise makes text of a guest's bytes: valid UTF-8 without NUL, of at most limit bytes.
func sanitise(b []byte, limit int) string {
	b = cut(b, limit)
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return string(b)
	}
	const replacement = "\uFFFD"
	s := strings.ReplaceAll(strings.ToValidUTF8(string(b), replacement), "\x00", replacement)
	return string(cut([]byte(s), limit)) // a replacement is longer than what it replaces
}

// slogLevel maps the contract's levels to slog's, with trace one step below debug.
func slogLevel(arg uint64) (slog.Level, bool) {
	level := abi.Level(int32(uint32(arg)))
	if !level.Known() {
		return 0, false
	}
	return slog.LevelDebug - 4 + slog.Level(4*level), true
}

// writeLine logs one line of the guest's, from the log function or from a stream, and tells whether the
// message's budget had room for it.
func (c *call) writeLine(level slog.Level, stream string, text []byte) bool {
	if !c.log.Enabled(context.Background(), level) {
		return true
	}
	text = cut(text, MaxLine)
	if c.budget -= int64(len(text)) + lineCost; c.budget < 0 {
		c.dropped++
		return false
	}
	attrs := c.attrs()
	if stream != "" {
		attrs = append(attrs, slog.String("stream", stream))
	}
	c.log.LogAttrs(context.Background(), level, sanitise(text, MaxLine), attrs...)
	return true
}

// attrs say which message a line is about.
func (c *call) attrs() []slog.Attr {
	if c.message == nil {
		return []slog.Attr{slog.String("phase", "init")}
	}
	row := string(c.message.ID)
	if c.message.Row != nil {
		row = c.message.Row.String()
	}
	attrs := make([]slog.Attr, 0, 3) // room for the stream
	return append(attrs, slog.String("row", row), slog.Int64("attempt", c.message.Attempt))
}

// flush writes what is left of unfinished lines, and how many the budget did not let through.
func (c *call) flush() {
	c.out.flush()
	c.err.flush()
	if c.dropped > 0 {
		c.log.LogAttrs(context.Background(), slog.LevelWarn, "log lines of the handler were dropped: it writes too much a message",
			append(c.attrs(), slog.Int64("dropped", c.dropped))...)
		c.dropped = 0
	}
}

// reportPanic logs a fault of the host's. The log itself may be what panicked, so that a second panic ends here.
func (c *call) reportPanic(where string, p any, stack []byte) {
	defer func() { _ = recover() }()
	c.log.LogAttrs(context.Background(), slog.LevelError, "a host function panicked",
		append(c.attrs(), slog.String("function", where), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(stack)))...)
}

// stream turns what a guest writes to standard output or error into log lines.
type stream struct {
	call  *call
	name  string
	level slog.Level
	line  []byte // not yet ended; at most MaxLine bytes
	keep  bool   // end is kept
	end   []byte // what was written last, at most MaxReason bytes
}

// Write implements io.Writer; it always takes everything. A line that is too long becomes several.
func (s *stream) Write(p []byte) (int, error) {
	s.call.look()
	n := len(p)
	if s.keep {
		s.end = append(s.end, p[max(0, len(p)-MaxReason):]...)
		s.end = s.end[max(0, len(s.end)-MaxReason):]
	}
	for len(p) > 0 {
		if s.call.budget < 0 {
			s.call.dropped += int64(bytes.Count(p, []byte{'\n'}))
			break
		}
		end := bytes.IndexByte(p[:min(len(p), MaxLine+1-len(s.line))], '\n')
		if end < 0 {
			taken := min(len(p), MaxLine-len(s.line))
			s.line, p = append(s.line, p[:taken]...), p[taken:]
			if len(s.line) == MaxLine && len(p) > 0 {
				s.flush()
			}
			continue
		}
		s.line, p = append(s.line, p[:end]...), p[end+1:]
		s.emit()
	}
	return n, nil
}

func (s *stream) flush() {
	if len(s.line) > 0 {
		s.emit()
	}
}

func (s *stream) emit() {
	s.call.writeLine(s.level, s.name, s.line)
	s.line = s.line[:0]
}
