package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host"
)

func (p *program) check() *cobra.Command {
	var sql bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Check configuration, modules and database without running anything",
		Long: `Check everything that serve would refuse: the configuration, the modules, the tables and every
statement that would run on them. All problems are reported at once. No row is touched.`,
		Example: `  inbox-wasm check
  inbox-wasm check --sql       # with the statements
  inbox-wasm check --json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return p.runCheck(c.Context(), sql) },
	}
	c.Flags().BoolVar(&sql, "sql", false, "print the statements that serve would run")
	return p.withJSON(c)
}

// checkedHandler is a handler in the output of check.
type checkedHandler struct {
	Handler    string       `json:"handler"`
	Table      string       `json:"table"`
	Group      string       `json:"group,omitempty"`
	Form       string       `json:"form"`
	Threads    int          `json:"threads"`
	Module     string       `json:"module"`
	Hash       string       `json:"sha256"`
	Bytes      int64        `json:"bytes"`
	Statements []checkedSQL `json:"statements,omitempty"`
}

type checkedSQL struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
}

type checked struct {
	Database       string           `json:"database"`
	URL            string           `json:"url"`
	MaxConnections int              `json:"max_connections"`
	Handlers       []checkedHandler `json:"handlers"`
	Warnings       []string         `json:"warnings,omitempty"`
}

func (p *program) runCheck(ctx context.Context, sql bool) (err error) {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	service, err := host.Open(ctx, host.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Databases: p.databases})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	infos, err := service.Check(ctx)
	if err != nil {
		return err
	}
	result := checked{URL: cfg.Database.URL.String(), MaxConnections: cfg.Database.MaxConnections}
	if result.Database, err = service.Database(ctx); err != nil {
		return err
	}
	for _, i := range infos {
		h := checkedHandler{Handler: i.Handler, Table: i.Table, Group: i.Group, Form: i.Form, Threads: i.Threads,
			Module: i.Module.Path, Hash: i.Module.Hash, Bytes: i.Module.Size}
		for _, s := range i.Statements {
			if sql {
				h.Statements = append(h.Statements, checkedSQL{s.Name, s.Statement.Golden()})
			}
		}
		result.Handlers = append(result.Handlers, h)
	}
	for _, w := range service.Warnings() {
		result.Warnings = append(result.Warnings, w.Error())
	}
	if p.json {
		return p.printJSON(result)
	}
	p.printChecked(result)
	return nil
}

func (p *program) printChecked(r checked) {
	fmt.Fprintf(p.stdout, "database     %s at %s\nconnections  at most %d\n", r.Database, r.URL, r.MaxConnections)
	var rows []table.Row
	for _, h := range r.Handlers {
		rows = append(rows, table.Row{h.Handler, h.Table, h.Group, h.Form, h.Threads, h.Module, h.Bytes, h.Hash[:12]})
	}
	p.printTable(table.Row{"handler", "table", "group", "form", "threads", "module", "bytes", "sha256"}, rows)
	for _, h := range r.Handlers {
		for _, s := range h.Statements {
			fmt.Fprintf(p.stdout, "\n-- %s: %s\n%s", h.Handler, s.Name, s.SQL)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(p.stdout, "warning:", w)
	}
	fmt.Fprintln(p.stdout, "everything that serve needs is there")
}
