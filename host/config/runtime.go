package config

import (
	"log/slog"
	"time"
)

// Runtime is [runtime].
type Runtime struct {
	section
	CacheDir     string        // compiled modules
	DrainTimeout time.Duration // how long a stop waits for handlers; 0 interrupts them at once
	ListenHTTP   string        // host:port; empty is off
	HTTPToken    Secret        // empty where none is asked for
	HTTPHosts    []string      // the names that requests may call the program by, beside its address
	Log          string        // "text" or "json"
	LogLevel     slog.Level    // trace is slog.LevelDebug - 4
}

// LevelTrace is the level below slog.LevelDebug that log_level = "trace" and a guest's level 0 name.
const LevelTrace = slog.LevelDebug - 4

func runtimeKeys(r *Runtime) keys {
	return keys{
		{"cache_dir", optionalPath(&r.CacheDir)},
		{"drain_timeout", duration(&r.DrainTimeout, 0)},
		{"listen_http", address(&r.ListenHTTP)},
		{"http_token", token(&r.HTTPToken)},
		{"http_hosts", hosts(&r.HTTPHosts)},
		{"log", oneOf(&r.Log, "text", "json")},
		{"log_level", level(&r.LogLevel)},
	}
}

func level(dst *slog.Level) reader {
	levels := map[string]slog.Level{
		"trace": LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	return func(p *parser, n *node) {
		word := ""
		oneOf(&word, "trace", "debug", "info", "warn", "error")(p, n)
		if l, ok := levels[word]; ok {
			*dst = l
		}
	}
}
