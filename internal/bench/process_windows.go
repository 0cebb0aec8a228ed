package bench

import (
	"errors"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/windows"
)

// ownCPU is what this process has used, in the kernel too.
func ownCPU() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		panic(err) // it is asked about itself
	}
	const unit = 100 * time.Nanosecond
	ticks := func(t windows.Filetime) time.Duration {
		return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * unit
	}
	return ticks(kernel) + ticks(user)
}

// endTogether leaves a command to be killed by itself: there is no signal that asks it and what it has started to end.
func endTogether(*exec.Cmd) {}

var errHalt = errors.New("several processes begin together by standing still until then, which those of Windows cannot")

func halt(*os.Process) error { return errHalt }
func goOn(*os.Process) error { return errHalt }

// stop ends a process, which cannot be asked to.
func stop(p *os.Process) error { return p.Kill() }
