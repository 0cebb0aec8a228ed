package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/host/web"
)

// answerWithin bounds how long a running process may take to answer.
const answerWithin = 10 * time.Second

func (p *program) pause() *cobra.Command {
	return p.withJSON(&cobra.Command{
		Use:   "pause HANDLER",
		Short: "Have a handler of the running process claim nothing until it is resumed",
		Long: `Have a handler of the running process claim nothing until it is resumed. Its running calls come to their end, and
what it has not started goes back. The pause is that process's alone: other processes on the same tables go on, and
it ends with the process. The process is spoken to at runtime.listen_http, with runtime.http_token.`,
		Example: `  inbox-wasm pause send-email
  inbox-wasm resume send-email`,
		Args: exactly("HANDLER"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.runSwitch(c.Context(), args[0], true)
		},
	})
}

func (p *program) resume() *cobra.Command {
	return p.withJSON(&cobra.Command{
		Use:     "resume HANDLER",
		Short:   "End the pause of a handler of the running process",
		Example: `  inbox-wasm resume send-email`,
		Args:    exactly("HANDLER"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.runSwitch(c.Context(), args[0], false)
		},
	})
}

func (p *program) runSwitch(ctx context.Context, handler string, pause bool) error {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	client, err := web.NewClient(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	state := "resumed"
	if pause {
		state = "paused"
		err = client.Pause(ctx, handler)
	} else {
		err = client.Resume(ctx, handler)
	}
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(map[string]any{"handler": handler, "paused": pause})
	}
	_, err = fmt.Fprintf(p.stdout, "%s is %s\n", handler, state)
	return err
}
