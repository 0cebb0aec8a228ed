package config

import (
	"strconv"
	"time"
)

const (
	wasmPage  = 64 * kib
	maxMemory = 4 * gib // of a 32-bit module
)

// EveryGroup is the group of a handler that reads all groups of its table.
const EveryGroup = "*"

// Handler is [handlers.NAME]: a subscription and its module.
type Handler struct {
	section
	Name   string
	Line   int
	Module string // the module's file
	Table  *Table
	Group  string // EveryGroup is all; empty where the table has no group role

	Threads      int
	Connections  int // of each thread's own pool
	ByKey        bool
	Batch        int           // messages a call
	Claim        int           // rows a claim may take; 0 is automatic
	Lease        time.Duration // whole seconds
	PollInterval time.Duration
	Listen       bool
	RateLimit    Rate // deliveries of this process; zero is no limit

	MaxAttempts int     // 0 is no limit
	DeadLetter  *Target // nil is none
	Backoff     Backoff
	OnFailure   OnFailure

	Transactional   bool
	TransactionRole string // empty is none

	Timeout       time.Duration // of a call, host functions included
	Memory        int64         // bytes
	MaxPayload    int64         // bytes
	Limits        Limits
	Instance      string // "reuse" or "fresh"
	RecycleAfter  int    // messages; 0 is never
	RecycleMemory int64  // bytes; 0 is never

	Allow  Allow
	Config Settings
}

// handlerDraft is a handler before the names in it are resolved.
type handlerDraft struct {
	*Handler
	n          *node
	table      string
	deadLetter string
	publish    []string
}

// newHandler returns a handler with the values of keys that nobody wrote. Those that depend on other
// keys are filled in by resolveHandler.
func newHandler(name string, n *node) *handlerDraft {
	h := &Handler{
		Name:         name,
		Threads:      1,
		Connections:  1,
		Batch:        1,
		Lease:        30 * time.Second,
		PollInterval: time.Second,
		Backoff:      Backoff{Initial: time.Second, Max: 10 * time.Minute, Factor: 2, Jitter: 0.2},
		OnFailure: OnFailure{
			Trap:    Policy{Action: RetryAfter},
			Timeout: Policy{Action: RetryAfter},
			Outcome: Policy{Action: RetryAfter},
			Decode:  Policy{Action: RetryAfter},
		},
		Timeout:      30 * time.Second,
		Memory:       64 * mib,
		MaxPayload:   mib,
		Limits:       Limits{HTTPResponse: mib, DBResult: mib, Log: 64 * kib, Publishes: 1000},
		Instance:     "reuse",
		RecycleAfter: 100_000,
		Config:       Settings{},
	}
	if n != nil {
		h.section, h.Line = section{n.path, n}, n.pos.line
	}
	return &handlerDraft{Handler: h, n: n}
}

func handlerKeys(h *handlerDraft) keys {
	return keys{
		{"module", filePath(&h.Module)},
		{"table", name(&h.table)},
		{"group", name(&h.Group)},
		{"threads", number(&h.Threads, 1, 1024)},
		{"connections", number(&h.Connections, 1, 1024)},
		{"by_key", boolean(&h.ByKey)},
		{"batch", number(&h.Batch, 1, 10_000)},
		{"claim", claim(&h.Claim)},
		{"lease", lease(&h.Lease)},
		{"poll_interval", duration(&h.PollInterval, time.Millisecond)},
		{"listen", boolean(&h.Listen)},
		{"rate_limit", rate(&h.RateLimit)},
		{"max_attempts", number(&h.MaxAttempts, 0, maxCount)},
		{"dead_letter", text(&h.deadLetter)},
		{"backoff", table(backoffKeys(&h.Backoff))},
		{"on_failure", table(onFailureKeys(&h.OnFailure))},
		{"transactional", boolean(&h.Transactional)},
		{"transaction_role", text(&h.TransactionRole)},
		{"timeout", duration(&h.Timeout, time.Millisecond)},
		{"memory", size(&h.Memory, wasmPage, maxMemory)},
		{"max_payload", size(&h.MaxPayload, 1, maxMemory)},
		{"limits", table(limitKeys(&h.Limits))},
		{"instance", oneOf(&h.Instance, "reuse", "fresh")},
		{"recycle_after", number(&h.RecycleAfter, 0, maxCount)},
		{"recycle_memory", size(&h.RecycleMemory, 0, maxMemory)},
		{"allow", table(allowKeys(h))},
		{"config", settings(h.Config)},
	}
}

func (p *parser) readHandler(c *Config, name string, n *node) {
	h := newHandler(name, n)
	p.section(n, handlerKeys(h))
	c.Handlers = append(c.Handlers, h.Handler)
	p.handlers = append(p.handlers, h)
}

// claim reads a number of rows or "auto".
func claim(dst *int) reader {
	return func(p *parser, n *node) {
		if n.scalar == "auto" {
			*dst = 0
			return
		}
		number(dst, 1, 10_000)(p, n)
	}
}

// lease reads a duration and rounds it up to whole seconds: an expiry must survive a column that keeps
// no fraction.
func lease(dst *time.Duration) reader {
	return func(p *parser, n *node) {
		d := *dst
		duration(&d, time.Nanosecond)(p, n)
		if whole := d.Truncate(time.Second); whole < d {
			d = whole + time.Second
		}
		*dst = d
	}
}

func rate(dst *Rate) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok || s == "" {
			return
		}
		r, fault := parseRate(s)
		if fault != nil {
			p.complain(n, fault)
			return
		}
		*dst = r
	}
}

// settings reads what the guest sees through config: text, and numbers and booleans as text. No problem
// quotes a value.
func settings(dst Settings) reader {
	return each(func(p *parser, key string, n *node) {
		switch v := n.scalar.(type) {
		case string:
			if s, ok := p.text(n); ok {
				dst[key] = s
			}
		case int64:
			dst[key] = strconv.FormatInt(v, 10)
		case float64:
			dst[key] = strconv.FormatFloat(v, 'f', -1, 64)
		case bool:
			dst[key] = strconv.FormatBool(v)
		default:
			p.fail(n, "must be text, a number or true or false, not "+n.kind(), "write it in double quotes; a structure as JSON text")
		}
	})
}
