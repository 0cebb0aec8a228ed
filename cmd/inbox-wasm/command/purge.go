package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

func (p *program) purge() *cobra.Command {
	var purge admin.Purge
	var group string
	var dead, processed, dryRun, yes bool
	c := &cobra.Command{
		Use:   "purge TABLE",
		Short: "Delete processed rows or dead letters",
		Long: `Delete rows that are processed, or dead letters, that are older than a duration: since they were processed, and for
dead letters since they were written, which takes a column that plays created_at. With --older-than 0s they go whatever
their age. Processed rows that are old can go by themselves: see retain in the documentation of inbox.toml.`,
		Example: `  inbox-wasm purge email_jobs --processed --older-than 168h
  inbox-wasm purge email_jobs --dead --older-than 720h --dry-run
  inbox-wasm purge email_jobs --dead --id 4711 --yes`,
		Args: exactly("TABLE"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case dead == processed:
				return usage("say which rows: --processed or --dead")
			case !c.Flags().Changed("older-than") && purge.IDs == nil:
				return usage("say how old the rows have to be with --older-than, such as 168h, or 0s for every age; or name them with --id")
			}
			if purge.State = admin.Processed; dead {
				purge.State = admin.Dead
			}
			purge.Group = given(group, c.Flags().Changed("group"))
			return p.operate(c.Context(), func(ctx context.Context, _ *config.Config, a *admin.Admin) error {
				return p.runPurge(ctx, a, args[0], purge, dryRun, yes)
			})
		},
	}
	flags := c.Flags()
	flags.BoolVar(&dead, "dead", false, "delete dead letters")
	flags.BoolVar(&processed, "processed", false, "delete rows that are processed")
	flags.DurationVar(&purge.OlderThan, "older-than", 0, "the least age of the rows, such as 168h")
	flags.StringVar(&group, "group", "", "rows of this group alone")
	flags.StringArrayVar(&purge.IDs, "id", nil, "the row of this key alone; may be repeated")
	flags.BoolVar(&dryRun, "dry-run", false, "say how many rows would be deleted, and delete none")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	return p.withJSON(c)
}

func (p *program) runPurge(ctx context.Context, a *admin.Admin, key string, purge admin.Purge, dryRun, yes bool) error {
	total, err := a.PlanPurge(ctx, key, purge)
	if err != nil {
		return err
	}
	if dryRun || total == 0 {
		return p.printDeleted(key, "would_delete", total)
	}
	question := fmt.Sprintf("Delete %s of %s that are %s", countOf(total), key, purge.State)
	if purge.OlderThan > 0 {
		question += " and older than " + span(purge.OlderThan.Round(time.Millisecond))
	}
	if err := p.confirm(yes, question+"? They cannot be brought back."); err != nil {
		return err
	}
	report, done := p.progress("purge", total)
	n, err := a.Purge(ctx, key, purge, report)
	if err = errors.Join(err, done()); err != nil {
		return errors.Join(err, p.printDeleted(key, "deleted", n))
	}
	return p.printDeleted(key, "deleted", n)
}

func (p *program) printDeleted(key, verb string, rows int64) error {
	if p.json {
		return p.printJSON(map[string]any{"table": key, verb: rows})
	}
	_, err := fmt.Fprintf(p.stdout, "%s %s from %s\n", strings.ReplaceAll(verb, "_", " "), countOf(rows), key)
	return err
}
