package inbox

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Level is the weight of a log line.
type Level int32

// The levels of the host's log.
const (
	LevelTrace Level = 0
	LevelDebug Level = 1
	LevelInfo  Level = 2
	LevelWarn  Level = 3
	LevelError Level = 4
)

// Log writes one line to the host's log, which adds subscription, row and attempt. A
// line that the host refuses is lost: no message should fail over it.
func Log(level Level, text string) {
	host.Log(int32(level), strings.ToValidUTF8(text, "\uFFFD"))
}

// LogEnabled tells whether a line of the level would be written, for lines that are
// costly to make.
func LogEnabled(level Level) bool { return host.LogEnabled(int32(level)) == 1 }

// Logger is the host's log as a structured logger. Levels below [slog.LevelDebug] are traces.
func Logger() *slog.Logger { return logger() }

var logger = sync.OnceValue(func() *slog.Logger {
	line := new(bytes.Buffer)
	return slog.New(&logHandler{
		mutex: new(sync.Mutex),
		line:  line,
		text: slog.NewTextHandler(line, &slog.HandlerOptions{
			// Whether a line is wanted is the host's to say, which also prints the level.
			Level: slog.Level(math.MinInt32),
			ReplaceAttr: func(groups []string, attribute slog.Attr) slog.Attr {
				if _, ok := attribute.Value.Any().(slog.Level); ok && len(groups) == 0 && attribute.Key == slog.LevelKey {
					return slog.Attr{}
				}
				return attribute
			},
		}),
	})
})

// logHandler writes records as slog's own text lines without time and level, which the
// host adds. Handlers derived from one share its line.
type logHandler struct {
	mutex *sync.Mutex // goroutines of a guest may take turns in the middle of a line
	line  *bytes.Buffer
	text  slog.Handler
}

func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return LogEnabled(fromSlog(level))
}

func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.line.Reset()
	record.Time = time.Time{} // the text handler leaves a zero time out
	if err := h.text.Handle(ctx, record); err != nil {
		return err
	}
	Log(fromSlog(record.Level), strings.TrimSuffix(h.line.String(), "\n"))
	return nil
}

func (h *logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return &logHandler{h.mutex, h.line, h.text.WithAttrs(attributes)}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.mutex, h.line, h.text.WithGroup(name)}
}

func fromSlog(level slog.Level) Level {
	switch {
	case level < slog.LevelDebug:
		return LevelTrace
	case level < slog.LevelInfo:
		return LevelDebug
	case level < slog.LevelWarn:
		return LevelInfo
	case level < slog.LevelError:
		return LevelWarn
	default:
		return LevelError
	}
}
