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
	// asked are the answers that those wait for who have asked for a reload.
	asked chan chan<- reloadAnswer
}

// reloadAnswer is what became of a reload that somebody has asked for.
type reloadAnswer struct {
	what host.Reloaded
	err  error
}

// ask has the configuration read anew, as a signal does, and gives what became of it.
func (r *reloader) ask(ctx context.Context) (host.Reloaded, error) {
	answer := make(chan reloadAnswer, 1)
	select {
	case r.asked <- answer:
	case <-ctx.Done():
		return host.Reloaded{}, ctx.Err()
	}
	select {
	case a := <-answer:
		return a.what, a.err
	case <-ctx.Done():
		return host.Reloaded{}, ctx.Err()
	}
}

// run reloads on each signal, whenever somebody asks, and with watch whenever a file has changed, until ctx ends.
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
		var answer chan<- reloadAnswer
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		case answer = <-r.asked:
		case <-looks:
			before := last
			last = r.look()
			if maps.Equal(last, loaded) || !maps.Equal(last, before) {
				continue
			}
		}
		loaded = r.look() // before the files are read, so that no change after that is missed
		what, err := r.reload(ctx)
		if answer != nil {
			answer <- reloadAnswer{what, err}
		}
	}
}

func (r *reloader) reload(ctx context.Context) (host.Reloaded, error) {
	r.manager.reloading()
	what, err := r.replace(ctx)
	if ctx.Err() != nil {
		return what, err // the service stops
	}
	r.manager.reloaded(err)
	if err == nil {
		return what, nil
	}
	for line := range strings.Lines(err.Error()) {
		r.log.Error("not reloaded, what runs goes on: " + strings.TrimSpace(line))
	}
	return what, err
}

// replace puts to work what has changed.
func (r *reloader) replace(ctx context.Context) (host.Reloaded, error) {
	cfg, err := r.program.load()
	if err != nil {
		return host.Reloaded{}, err
	}
	r.config = cfg
	what, err := r.service.Reload(ctx, cfg)
	if err == nil {
		r.log.Info("reloaded", "changed", what.Changed, "added", what.Added, "removed", what.Removed, "kept", what.Kept)
	}
	return what, err
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
