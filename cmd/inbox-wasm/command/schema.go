package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

func (p *program) schema() *cobra.Command {
	var apply bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the CREATE TABLE and CREATE INDEX of the declared tables",
		Long: `Print the CREATE TABLE and CREATE INDEX of the declared tables for the configured database.
With --apply, create the tables that are missing; one that exists is never changed.`,
		Example: `  inbox-wasm schema
  inbox-wasm schema --apply`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.load()
			if err != nil {
				return err
			}
			if apply {
				return p.applySchema(c.Context(), cfg)
			}
			return p.printSchema(cfg)
		},
	}
	c.Flags().BoolVar(&apply, "apply", false, "create the tables that are missing")
	return c
}

func (p *program) printSchema(cfg *config.Config) error {
	d, err := databases.Find(p.databases, cfg.Database.URL.Reveal())
	if err != nil {
		return err
	}
	for _, t := range cfg.Tables {
		for _, sql := range statements(cfg, t, d.Dialect) {
			fmt.Fprintf(p.stdout, "%s;\n\n", sql)
		}
	}
	return nil
}

func (p *program) applySchema(ctx context.Context, cfg *config.Config) (err error) {
	s, err := host.Connect(ctx, cfg, p.databases)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, declared := range cfg.Tables {
		t := declared.Declared()
		switch err := forms.Describe(ctx, s, t); {
		case err == nil:
			fmt.Fprintf(p.stdout, "table %s exists and is left as it is\n", t)
			continue
		case !errors.Is(err, forms.ErrNoTable):
			return err
		}
		for _, sql := range statements(cfg, declared, s.Dialect()) {
			if err := s.Script(ctx, sql); err != nil {
				return fmt.Errorf("create table %s: %w\n%s", t, err, sql)
			}
		}
		fmt.Fprintf(p.stdout, "table %s is created\n", t)
	}
	return nil
}

// statements create a declared table and what belongs to it, in order.
func statements(cfg *config.Config, declared *config.Table, d dialect.Dialect) []string {
	t := declared.Declared()
	s := d.Schema(t)
	list := []string{s.Table, s.Index, s.GroupIndex, s.OnceIndex}
	if host.ClaimsAcrossGroups(cfg, declared) {
		list = append(list, s.OrderIndex)
	}
	if i, ok := d.(dialect.Inspector); ok && declared.Retain > 0 {
		list = append(list, i.SweepIndex(t))
	}
	list = slices.DeleteFunc(list, func(sql string) bool { return sql == "" })
	if n, ok := d.(dialect.Notifies); ok && host.Listened(cfg, declared) {
		list = append(list, n.Trigger(t))
	}
	return list
}
