package command

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/inbox-wasm/inbox-wasm/internal/bench"
)

// benchFlags are what bench was asked for, beside its options.
type benchFlags struct {
	form   string
	beside []string
}

func (p *program) bench() *cobra.Command {
	var o bench.Options
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the host beside hand-written loops on a database",
		Long: `Measure the host beside the loops that a team would write by hand. Both drain a table that the bench makes and fills, with
the same rows and the same pool, in turns. Each row is handed to a module that parses its payload; the loops parse it in Go.

Without --url it runs on a new SQLite file. In a database it makes the table inbox_wasm_bench, drops it in the end, and
touches nothing else. What it reads of the database's counters is of the whole database on Postgres and of the whole
server on MySQL and MariaDB, so that nobody else should use it.

--beside has another program take turns in the lease form: a command of the shell that reads BENCH_URL, BENCH_ROWS,
BENCH_PAYLOAD, BENCH_WORKERS and BENCH_SECONDS and prints {"rows": n, "seconds": s}.`,
		Example: `  inbox-wasm bench
  inbox-wasm bench --url "$DATABASE_URL" --form lease --workers 16 --latency
  inbox-wasm bench --url "$DATABASE_URL" --form advisory --keys 1
  inbox-wasm bench --url "$DATABASE_URL" --form lease --workers 4 --processes 1,2,4,8`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.apply(&o); err != nil {
				return err
			}
			return p.runBench(c.Context(), o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.URL, "url", "", "the database; default: a new SQLite file")
	flags.StringVar(&f.form, "form", "all", "lease, row-lock, advisory, or all that the database has")
	flags.IntSliceVar(&o.Workers, "workers", []int{1, 4, 16}, "threads of the host and workers of a loop")
	flags.IntVar(&o.Rows, "rows", 100_000, "rows of a drain")
	flags.IntVar(&o.Payload, "payload", 100, "bytes of a payload")
	flags.IntVar(&o.Keys, "keys", 0, "keys that the rows share in the advisory form; default: one each")
	flags.IntVar(&o.Rounds, "rounds", 5, "how often each takes its turn")
	flags.DurationVar(&o.Limit, "limit", 2*time.Second, "when a drain ends that is not through its rows, and how long --latency takes")
	flags.BoolVar(&o.Latency, "latency", false, "also take each row's time, with the host at half of what it reached, and idle")
	flags.IntSliceVar(&o.Processes, "processes", nil, "processes of the host that share a drain, such as 1,2,4,8, in the place of the loops")
	flags.StringVar(&o.Module, "module", "", "the handler; default: one in C that parses the payload")
	flags.StringArrayVar(&f.beside, "beside", nil, "another program that takes turns, as NAME=COMMAND; may be repeated")
	_ = c.RegisterFlagCompletionFunc("form", cobra.FixedCompletions([]string{"all", "lease", "row-lock", "advisory"}, cobra.ShellCompDirectiveNoFileComp))
	return p.withJSON(c)
}

// apply checks the flags and puts what they say into the options.
func (f *benchFlags) apply(o *bench.Options) error {
	if f.form != "all" {
		if !slices.Contains(bench.Forms(), bench.Form(f.form)) {
			return usage("--form %s is none of lease, row-lock, advisory and all", f.form)
		}
		o.Forms = []bench.Form{bench.Form(f.form)}
	}
	numbers := []struct {
		flag     string
		n, least int
	}{{"rows", o.Rows, 1}, {"rounds", o.Rounds, 1}, {"payload", o.Payload, 0}, {"keys", o.Keys, 0}}
	if o.Processes != nil && (o.Latency || f.beside != nil) {
		return usage("--processes measures nothing else: leave --latency and --beside out")
	}
	for _, n := range o.Processes {
		numbers = append(numbers, struct {
			flag     string
			n, least int
		}{"processes", n, 1})
	}
	for _, n := range o.Workers {
		numbers = append(numbers, struct {
			flag     string
			n, least int
		}{"workers", n, 1})
	}
	for _, v := range numbers {
		if v.n < v.least {
			return usage("--%s %d is less than %d", v.flag, v.n, v.least)
		}
	}
	if o.Limit <= 0 {
		return usage("--limit %v is no time", o.Limit)
	}
	for _, text := range f.beside {
		name, command, found := strings.Cut(text, "=")
		if !found || name == "" || command == "" {
			return usage("--beside %q is not NAME=COMMAND", text)
		}
		o.Beside = append(o.Beside, bench.Program{Name: name, Command: command})
	}
	return nil
}

func (p *program) runBench(ctx context.Context, o bench.Options) error {
	stop, _, release := signals(ctx)
	defer release()
	defer calmCollector()()
	o.Databases = p.databases
	var err error
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	o.Log = slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})
	var finish func() error
	o.Progress, finish = p.benchProgress()
	report, err := bench.Run(stop, o)
	if ended := finish(); err == nil {
		err = ended
	}
	if stop.Err() != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(report)
	}
	p.printBench(report)
	return nil
}

// benchProgress shows a bar where somebody looks.
func (p *program) benchProgress() (progress func(done, total int, what string), finish func() error) {
	file, ok := p.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func(int, int, string) {}, func() error { return nil }
	}
	bar := progressbar.NewOptions(1, progressbar.OptionSetWriter(p.stderr), progressbar.OptionClearOnFinish())
	progress = func(done, total int, what string) {
		bar.Describe(what)
		if total > 0 {
			bar.ChangeMax(total)
			_ = bar.Set(done) // a bar that cannot be drawn is no reason to end
		}
	}
	return progress, bar.Finish
}

func (p *program) printBench(r *bench.Report) {
	fmt.Fprintf(p.stdout, "%s, %d rows of %d bytes, medians of %d rounds\n", r.Database, r.Rows, r.Payload, r.Rounds)
	var rows []table.Row
	for _, x := range r.Results {
		ratio := ""
		if x.Ratio != nil {
			ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", x.Ratio.Median, x.Ratio.Min, x.Ratio.Max)
		}
		rows = append(rows, table.Row{x.Form, x.Workers, x.Name, fmt.Sprintf("%.0f", x.Rows.Median), ratio, scaled(x.CPU, 1e6, 1), scaled(x.DatabaseCPU, 1e6, 1),
			scaled(x.Transactions, 1, 3), scaled(x.Sessions, 1, 0), scaled(x.Connections, 1, 5), scaled(x.Allocations, 1, 1)})
	}
	p.printTable(table.Row{"form", "workers", "who", "rows/s", "host ÷ it", "CPU µs/row", "database µs/row", "transactions/row", "connections", "connections/row", "allocations/row"}, rows)
	if len(r.Latencies) == 0 {
		return
	}
	fmt.Fprintln(p.stdout, "\nfrom the commit of a row's insert to its settlement, by the host at half of its rows a second, and of single rows that find it idle, in ms")
	rows = nil
	for _, l := range r.Latencies {
		rows = append(rows, table.Row{l.Form, l.Workers, l.Load, fmt.Sprintf("%.0f", l.Rate), scaled(&l.P50, 1e3, 2), scaled(&l.P95, 1e3, 2), scaled(&l.P99, 1e3, 2), scaled(&l.Max, 1e3, 2)})
	}
	p.printTable(table.Row{"form", "workers", "load", "rows/s", "p50", "p95", "p99", "max"}, rows)
}

// scaled is a figure with some decimals, and a dash where there is none.
func scaled(v *float64, by float64, decimals int) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f", decimals, *v*by)
}
