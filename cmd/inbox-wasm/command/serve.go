package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/web"
)

func (p *program) serve() *cobra.Command {
	var untilEmpty, watch bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the handlers until SIGINT or SIGTERM",
		Long: `Run the handlers until SIGINT or SIGTERM. Then the running calls may finish, for at most
drain_timeout; a second signal interrupts them at once. Rows that are not settled are given back.

SIGHUP reads inbox.toml and the modules anew. Handlers that have changed are replaced when their running calls
have ended, and the others do not notice. What cannot be put to work is refused with the reason, and what
runs goes on. [database] and [runtime] need a new start.`,
		Example: `  inbox-wasm serve
  inbox-wasm serve -c staging.toml
  inbox-wasm serve --watch            # reload whenever inbox.toml or a module has changed
  inbox-wasm serve --until-empty      # for jobs and tests: ends when nothing is due or in work here`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return p.runServe(c.Context(), untilEmpty, watch) },
	}
	c.Flags().BoolVar(&untilEmpty, "until-empty", false, "end when every queue is empty, and print what happened")
	c.Flags().BoolVar(&watch, "watch", false, "reload whenever inbox.toml or a module has changed")
	return p.withJSON(c)
}

func (p *program) runServe(ctx context.Context, untilEmpty, watch bool) (err error) {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	stop, abort, release := signals(ctx)
	defer release()
	defer calmCollector()()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	log := p.logger(cfg.Runtime)
	provider, flush, err := traces(ctx, log)
	if err != nil {
		return err
	}
	defer flush()
	manager := newSupervisor(log)
	manager.starting()
	reloads := &reloader{program: p, log: log, manager: manager, config: cfg, asked: make(chan chan<- reloadAnswer)}
	server, err := p.listen(cfg, log, reloads)
	if err != nil {
		return err
	}
	service, err := host.Open(stop, host.Options{Config: cfg, Log: log, Databases: p.databases, UntilEmpty: untilEmpty, Traces: provider,
		Build: readVersions().build(), Launched: manager.ready})
	if err != nil {
		return errors.Join(err, server.Close())
	}
	reloads.service = service
	server.Attach(service)
	// What the server answers is the service's, so it ends first.
	defer func() { err = errors.Join(err, server.Close(), service.Close()) }()
	log.Info("serving", "handlers", len(cfg.Handlers), "database", cfg.Database.URL)
	running, ended := context.WithCancel(stop)
	var reloading sync.WaitGroup
	reloading.Go(func() { reloads.run(running, hangups, watch) })
	watched := manager.watch(stop, cfg.Runtime.DrainTimeout, service)
	err = service.Run(stop, abort)
	ended()
	reloading.Wait()
	watched()
	if err != nil {
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

// listen has the process answer over HTTP where the configuration says so. Before there is a service it answers that
// nothing is ready.
func (p *program) listen(cfg *config.Config, log *slog.Logger, reloads *reloader) (*web.Server, error) {
	if cfg.Runtime.ListenHTTP == "" {
		return nil, nil
	}
	return web.New(web.Options{Config: cfg, Log: log, Reload: reloads.ask, Version: readVersions().Version})
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
