package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/web"
)

const (
	// batchRows and batchBytes bound the messages of one transaction.
	batchRows  = 500
	batchBytes = 8 << 20
	// maxLine bounds a line of JSON: a payload of 64 MiB in base64.
	maxLine = 96 << 20
)

// enqueueFlags are what enqueue was asked for.
type enqueueFlags struct {
	file     string
	jsonl    string
	envelope bool
	group    string
	headers  []string
	delay    time.Duration
	priority int64
	key      string
	// set tells flags that were given from those that were not.
	set func(name string) bool
}

func (p *program) enqueue() *cobra.Command {
	var f enqueueFlags
	c := &cobra.Command{
		Use:   "enqueue TABLE",
		Short: "Write rows into a declared table",
		Long: `Write rows into a declared table: one whose payload is the standard input or a file, or one for
each line of a JSON Lines file. The flags give their values to every row. With --envelope each line is
a message: {"payload": "text" or "payload_base64": "..", "group", "headers", "delay_ms", "priority",
"partition_key"}, whose own values win. A table without a payload takes {"row": {"column": value}} instead:
bytes are {"base64": ".."}, times RFC 3339, and what is larger than a number can be a string.`,
		Example: `  echo '{"to":"a@example.com"}' | inbox-wasm enqueue email_jobs --header trace=42
  inbox-wasm enqueue email_jobs --file order.json --delay 10m
  inbox-wasm enqueue email_jobs --jsonl orders.jsonl
  inbox-wasm enqueue webhooks --jsonl events.jsonl --envelope`,
		Args: exactly("TABLE"),
		RunE: func(c *cobra.Command, args []string) error {
			f.set = c.Flags().Changed
			return p.runEnqueue(c.Context(), args[0], &f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.file, "file", "", "the file with the payload, instead of standard input")
	flags.StringVar(&f.jsonl, "jsonl", "", "a file with one payload a line, - for standard input")
	flags.BoolVar(&f.envelope, "envelope", false, "each line of --jsonl is a message with payload, headers and so on")
	flags.StringVar(&f.group, "group", "", "the group; default: that of the table's only handler")
	flags.StringArrayVar(&f.headers, "header", nil, "a header, as KEY=VALUE; may be repeated")
	flags.DurationVar(&f.delay, "delay", 0, "how long the row is hidden, such as 90s or 10m")
	flags.Int64Var(&f.priority, "priority", 0, "the priority; a smaller one is claimed first")
	flags.StringVar(&f.key, "key", "", "the partition key")
	return p.withJSON(c)
}

func (p *program) runEnqueue(ctx context.Context, key string, f *enqueueFlags) (err error) {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	declared := cfg.Table(key)
	if declared == nil {
		return usage("no table %q is declared in %s", key, p.configPath)
	}
	defaults, err := f.message(cfg, declared)
	if err != nil {
		return err
	}
	source, err := p.source(f, declared, defaults)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	s, err := host.Connect(ctx, cfg, p.databases)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	t := declared.Declared()
	if err := forms.Describe(ctx, s, t); err != nil {
		if errors.Is(err, forms.ErrNoTable) {
			return fmt.Errorf("the database has no table %s: `inbox-wasm schema --apply` creates it", t)
		}
		return err
	}
	w := forms.NewWriter(s, t, time.Now)
	if host.Listened(cfg, declared) {
		w.Announce()
	}
	written, err := writeAll(ctx, w, source)
	if written > 0 {
		group := defaults.Group
		if f.envelope {
			group = "" // each message has its own
		}
		wakeServe(ctx, cfg, key, group)
	}
	if err != nil {
		return fmt.Errorf("%w; before that, %s", err, rowsWritten(written, t))
	}
	if p.json {
		return p.printJSON(map[string]any{"table": t.String(), "rows": written})
	}
	_, err = fmt.Fprintln(p.stdout, rowsWritten(written, t))
	return err
}

// wakeWithin bounds how long a process that serves the table may take to hear of new rows.
const wakeWithin = time.Second

// wakeServe has the process that serves the configuration look at a table at once, where one runs. It is a courtesy:
// whoever is not reached polls.
func wakeServe(ctx context.Context, cfg *config.Config, table, group string) {
	client, err := web.NewClient(cfg)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wakeWithin)
	defer cancel()
	_ = client.Wake(ctx, table, group)
}

func rowsWritten(n int, t *dialect.Table) string {
	if n == 1 {
		return fmt.Sprintf("1 row was written into %s", t)
	}
	return fmt.Sprintf("%d rows were written into %s", n, t)
}

// writeAll writes what the source has in transactions of bounded size and counts the rows that are
// committed.
func writeAll(ctx context.Context, w *forms.Writer, source *messages) (written int, err error) {
	var batch []forms.Message
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := w.Write(ctx, batch); err != nil {
			return err
		}
		written += len(batch)
		batch, size = batch[:0], 0
		return nil
	}
	for {
		m, err := source.next()
		if err != nil {
			// What came before a bad message is good.
			if errors.Is(err, io.EOF) {
				err = nil
			}
			err = errors.Join(flush(), err)
			return written, err
		}
		batch = append(batch, m)
		if size += m.Size(); len(batch) == batchRows || size >= batchBytes {
			if err := flush(); err != nil {
				return written, err
			}
		}
	}
}

