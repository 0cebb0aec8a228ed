package command

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// watchEvery is how often watched files are looked at. A change counts once it has been there for two looks, so that
// a build has ended.
const watchEvery = 500 * time.Millisecond

// reloader reads inbox.toml and its modules anew while the service runs.
type reloader struct {
	program *program
	service *host.Service
	log     *slog.Logger
	manager *supervisor
	config  *config.Config // as it was last read
}

// run reloads on each signal, and with watch whenever a file has changed, until ctx ends.
func (r *reloader) run(ctx context.Context, hangups <-chan os.Signal, watch bool) {
	var looks <-chan time.Time
	if watch {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		looks = ticker.C
	}
	loaded := r.look()
	last := loaded
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		case <-looks:
			before := last
			last = r.look()
			if maps.Equal(last, loaded) || !maps.Equal(last, before) {
				continue
			}
		}
		loaded = r.look() // before the files are read, so that no change after that is missed
		r.reload(ctx)
	}
}

func (r *reloader) reload(ctx context.Context) {
	r.manager.reloading()
	err := r.replace(ctx)
	if ctx.Err() != nil {
		return // the service stops
	}
	r.manager.reloaded(err)
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		r.log.Error("not reloaded, what runs goes on: " + strings.TrimSpace(line))
	}
}

// replace puts to work what has changed.
func (r *reloader) replace(ctx context.Context) error {
	cfg, err := r.program.load()
	if err != nil {
		return err
	}
	r.config = cfg
	what, err := r.service.Reload(ctx, cfg)
	if err == nil {
		r.log.Info("reloaded", "changed", what.Changed, "added", what.Added, "removed", what.Removed, "kept", what.Kept)
	}
	return err
}

// stamp tells one content of a file from another, without reading it.
type stamp struct {
	size     int64
	modified time.Time
}

// look gives the stamps of the configuration and its modules. One that cannot be looked at has none.
func (r *reloader) look() map[string]stamp {
	files := []string{r.config.Path}
	for _, h := range r.config.Handlers {
		files = append(files, h.Module)
	}
	stamps := map[string]stamp{}
	for _, file := range files {
		stamps[file] = stamp{}
		if info, err := os.Stat(file); err == nil {
			stamps[file] = stamp{info.Size(), info.ModTime()}
		}
	}
	return stamps
}
