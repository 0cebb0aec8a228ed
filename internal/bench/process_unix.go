//go:build unix

package bench

import (
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