// message is what the flags give to every row, checked against the table.
func (f *enqueueFlags) message(cfg *config.Config, t *config.Table) (forms.Message, error) {
	m := forms.Message{Group: f.group}
	roles := t.Declared().Roles
	for flag, role := range map[string]dialect.Role{"group": dialect.Group, "header": dialect.Headers,
		"delay": dialect.RetryAfter, "priority": dialect.Priority, "key": dialect.PartitionKey} {
		if f.set(flag) && roles[role] == "" {
			return m, usage("--%s needs a column that plays %s, and [tables.%s] names none", flag, role, t.Key)
		}
	}
	if f.delay < 0 {
		return m, usage("--delay %v is negative", f.delay)
	}
	m.Delay = f.delay
	if f.set("priority") {
		m.Priority = &f.priority
	}
	if f.set("key") {
		m.PartitionKey = &f.key
	}
	var err error
	if m.Headers, err = headersOf(f.headers); err != nil {
		return m, err
	}
	if t.Group != "" && m.Group == "" && !f.envelope {
		group, handlers := host.OnlyGroup(cfg, t)
		if group == "" {
			return m, usage("%d handlers read a group of table %s; name the group with --group", handlers, t.Key)
		}
		m.Group = group
	} else if t.Group != "" && m.Group == "" {
		// Each envelope may name its own; this is for those that do not.
		m.Group, _ = host.OnlyGroup(cfg, t)
	}
	return m, nil
}

// headersOf is the JSON object of headers that were given as KEY=VALUE, nil for none.
func headersOf(list []string) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	headers := map[string]string{}
	for _, h := range list {
		name, value, found := strings.Cut(h, "=")
		if !found || name == "" {
			return nil, usage("--header %q is not KEY=VALUE", h)
		}
		headers[name] = value
	}
	return json.Marshal(headers)
}

// payloadLine reads a line that is the payload itself.
func payloadLine(line []byte, _ *config.Table, m forms.Message) (forms.Message, error) {
	if !json.Valid(line) {
		return m, errors.New("it is not valid JSON; use --file for other payloads")
	}
	m.Payload = bytes.Clone(line)
	return m, nil
}

// envelopeLine reads a line that is a message.
func envelopeLine(line []byte, t *config.Table, m forms.Message) (forms.Message, error) {
	m, err := host.ParseMessage(line, t, m)
	if errors.Is(err, host.ErrNoGroup) {
		err = fmt.Errorf("%w; add it, or give --group", err)
	}
	return m, err
}

// messages reads the rows to be written.
type messages struct {
	next  func() (forms.Message, error)
	close func() error
}

// source opens what the flags name.
func (p *program) source(f *enqueueFlags, t *config.Table, defaults forms.Message) (*messages, error) {
	switch {
	case f.file != "" && f.jsonl != "":
		return nil, usage("--file and --jsonl exclude each other: one file is one payload, or one payload a line")
	case f.envelope && f.jsonl == "":
		return nil, usage("--envelope says what the lines of --jsonl are; name the file with --jsonl")
	case f.jsonl != "":
		return p.lines(f, t, defaults)
	}
	in, closeIn, _, err := p.input(f.file)
	if err != nil {
		return nil, err
	}
	read := false
	return &messages{close: closeIn, next: func() (forms.Message, error) {
		if read {
			return forms.Message{}, io.EOF
		}
		read = true
		m := defaults
		var err error
		m.Payload, err = io.ReadAll(in)
		return m, err
	}}, nil
}

// input is a file, or standard input for no name and for a dash, with its size where that is known.
func (p *program) input(name string) (in io.Reader, closeIn func() error, size int64, err error) {
	if name == "" || name == "-" {
		return p.stdin, func() error { return nil }, -1, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, 0, err
	}
	size = -1
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return file, file.Close, size, nil
}

// lines reads one message a line, with a progress bar where a person looks on.
func (p *program) lines(f *enqueueFlags, t *config.Table, defaults forms.Message) (*messages, error) {
	in, closeIn, size, err := p.input(f.jsonl)
	if err != nil {
		return nil, err
	}
	done := closeIn
	if file, ok := p.stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		bar := progressbar.NewOptions64(size, progressbar.OptionSetWriter(p.stderr), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription("enqueue"), progressbar.OptionClearOnFinish())
		reader := progressbar.NewReader(in, bar)
		in = &reader
		done = func() error { return errors.Join(bar.Finish(), closeIn()) }
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	name := f.jsonl
	if name == "-" {
		name = "standard input"
	}
	number := 0
	next := func() (forms.Message, error) {
		for scanner.Scan() {
			number++
			line := scanner.Bytes()
			if len(strings.TrimSpace(string(line))) == 0 {
				continue
			}
			read := payloadLine
			if f.envelope {
				read = envelopeLine
			}
			m, err := read(line, t, defaults)
			if err != nil {
				return m, fmt.Errorf("line %d of %s: %w", number, name, err)
			}
			return m, nil
		}
		if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
			return forms.Message{}, fmt.Errorf("line %d of %s is longer than %d MiB", number+1, name, maxLine>>20)
		} else if err != nil {
			return forms.Message{}, fmt.Errorf("after line %d of %s: %w", number, name, err)
		}
		return forms.Message{}, io.EOF
	}
	return &messages{next: next, close: done}, nil
}
