//go:build unix

package bench

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU is what this process has used, in the kernel too.
func ownCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // it is asked about itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// endTogether has a command end with all that it has started, in time to clean up.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// halt stands a process still, and goOn ends that.
func halt(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func goOn(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// stop asks a process to end, also one that stands still.
func stop(p *os.Process) error { return errors.Join(goOn(p), p.Signal(syscall.SIGTERM)) }
