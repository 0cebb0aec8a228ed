package bench

import (
	"log/slog"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// Processes of the real program drain the table together, and end with their turn.
func TestProcessesShareADrain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "inbox-wasm")
	if text, err := exec.Command("go", "build", "-o", program, "../../cmd/inbox-wasm").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		report, err := Run(t.Context(), Options{
			URL: db.URL, Databases: databases.Builtin(), Forms: []Form{Lease}, Workers: []int{2}, Rows: 2000, Payload: 100, Rounds: 1, Limit: time.Minute,
			Log: slog.DiscardHandler, Progress: func(int, int, string) {}, Processes: []int{1, 3}, Program: program,
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range report.Results {
			names = append(names, r.Name)
			if r.Rows.Median <= 0 || r.CPU == nil {
				t.Errorf("%s drained %v rows a second with a CPU time of %v", r.Name, r.Rows, r.CPU)
			}
		}
		if diff := cmp.Diff([]string{"1 process", "3 processes"}, names); diff != "" {
			t.Error(diff)
		}
	})
}
