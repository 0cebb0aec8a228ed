package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

func (p *program) stats() *cobra.Command {
	var watch bool
	var interval time.Duration
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count the rows of the declared tables by group and state",
		Long: `Count the rows of the declared tables by group: due, delayed, in work, dead letters, processed, and for how
long the row has been due that has been for longest. In the row lock form and the advisory lock form the
database does not say which rows are in work, and they count as due. It says as well which indexes are missing, and
what the database knows of the processes that work on it.

Each table is read for it, mostly from the index of its claim order. With --json and --watch each look is one line.`,
		Example: `  inbox-wasm stats
  inbox-wasm stats --watch
  inbox-wasm stats --json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if interval <= 0 {
				return usage("--interval %v is not above 0s", interval)
			}
			return p.operate(c.Context(), func(ctx context.Context, _ *config.Config, a *admin.Admin) error {
				if watch {
					return p.watchStats(ctx, a, interval)
				}
				s, err := look(ctx, a)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(s)
				}
				p.printStats(s)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "look again and again, until the interrupt")
	c.Flags().DurationVar(&interval, "interval", 2*time.Second, "how long --watch waits between two looks")
	return p.withJSON(c)
}

// statistics are what stats prints.
type statistics struct {
	Time     time.Time          `json:"time"`
	Tables   []admin.TableStats `json:"tables"`
	Sessions []admin.Sessions   `json:"sessions,omitempty"`
}

func look(ctx context.Context, a *admin.Admin) (statistics, error) {
	s := statistics{Time: time.Now().UTC()}
	var err error
	if s.Tables, err = a.Stats(ctx); err != nil {
		return s, err
	}
	s.Sessions, err = a.Sessions(ctx)
	return s, err
}

// watchStats looks until ctx ends. A look that took long is followed by as long a pause, so that it never is most of
// what the database does.
func (p *program) watchStats(ctx context.Context, a *admin.Admin, interval time.Duration) error {
	for {
		began := time.Now()
		s, err := look(ctx, a)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if p.json {
			if err := json.NewEncoder(p.stdout).Encode(s); err != nil {
				return err
			}
		} else {
			const home = "\x1b[H\x1b[2J"
			fmt.Fprintf(p.stdout, "%severy %v, %s\n", home, interval, s.Time.Local().Format(time.TimeOnly))
			p.printStats(s)
		}
		select {
		case <-time.After(max(interval, time.Since(began))):
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *program) printStats(s statistics) {
	var rows []table.Row
	unknown := false
	for _, t := range s.Tables {
		for _, g := range t.Groups {
			working := any(g.InWork)
			if !t.InWorkKnown {
				working, unknown = "?", true
			}
			oldest := "–"
			if g.Oldest != nil {
				oldest = span(g.Age(s.Time))
			}
			rows = append(rows, table.Row{t.Table, optional(g.Group), strings.Join(g.Handlers, ", "), g.Due, g.Delayed, working, g.Dead, g.Processed, oldest})
		}
	}
	p.printTable(table.Row{"table", "group", "handlers", "due", "delayed", "in work", "dead", "processed", "oldest"}, rows)
	if unknown {
		fmt.Fprintln(p.stdout, "?: rows that are held by a lock count as due; the database does not say which they are")
	}
	if len(s.Sessions) > 0 {
		rows = nil
		for _, one := range s.Sessions {
			open, oldest := "?", "–"
			if one.InTransaction != nil {
				open = fmt.Sprint(*one.InTransaction)
			}
			if one.Oldest != nil {
				oldest = span(time.Duration(*one.Oldest * float64(time.Second)))
			}
			rows = append(rows, table.Row{oneLine(one.Name, 63), one.Address, one.Sessions, one.Active, open, oldest})
		}
		p.printTable(table.Row{"process", "address", "sessions", "active", "in a transaction", "oldest"}, rows)
	}
	for _, t := range s.Tables {
		for _, create := range t.MissingIndexes {
			fmt.Fprintf(p.stdout, "table %s lacks an index: %s;\n", t.Table, create)
		}
	}
}
