package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// processes is so many processes of the host that drain the table together. They are started on the empty table and
// stopped while it is filled, so that their start is nobody's time.
func (b *bench) processes(n int) contestant {
	name := "1 process"
	if n != 1 {
		name = fmt.Sprintf("%d processes", n)
	}
	return contestant{name: name, drain: func(ctx context.Context, t *queue, workers int) (d drained, err error) {
		if err := t.renew(ctx); err != nil {
			return d, err
		}
		var children []*child
		defer func() {
			for _, c := range children {
				err = errors.Join(err, c.end())
			}
		}()
		for range n {
			c, err := b.spawn(ctx, t.form, workers)
			if err != nil {
				return d, err
			}
			children = append(children, c)
		}
		if err := each(children, halt); err != nil {
			return d, err
		}
		if err := t.db.fill(ctx, t); err != nil {
			return d, errors.Join(fmt.Errorf("fill the table %s: %w", tableName, err), each(children, goOn))
		}
		before, began := childrenCPU(children), b.start()
		if err := each(children, goOn); err != nil {
			return d, err
		}
		left, err := t.drained(ctx)
		if err != nil {
			return d, err
		}
		d = began.end(t.Rows - left)
		d.cpu = new((childrenCPU(children) - before).Seconds())
		d.allocations = nil // of this process, which does nothing
		return d, nil
	}}
}

// drained waits until the table is empty, or the limit has passed, and says how many rows are left.
func (t *queue) drained(ctx context.Context) (left int, err error) {
	const look = 5 * time.Millisecond // a count is work for the database
	for began := time.Now(); ; {
		over := time.Since(began) >= t.Limit
		query := "SELECT 1 FROM " + tableName + " LIMIT 1"
		if over {
			query = "SELECT 1 FROM " + tableName
		}
		left = 0
		if err := t.store.Query(ctx, &dialect.Statement{SQL: query}, 0, nil, func([][]byte) error { left++; return nil }); err != nil {
			return 0, err
		}
		if left == 0 || over {
			return left, nil
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}

// child is a process of the host.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when its output has ended
}

// spawn starts a process and waits until it serves.
func (b *bench) spawn(ctx context.Context, f Form, workers int) (*child, error) {
	path := filepath.Join(b.dir, "process.toml")
	text := fmt.Appendf(nil, toml, connections(workers), roles[f], workers, `"auto"`, false)
	text = append(text, "poll_interval = \"10ms\"\n"...) // nobody tells them of the rows
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, b.Program, "serve", "-c", path), gone: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), "URL="+b.URL, "CACHE="+filepath.Join(b.dir, "cache"), "MODULE="+b.Module)
	c.cmd.WaitDelay = stopTimeout
	output, err := c.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	serving := make(chan bool, 1)
	var said strings.Builder
	go func() {
		defer close(c.gone)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
			if strings.Contains(lines.Text(), "msg=serving") {
				serving <- true
			}
		}
		serving <- false
	}()
	if !<-serving {
		<-c.gone
		return nil, errors.Join(fmt.Errorf("a process of the host did not serve:\n%s", said.String()), c.cmd.Wait())
	}
	return c, nil
}

// end stops the process.
func (c *child) end() error {
	err := stop(c.cmd.Process)
	<-c.gone
	return errors.Join(err, c.cmd.Wait())
}

func each(children []*child, do func(*os.Process) error) error {
	var errs []error
	for _, c := range children {
		errs = append(errs, do(c.cmd.Process))
	}
	return errors.Join(errs...)
}

// childrenCPU is what the processes have used. One of which nothing is known counts as none.
func childrenCPU(children []*child) (sum time.Duration) {
	for _, c := range children {
		if p, err := readProcess(c.cmd.Process.Pid); err == nil {
			sum += p.cpu
		}
	}
	return sum
}
