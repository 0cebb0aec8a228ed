package testdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child that does not outlive this one, however this one ends.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child has been waited for
	err  error         // what the wait said; read it after done
}

// start runs cmd in a process group of its own, so that an interrupt typed at
// the terminal reaches us and not the child. The kernel sends the child deathSignal
// when the thread that started it ends: a thread is therefore kept for it.
func start(cmd *exec.Cmd, deathSignal syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = deathSignal

	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// end sends the signal and waits for the child. A child that does not answer
// within ten seconds is killed with its group, and that is an error.
func (p *process) end(signal os.Signal) error {
	// An error says that the child has ended already, which the wait shows.
	_ = p.cmd.Process.Signal(signal)
	select {
	case <-p.done:
		return nil
	case <-time.After(10 * time.Second):
		p.killGroup()
		return fmt.Errorf("%s ignored the signal %q for ten seconds and was killed", p.cmd.Path, signal)
	}
}

// killGroup kills the child and what it started, and waits for the child.
func (p *process) killGroup() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// run runs cmd to its end or until the context ends; a failure carries what the
// command printed.
func run(ctx context.Context, cmd *exec.Cmd, log string) error {
	output, err := os.Create(log)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output

	p, err := start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.killGroup()
		return fmt.Errorf("%s: %w", cmd.Path, ctx.Err())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.Path, p.err, tail(log))
	}
	return nil
}

// tail is the end of a log file, for an error.
func tail(name string) string {
	const most = 4096
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
