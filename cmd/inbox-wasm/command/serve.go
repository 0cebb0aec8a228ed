package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host"
)

func (p *program) serve() *cobra.Command {
	var untilEmpty bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the handlers until SIGINT or SIGTERM",
		Long: `Run the handlers until SIGINT or SIGTERM. Then the running calls may finish, for at most
drain_timeout; a second signal interrupts them at once. Rows that are not settled are given back.`,
		Example: `  inbox-wasm serve
  inbox-wasm serve -c staging.toml
  inbox-wasm serve --until-empty      # for jobs and tests: ends when nothing is due or in work here`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return p.runServe(c.Context(), untilEmpty) },
	}
	c.Flags().BoolVar(&untilEmpty, "until-empty", false, "end when every queue is empty, and print what happened")
	return p.withJSON(c)
}

func (p *program) runServe(ctx context.Context, untilEmpty bool) (err error) {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	stop, abort, release := signals(ctx)
	defer release()
	log := p.logger(cfg.Runtime)
	service, err := host.Open(stop, host.Options{Config: cfg, Log: log, Databases: p.databases, UntilEmpty: untilEmpty})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	log.Info("serving", "handlers", len(cfg.Handlers), "database", cfg.Database.URL)
	if err := service.Run(stop, abort); err != nil {
		return err
	}
	log.Info("stopped")
	if !untilEmpty {
		return nil
	}
	reports, err := service.Reports(context.WithoutCancel(stop))
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(reports)
	}
	p.printReports(reports)
	return nil
}

// signals gives a context that ends with the first signal and a channel that is closed by the second.
// A third one ends the process as if nobody had listened.
func signals(ctx context.Context) (stop context.Context, abort <-chan struct{}, release func()) {
	stop, cancel := context.WithCancel(ctx)
	second := make(chan struct{})
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, syscall.SIGINT, syscall.SIGTERM)
	released, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for _, react := range []func(){cancel, func() { close(second) }} {
			select {
			case <-arrived:
				react()
			case <-released:
				return
			}
		}
		signal.Stop(arrived)
	}()
	return stop, second, func() {
		signal.Stop(arrived)
		close(released)
		<-done
		cancel()
	}
}

func (p *program) printReports(reports []host.Report) {
	var rows []table.Row
	for _, r := range reports {
		rows = append(rows, table.Row{r.Handler, r.Acked, r.Dropped, r.DeadLettered, r.Delayed + r.Snoozed, r.Retried, r.Lost + r.Unsettled,
			r.Waiting.Due, r.Waiting.Delayed, r.Waiting.Held})
	}
	p.printTable(table.Row{"handler", "acked", "dropped", "dead letters", "delayed", "retried", "not settled", "due", "waiting", "in work"}, rows)
}
