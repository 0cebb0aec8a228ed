package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const report = `{"database": "Postgres 15", "rows": 100000, "payload": 100, "rounds": 5, "results": [
  {"form": "lease", "workers": 1, "name": "host", "rows_per_second": {"median": 90000, "min": 80000, "max": 95000},
   "cpu_seconds_per_row": 0.000002, "transactions_per_row": 0.004, "connections": 3, "allocations_per_row": 7},
  {"form": "lease", "workers": 1, "name": "river", "host": "host", "rows_per_second": {"median": 900, "min": 800, "max": 950},
   "host_ratio": {"median": 100, "min": 90, "max": 101}}],
  "latencies": [{"form": "lease", "workers": 1, "load": "half", "rows_per_second": 45000, "p50": 0.001, "p95": 0.002, "p99": 0.0035, "max": 0.01}]}`

const want = `# Page

<!-- bench: begin -->

### Postgres 15

100,000 rows of 100 bytes, 5 rounds. Rows a second; behind them the host's ÷ these, and the ratio's spread.

| form | who | 1 worker |
| --- | --- | --- |
| lease | host | 90,000 |
| lease | river | 900 · **100.00** (90.00–101.00) |

What a row costs with 1 worker:

| form | who | CPU here, µs | CPU of the database, µs | transactions | connections of a drain | allocations |
| --- | --- | --- | --- | --- | --- | --- |
| lease | host | 2.0 | – | 0.004 | 3 | 7.0 |

From the commit of a row's insert to its settlement, by the host at half of its rows a second, and of single rows that find it idle, in ms:

| form | workers | load | rows a second | p50 | p95 | p99 | max |
| --- | --- | --- | --- | --- | --- | --- | --- |
| lease | 1 | half | 45,000 | 1.0 | 2.0 | 3.5 | 10.0 |

<!-- bench: end -->
After.
`

func TestRun(t *testing.T) {
	page, file := filepath.Join(t.TempDir(), "page.md"), filepath.Join(t.TempDir(), "report.json")
	for path, text := range map[string]string{page: "# Page\n\n" + begin + "old\n" + end + "After.\n", file: report} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := run(page, []string{file}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("got +, want -\n%s", diff)
		}
	}
	if err := run(file, []string{file}); err == nil {
		t.Error("a page without markers is no error")
	}
}
