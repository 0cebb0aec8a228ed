package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

func (p *program) cancel() *cobra.Command {
	var ids []string
	var yes bool
	c := &cobra.Command{
		Use:   "cancel TABLE",
		Short: "Finish rows that wait, without handling them",
		Long: `Finish rows that are due or delayed, as a handler's drop does: they are deleted, or marked as processed where a column
plays processed_at. Rows in work come to their end, processed rows and dead letters stay.`,
		Example: `  inbox-wasm cancel email_jobs --id 4711`,
		Args:    exactly("TABLE"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(ids) == 0 {
				return usage("name the rows with --id")
			}
			return p.operate(c.Context(), func(ctx context.Context, _ *config.Config, a *admin.Admin) error {
				if err := p.confirm(yes, fmt.Sprintf("Finish %s of %s without handling them?", countOf(int64(len(ids))), args[0])); err != nil {
					return err
				}
				n, err := a.Cancel(ctx, args[0], ids)
				if err != nil {
					return err
				}
				if p.json {
					err = p.printJSON(map[string]any{"table": args[0], "cancelled": n})
				} else {
					_, err = fmt.Fprintf(p.stdout, "%s of %s cancelled\n", countOf(n), args[0])
				}
				if err == nil && n < int64(len(ids)) {
					err = fmt.Errorf("%d of the %d rows do not wait: they are in work, locked, processed, dead letters, or not there", int64(len(ids))-n, len(ids))
				}
				return err
			})
		},
	}
	c.Flags().StringArrayVar(&ids, "id", nil, "the row of this key; may be repeated")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return p.withJSON(c)
}
