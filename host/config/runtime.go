package config

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Runtime is [runtime].
type Runtime struct {
	section
	CacheDir     string        // compiled modules
	DrainTimeout time.Duration // how long a stop waits for handlers; 0 interrupts them at once
	ListenHTTP   string        // host:port; empty is off
	HTTPToken    Secret        // empty where none is asked for
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
		{"http_token", secret(&r.HTTPToken)},
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

// address reads a host:port to listen on; empty is off.
func address(dst *string) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok || s == "" {
			return
		}
		_, port, err := net.SplitHostPort(s)
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
			p.complain(n, &fault{"is no address to listen on", `write host:port: "127.0.0.1:9464"`})
			return
		}
		*dst = s
	}
}

// loopback tells whether a host:port is reached from this machine alone.
func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
