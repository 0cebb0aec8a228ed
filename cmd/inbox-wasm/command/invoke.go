package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// invokeFlags are what invoke was asked for.
type invokeFlags struct {
	file    string
	group   string
	headers []string
	key     string
	id      string
	attempt int64
	expect  string
	keySet  bool
	row     string
	allow   bool
}

func (p *program) invoke() *cobra.Command {
	var f invokeFlags
	c := &cobra.Command{
		Use:   "invoke HANDLER",
		Short: "Run one payload through a handler, without a queue",
		Long: `Run one payload through a handler, without a database, and print what it came to: the outcome, the guest's
log, and its time, ticks and memory. The payload is the standard input or a file; a handler of rows takes the row
as a JSON object. Nothing outside is touched: db, publish and http answer "not allowed". With --expect the exit
code says whether the outcome was that one.

With --row the payload, and all that goes with it, is that of a row of the handler's table, as its next delivery
would be. The row is only read: nothing becomes of it. With --allow the guest has what the handler's allow names, and
db, publish and http take effect; what a transactional handler writes is kept if it acks.`,
		Example: `  echo '{"to":"a@example.com"}' | inbox-wasm invoke send-email
  inbox-wasm invoke send-email --file order.json --header trace=42 --attempt 3
  echo 'not JSON' | inbox-wasm invoke send-email --expect dead_letter
  inbox-wasm invoke send-email --row 4711             # why did this one fail?
  inbox-wasm invoke send-email --row 4711 --allow     # and send it`,
		Args: exactly("HANDLER"),
		RunE: func(c *cobra.Command, args []string) error {
			f.keySet = c.Flags().Changed("key")
			for _, other := range []string{"file", "group", "header", "key", "id", "attempt"} {
				if f.row != "" && c.Flags().Changed(other) {
					return usage("--%s cannot go with --row, which brings its own", other)
				}
			}
			return p.runInvoke(c.Context(), args[0], &f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.file, "file", "", "the file with the payload, instead of standard input")
	flags.StringVar(&f.group, "group", "", "the group; default: the handler's")
	flags.StringArrayVar(&f.headers, "header", nil, "a header, as KEY=VALUE; may be repeated")
	flags.StringVar(&f.key, "key", "", "the partition key")
	flags.StringVar(&f.id, "id", "0", "the row's id, as JSON or text")
	flags.Int64Var(&f.attempt, "attempt", 1, "the delivery's attempt")
	flags.StringVar(&f.expect, "expect", "", "fail unless the outcome is this one: ack, retry, retry_after, drop, dead_letter, snooze, or a failure such as trap or timeout")
	flags.StringVar(&f.row, "row", "", "the key of a row to replay, as the log writes it; columns of a key with commas between them")
	flags.BoolVar(&f.allow, "allow", false, "let the guest do what the handler allows: db, publish and http take effect")
	return p.withJSON(c)
}

func (p *program) runInvoke(ctx context.Context, name string, f *invokeFlags) error {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(cfg.Handlers, func(h *config.Handler) bool { return h.Name == name })
	if at < 0 {
		return usage("no handler %q is declared in %s", name, p.configPath)
	}
	h := cfg.Handlers[at]
	if f.expect != "" && !slices.Contains(expectable(), f.expect) {
		return usage("--expect %q is none of %s", f.expect, strings.Join(expectable(), ", "))
	}
	v := host.Invocation{Handler: h, Row: f.row, Allow: f.allow, Log: p.logger(cfg.Runtime), Databases: p.databases}
	if f.row == "" {
		if v.Message, err = p.invoked(h, f); err != nil {
			return err
		}
	}
	r, err := host.Invoke(ctx, cfg, v)
	if err != nil {
		return err
	}
	if err := p.printInvoked(r); err != nil {
		return err
	}
	if got := outcomeOf(&r.Result); f.expect != "" && got != f.expect {
		return fmt.Errorf("the outcome is %s, and %s was expected", got, f.expect)
	}
	return nil
}

// invoked is the message that the flags and the payload make.
func (p *program) invoked(h *config.Handler, f *invokeFlags) (*engine.Message, error) {
	m := &engine.Message{Subscription: h.Name, Table: h.Table.Key, Group: f.group, ID: []byte(f.id), Attempt: f.attempt, MaxAttempts: int64(h.MaxAttempts),
		PartitionKey: f.key, HasPartitionKey: f.keySet, Timeout: h.Timeout}
	if m.Group == "" && h.Group != config.EveryGroup {
		m.Group = h.Group
	}
	if !json.Valid(m.ID) {
		m.ID = []byte(strconv.Quote(f.id))
	}
	var err error
	if m.Headers, err = headersOf(f.headers); err != nil {
		return nil, err
	}
	in := p.stdin
	if f.file != "" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, fmt.Errorf("read the payload: %w", err)
		}
		defer file.Close()
		in = file
	}
	if m.Payload, err = io.ReadAll(in); err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	return m, nil
}

// expectable are the words for what a call can come to.
func expectable() []string {
	var words []string
	for _, c := range []abi.Code{abi.Ack, abi.Retry, abi.RetryAfter, abi.Drop, abi.DeadLetter, abi.Snooze} {
		words = append(words, c.String())
	}
	for _, f := range []engine.Failure{engine.Trap, engine.Timeout, engine.Exit, engine.BadOutcome} {
		words = append(words, word(f))
	}
	return words
}

func word(f engine.Failure) string { return strings.ReplaceAll(f.String(), " ", "_") }

func outcomeOf(r *engine.Result) string {
	if r.Failure != engine.None {
		return word(r.Failure)
	}
	return r.Code.String()
}

// invokedJSON is what invoke prints with --json.
type invokedJSON struct {
	Outcome     string  `json:"outcome"`
	Failed      bool    `json:"failed"`
	Reason      string  `json:"reason,omitempty"`
	DelayMS     *int64  `json:"delay_ms,omitempty"`
	TimeMS      float64 `json:"time_ms"`
	StartMS     float64 `json:"start_ms"`
	Ticks       int64   `json:"ticks"`
	MemoryBytes int64   `json:"memory_bytes"`
	Module      string  `json:"module"`
	SHA256      string  `json:"sha256"`
}

func (p *program) printInvoked(r *host.Invoked) error {
	out := invokedJSON{Outcome: outcomeOf(&r.Result), Failed: r.Result.Failure != engine.None, Reason: r.Result.Reason,
		TimeMS: milliseconds(r.Result.Elapsed), StartMS: milliseconds(r.Start), Ticks: r.Result.Ticks, MemoryBytes: r.Result.Memory,
		Module: r.Module.Path, SHA256: r.Module.Hash}
	if r.Result.HasDelay {
		delay := r.Result.Delay.Milliseconds()
		out.DelayMS = &delay
	}
	if p.json {
		return p.printJSON(out)
	}
	rows := []table.Row{{out.Outcome, fmt.Sprintf("%.3f ms", out.TimeMS), out.Ticks, fmt.Sprintf("%.0f KiB", float64(out.MemoryBytes)/1024),
		fmt.Sprintf("%.3f ms", out.StartMS)}}
	p.printTable(table.Row{"outcome", "time", "ticks", "memory", "start"}, rows)
	if out.DelayMS != nil {
		fmt.Fprintln(p.stdout, "delay: ", r.Result.Delay)
	}
	if out.Reason != "" {
		fmt.Fprintln(p.stdout, "reason:", out.Reason)
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
