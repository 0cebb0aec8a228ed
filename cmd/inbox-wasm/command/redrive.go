package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

func (p *program) redrive() *cobra.Command {
	var r admin.Redrive
	var group string
	var dryRun, yes bool
	c := &cobra.Command{
		Use:   "redrive TABLE",
		Short: "Move dead letters back into their queue",
		Long: `Move dead letters back to where they came from: due at once, on their first attempt, with the error kept. TABLE is
where the dead letters are: the table of a queue whose handlers name a group of it as their dead_letter, or a table of
dead letters of its own. Where they came from is what their column origin says, or the one group or table that can be;
otherwise --to names it. Rows in work, and rows that another session has locked, stay where they are.`,
		Example: `  inbox-wasm redrive email_jobs --dry-run
  inbox-wasm redrive email_jobs
  inbox-wasm redrive email_jobs --id 4711 --id 4712 --yes
  inbox-wasm redrive email_jobs --group failed --to emails`,
		Args: exactly("TABLE"),
		RunE: func(c *cobra.Command, args []string) error {
			r.Group = given(group, c.Flags().Changed("group"))
			return p.operate(c.Context(), func(ctx context.Context, _ *config.Config, a *admin.Admin) error {
				return p.runRedrive(ctx, a, args[0], r, dryRun, yes)
			})
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&r.IDs, "id", nil, "the dead letter of this key alone; may be repeated")
	flags.StringVar(&group, "group", "", "dead letters of this group alone")
	flags.StringVar(&r.To, "to", "", "the group they go to; the table, where dead letters have one of their own")
	flags.BoolVar(&dryRun, "dry-run", false, "say what would be moved, and move nothing")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	return p.withJSON(c)
}

func (p *program) runRedrive(ctx context.Context, a *admin.Admin, key string, r admin.Redrive, dryRun, yes bool) error {
	moves, err := a.PlanRedrive(ctx, key, r)
	if err != nil {
		return err
	}
	total := int64(0)
	var plan []string
	for _, m := range moves {
		if total += m.Rows; m.Rows > 0 {
			plan = append(plan, fmt.Sprintf("%s from %s to %s", countOf(m.Rows), m.From, m.To))
		}
	}
	if dryRun || total == 0 {
		return p.printMoves(moves, "would move")
	}
	if err := p.confirm(yes, "Move "+strings.Join(plan, ", and ")+"?"); err != nil {
		return err
	}
	report, done := p.progress("redrive", total)
	moves, err = a.Redrive(ctx, key, r, report)
	if err = errors.Join(err, done()); err != nil {
		return errors.Join(err, p.printMoves(moves, "moved"))
	}
	return p.printMoves(moves, "moved")
}

func (p *program) printMoves(moves []admin.Move, verb string) error {
	if p.json {
		return p.printJSON(moves)
	}
	var rows []table.Row
	for _, m := range moves {
		rows = append(rows, table.Row{m.From, m.To, m.Rows})
	}
	p.printTable(table.Row{"from", "to", verb}, rows)
	return nil
}
