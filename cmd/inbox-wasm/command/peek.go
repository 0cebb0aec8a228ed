package command

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// wholePayload is how much of a payload is printed of a row that was asked for by its key.
const wholePayload = 64 << 10

func (p *program) peek() *cobra.Command {
	var q admin.Query
	var group, state string
	var dead bool
	c := &cobra.Command{
		Use:   "peek TABLE",
		Short: "List rows with their state, attempt and error",
		Long: `List rows of a declared table in the order in which they are claimed, with state, attempt, error and the beginning
of the payload. No row is taken or changed. With --id all there is to see of a row is printed, with up to 64 KiB
of its payload.`,
		Example: `  inbox-wasm peek email_jobs
  inbox-wasm peek email_jobs --dead
  inbox-wasm peek email_jobs --state delayed --group emails --limit 100
  inbox-wasm peek email_jobs --id 4711`,
		Args: exactly("TABLE"),
		RunE: func(c *cobra.Command, args []string) error {
			q.Group = given(group, c.Flags().Changed("group"))
			if q.State = admin.State(state); dead {
				if state != "" {
					return usage("--dead is --state dead, and excludes another one")
				}
				q.State = admin.Dead
			}
			if q.IDs != nil && q.Preview == 0 {
				q.Preview = wholePayload
			}
			return p.operate(c.Context(), func(ctx context.Context, _ *config.Config, a *admin.Admin) error {
				rows, err := a.Peek(ctx, args[0], q)
				switch {
				case err != nil:
					return err
				case p.json:
					return p.printJSON(rows)
				case q.IDs != nil:
					p.printDetails(rows)
				default:
					p.printRows(rows, time.Now())
				}
				if len(rows) < len(q.IDs) {
					return fmt.Errorf("%d of the %d rows are there", len(rows), len(q.IDs))
				}
				return nil
			})
		},
	}
	flags := c.Flags()
	flags.BoolVar(&dead, "dead", false, "dead letters alone")
	flags.StringVar(&state, "state", "", "rows of one state: due, delayed, in_work, dead, processed")
	flags.StringVar(&group, "group", "", "rows of one group")
	flags.StringArrayVar(&q.IDs, "id", nil, "the row of this key; may be repeated")
	flags.IntVar(&q.Limit, "limit", 20, "how many rows, at most 1000")
	flags.IntVar(&q.Offset, "offset", 0, "how many rows are passed over")
	flags.IntVar(&q.Preview, "preview", 0, "how many bytes of a payload are read; default 200, with --id 65536")
	return p.withJSON(c)
}

func (p *program) printRows(rows []admin.Row, now time.Time) {
	var cells []table.Row
	for _, r := range rows {
		attempt := "–"
		if r.Attempt != nil {
			attempt = fmt.Sprint(*r.Attempt)
		}
		what := ""
		if r.Error != nil {
			what = oneLine(*r.Error, 60)
		}
		cells = append(cells, table.Row{oneLine(r.ID, 40), optional(r.Group), r.State, attempt, when(&r, now), what, preview(&r, 40)})
	}
	p.printTable(table.Row{"id", "group", "state", "attempt", "when", "error", "payload"}, cells)
}

// when is the time that goes with a row's state.
func when(r *admin.Row, now time.Time) string {
	switch r.State {
	case admin.Delayed:
		return "due " + ago(r.RetryAfter, now)
	case admin.InWork:
		return "held until " + ago(r.LockedUntil, now)
	case admin.Processed:
		return ago(r.ProcessedAt, now)
	default:
		return ago(r.CreatedAt, now)
	}
}

// preview is the beginning of a payload on one line.
func preview(r *admin.Row, length int) string {
	if r.PayloadSize == nil {
		return "–"
	}
	return oneLine(string(whole(r.Payload)), length)
}

// whole is a text without the half of a character at its end, where the beginning of a payload was cut.
func whole(text []byte) []byte {
	for n := range min(utf8.UTFMax, len(text)) {
		if cut := text[:len(text)-n]; utf8.Valid(cut) {
			return cut
		}
	}
	return text
}

// printDetails prints all there is to see of rows.
func (p *program) printDetails(rows []admin.Row) {
	for _, r := range rows {
		var cells []table.Row
		add := func(name string, value any) { cells = append(cells, table.Row{name, value}) }
		text := func(name string, value *string) {
			if value != nil {
				add(name, oneLine(*value, wholePayload))
			}
		}
		moment := func(name string, t *time.Time) {
			if t != nil {
				add(name, t.Format(time.RFC3339Nano))
			}
		}
		add("id", oneLine(r.ID, 1000))
		text("group", r.Group)
		add("state", r.State)
		if r.Attempt != nil {
			add("attempt", *r.Attempt)
		}
		text("priority", r.Priority)
		text("partition key", r.PartitionKey)
		moment("created at", r.CreatedAt)
		moment("retry after", r.RetryAfter)
		moment("locked until", r.LockedUntil)
		moment("processed at", r.ProcessedAt)
		text("origin", r.Origin)
		text("error", r.Error)
		text("headers", r.Headers)
		if r.PayloadSize != nil {
			add("payload", fmt.Sprintf("%d bytes", *r.PayloadSize))
			add("", preview(&r, wholePayload))
		}
		p.printTable(nil, cells)
	}
}
