package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// counts are what a database counts of itself, absent where it does not.
type counts struct{ transactions, sessions *float64 }

// drained is what one drain came to. What cannot be told is absent: of another program's everything but the first two.
type drained struct {
	rows             int
	seconds          float64
	cpu, databaseCPU *float64 // in seconds, of this process and of the database
	allocations      *float64
	counts
}

// stopwatch is where the counters stood when a drain began.
type stopwatch struct {
	db          database
	at          time.Time
	cpu         time.Duration
	databaseCPU time.Duration
	allocations uint64
}

func (b *bench) start() stopwatch {
	var m runtime.MemStats
	runtime.GC() // what fell off before is not this drain's
	runtime.ReadMemStats(&m)
	s := stopwatch{db: b.db, cpu: ownCPU(), allocations: m.Mallocs}
	s.databaseCPU, _ = b.db.cpu()
	s.at = time.Now()
	return s
}

func (s stopwatch) end(rows int) drained {
	d := drained{rows: rows, seconds: time.Since(s.at).Seconds(), cpu: new((ownCPU() - s.cpu).Seconds())}
	if used, ok := s.db.cpu(); ok {
		d.databaseCPU = new((used - s.databaseCPU).Seconds())
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	d.allocations = new(float64(m.Mallocs - s.allocations))
	return d
}

// count adds what the database has counted since.
func (d *drained) count(ctx context.Context, db database, before counts) error {
	after, err := db.counted(ctx)
	if err != nil {
		return err
	}
	difference := func(before, after *float64) *float64 {
		if before == nil || after == nil {
			return nil
		}
		return new(*after - *before)
	}
	d.counts = counts{difference(before.transactions, after.transactions), difference(before.sessions, after.sessions)}
	return nil
}

// tick is a unit of /proc on Linux.
const tick = 10 * time.Millisecond

// process is what /proc/PID/stat says of a process.
type process struct {
	name   string
	parent int
	// cpu is the process's own, and ended that of its children that have ended.
	cpu, ended time.Duration
}

func readProcess(pid int) (p process, err error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, err
	}
	// The name stands in parentheses and may hold any.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if open < 0 || len(fields) < 15 {
		return p, fmt.Errorf("process %d: unknown form of stat", pid)
	}
	p.name = string(stat[open+1 : end])
	var numbers [5]int
	for i, field := range []int{1, 11, 12, 13, 14} {
		if numbers[i], err = strconv.Atoi(string(fields[field])); err != nil {
			return p, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	p.parent = numbers[0]
	p.cpu = time.Duration(numbers[1]+numbers[2]) * tick
	p.ended = time.Duration(numbers[3]+numbers[4]) * tick
	return p, nil
}

// familyCPU is what a server that is a process of its own for each session has used: its own, its children's, and
// that of children that have ended.
func familyCPU(parent int) (time.Duration, bool) {
	root, err := readProcess(parent)
	if err != nil {
		return 0, false
	}
	sum := root.cpu + root.ended
	stats, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, false
	}
	for _, folder := range stats {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		// One that has ended in the meantime is among its parent's.
		if p, err := readProcess(pid); err == nil && p.parent == parent {
			sum += p.cpu
		}
	}
	return sum, true
}
