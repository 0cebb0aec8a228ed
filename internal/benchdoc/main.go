// Command benchdoc writes what `inbox-wasm bench --json` printed into a page, between the markers of benchmarks:
//
//	go run ./internal/benchdoc docs/benchmarks.md postgres.json mariadb.json sqlite.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/internal/bench"
)

// What stands between the markers is replaced.
const (
	begin = "<!-- bench: begin -->\n"
	end   = "<!-- bench: end -->\n"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/benchdoc PAGE REPORT...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchdoc:", err)
		os.Exit(1)
	}
}

func run(page string, files []string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var r bench.Report
		if err := json.Unmarshal(data, &r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		write(&b, &r)
	}
	replaced, err := replace(string(text), b.String())
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(replaced), 0o644)
}

// replace puts a text between the markers of a page.
func replace(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", errors.New("it has no markers for benchmarks")
	}
	return before + begin + text + "\n" + end + after, nil
}

// write writes the tables of one database.
func write(b *strings.Builder, r *bench.Report) {
	fmt.Fprintf(b, "\n### %s\n\n%s rows of %d bytes, %d rounds. Rows a second; behind them the host's ÷ these, and the ratio's spread.\n\n",
		r.Database, thousands(float64(r.Rows)), r.Payload, r.Rounds)
	workers := workersOf(r)
	line(b, "form", "who")
	for _, n := range workers {
		fmt.Fprintf(b, " %s |", plural(n))
	}
	rule(b, 2+len(workers))
	for _, x := range r.Results {
		if x.Workers != workers[0] {
			continue
		}
		line(b, string(x.Form), x.Name)
		for _, n := range workers {
			fmt.Fprintf(b, " %s |", rate(find(r, x.Form, x.Name, n)))
		}
		b.WriteString("\n")
	}
	most := workers[len(workers)-1]
	fmt.Fprintf(b, "\nWhat a row costs with %s:\n\n", plural(most))
	line(b, "form", "who", "CPU here, µs", "CPU of the database, µs", "transactions", "connections of a drain", "allocations")
	rule(b, 7)
	for _, x := range r.Results {
		if x.Workers == most && x.CPU != nil {
			line(b, string(x.Form), x.Name, figure(x.CPU, 1e6, 1), figure(x.DatabaseCPU, 1e6, 1), figure(x.Transactions, 1, 3), figure(x.Sessions, 1, 0), figure(x.Allocations, 1, 1))
			b.WriteString("\n")
		}
	}
	if len(r.Latencies) == 0 {
		return
	}
	b.WriteString("\nFrom the commit of a row's insert to its settlement, by the host at half of its rows a second, and of single rows that find it idle, in ms:\n\n")
	line(b, "form", "workers", "load", "rows a second", "p50", "p95", "p99", "max")
	rule(b, 8)
	for _, l := range r.Latencies {
		line(b, string(l.Form), fmt.Sprint(l.Workers), l.Load, thousands(l.Rate), figure(&l.P50, 1e3, 1), figure(&l.P95, 1e3, 1), figure(&l.P99, 1e3, 1), figure(&l.Max, 1e3, 1))
		b.WriteString("\n")
	}
}

// workersOf lists the numbers of workers that were measured.
func workersOf(r *bench.Report) (list []int) {
	for _, x := range r.Results {
		if !slices.Contains(list, x.Workers) {
			list = append(list, x.Workers)
		}
	}
	return list
}

// find is the result of a contestant with so many workers.
func find(r *bench.Report, form bench.Form, name string, workers int) *bench.Result {
	i := slices.IndexFunc(r.Results, func(x bench.Result) bool { return x.Form == form && x.Name == name && x.Workers == workers })
	return &r.Results[i]
}

func rate(x *bench.Result) string {
	text := thousands(x.Rows.Median)
	if x.Ratio != nil {
		text += fmt.Sprintf(" · **%.2f** (%.2f–%.2f)", x.Ratio.Median, x.Ratio.Min, x.Ratio.Max)
	}
	return text
}

func line(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |")
}

// rule ends a header of so many cells.
func rule(b *strings.Builder, cells int) {
	b.WriteString("\n|" + strings.Repeat(" --- |", cells) + "\n")
}

func plural(workers int) string {
	if workers == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", workers)
}

// figure is a number with some decimals, and a dash where there is none.
func figure(v *float64, by float64, decimals int) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f", decimals, *v*by)
}

// thousands writes a whole number with commas.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
