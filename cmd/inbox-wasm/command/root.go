// Package command is the program inbox-wasm as a function, one file a command. A team whose queue lives
// in a database of its own calls it from a main of its own.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// The program's exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// program is what the commands share: their streams and their common flags.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	configPath     string
	databases      []databases.Database
	schemes        []string // of the databases that do not come with the program
	json           bool
}

// Main runs the program with its arguments and gives its exit code. A program with databases of its own
// names them; where one of them has a scheme of those that come with the program, it takes their place.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, own ...databases.Database) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, databases: slices.Concat(own, databases.Builtin())}
	for _, d := range own {
		p.schemes = append(p.schemes, d.Schemes...)
	}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitDone
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(stderr, "inbox-wasm:", strings.TrimRight(line, "\n"))
	}
	if u := (usageError{}); errors.As(err, &u) {
		fmt.Fprintln(stderr, "`inbox-wasm --help` and `inbox-wasm COMMAND --help` say how.")
		return exitUsage
	}
	return exitFailed
}

// Root is the program's tree of commands, for what describes it.
func Root() *cobra.Command { return (&program{}).root() }

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "inbox-wasm",
		Short:         "Run WebAssembly handlers on the queue tables of your own database",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			c.SuggestionsMinimumDistance = 2
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				return usage("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return usage("unknown command %q", args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentFlags().StringVarP(&p.configPath, "config", "c", "inbox.toml", "the configuration file")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(p.serve(), p.check(), p.schema(), p.enqueue(), p.invoke(),
		p.stats(), p.peek(), p.redrive(), p.purge(), p.cancel(), p.pause(), p.resume(), p.new(), p.bench(), p.version())
	_ = root.MarkPersistentFlagFilename("config", "toml") // the one error is a flag that is not there
	p.completeAll(root)
	return root
}

// exactly is the check of a command's arguments by their names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			wants := "no arguments"
			if len(names) > 0 {
				wants = strings.Join(names, " and ")
			}
			return usage("%s takes %s, and was given %q", c.Name(), wants, args)
		}
		return nil
	}
}

// withJSON gives a command that prints data its --json.
func (p *program) withJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.json, "json", false, "print JSON instead of text")
	return c
}

func (p *program) load() (*config.Config, error) {
	cfg, err := config.Load(p.configPath, os.LookupEnv, p.schemes...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w; name the file with -c, or start one as the README shows", err)
	}
	return cfg, err
}

// logger writes to standard error as the configuration says.
func (p *program) logger(r config.Runtime) *slog.Logger {
	o := &slog.HandlerOptions{Level: r.LogLevel, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && level == config.LevelTrace {
			a.Value = slog.StringValue("TRACE")
		}
		return a
	}}
	if r.Log == "json" {
		return slog.New(slog.NewJSONHandler(p.stderr, o))
	}
	return slog.New(slog.NewTextHandler(p.stderr, o))
}

func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printTable prints rows under a header, where there is one, no wider than the terminal.
func (p *program) printTable(header table.Row, rows []table.Row) {
	w := table.NewWriter()
	w.SetOutputMirror(p.stdout)
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	if header != nil {
		w.AppendHeader(header)
	}
	w.AppendRows(rows)
	if f, ok := p.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			w.Style().Size.WidthMax = width
		}
	}
	w.Render()
}
