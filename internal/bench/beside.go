package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Program is another queue's, that takes turns with the host. It is told what to do in its environment, makes its own
// tables in the database and drops them, and prints {"rows": n, "seconds": s}.
type Program struct {
	Name    string
	Command string // of a shell
}

// stopTimeout is how long a program may take to drop its tables when the run is interrupted.
const stopTimeout = 10 * time.Second

// beside is a program as a contestant.
func (b *bench) beside(p Program) func(context.Context, *queue, int) (drained, error) {
	return func(ctx context.Context, _ *queue, workers int) (drained, error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", p.Command)
		cmd.Env = append(os.Environ(), "BENCH_URL="+b.URL, "BENCH_ROWS="+strconv.Itoa(b.Rows), "BENCH_PAYLOAD="+strconv.Itoa(b.Payload),
			"BENCH_WORKERS="+strconv.Itoa(workers), fmt.Sprintf("BENCH_SECONDS=%g", b.Limit.Seconds()))
		endTogether(cmd)
		cmd.WaitDelay = stopTimeout
		cmd.Stderr = os.Stderr
		answer, err := cmd.Output()
		if err != nil {
			return drained{}, err
		}
		var d struct {
			Rows    int
			Seconds float64
		}
		if err := json.Unmarshal(answer, &d); err != nil {
			return drained{}, fmt.Errorf("it printed %q: %w", answer, err)
		}
		if d.Seconds <= 0 {
			return drained{}, fmt.Errorf("it printed %q, and no time", answer)
		}
		return drained{rows: d.Rows, seconds: d.Seconds}, nil
	}
}
