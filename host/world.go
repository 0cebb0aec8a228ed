package host

import (
	"fmt"
	"os"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/outbound"
)

// environment is what a handler's guests see of the host's: the variables that it allows, where they are set.
func environment(h *config.Handler) (env [][2]string) {
	for _, name := range h.Allow.Env {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, [2]string{name, value})
		}
	}
	return env
}

// mounts opens the directories that a handler allows, and reports those that cannot be.
func (c *checker) mounts(h *config.Handler) (mounts []*engine.Mount) {
	for _, m := range h.Allow.Files {
		mount, err := engine.OpenMount(m.Host, m.Guest, m.Write)
		if err != nil {
			c.handler(h, "allow.files", fmt.Sprintf("cannot open %s: %v", m.Host, err), "name a directory that is there and that this user may read")
			continue
		}
		mounts = append(mounts, mount)
	}
	return mounts
}

// outboundOf sends the requests of a handler's guests, nil where it allows none, and what closes it.
func outboundOf(h *config.Handler) (engine.Requests, func()) {
	if len(h.Allow.HTTP) == 0 {
		return nil, func() {}
	}
	o := outbound.Options{MaxResponse: h.Limits.HTTPResponse}
	for _, t := range h.Allow.HTTP {
		o.Targets = append(o.Targets, outbound.Target{Origin: t.URL, Private: t.Private})
	}
	client := outbound.New(o)
	return client.Do, client.Close
}
