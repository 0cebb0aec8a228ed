package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// Whatever is logged of a delivery, by the guest or about its settlement, names it by the same keys, in text and in JSON.
func TestLinesNameTheirDelivery(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		for _, format := range []string{"text", "json"} {
			log := &lines{}
			b := openOn(t, db, format, declared, func(o *Options) {
				if format == "json" {
					o.Log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				} else {
					o.Log = log.logger()
				}
			})
			b.enqueue("jobs", "work", "i", "trap", "drop", "kill", "retry", "ok")
			b.drain()
			perRow := map[string]int{}
			for line := range strings.Lines(log.String()) {
				row, about := named(t, format, line)
				if about {
					perRow[row]++
				}
			}
			if len(perRow) != 6 {
				t.Errorf("%s: lines about %d rows, want 6: %v\n%s", format, len(perRow), perRow, log.String())
			}
		}
	})
}

// openOn opens a service on the tables, which are made for the first format.
func openOn(t *testing.T, db testdb.Database, format, declared string, change func(*Options)) *bench {
	t.Helper()
	toml := declared + handler(t, "work", "jobs", "backoff = { initial = \"1h\", max = \"1h\" }\nmax_attempts = 2\ndead_letter = \"dead\"")
	if format == "text" {
		return open(t, db, toml, untilEmpty, change)
	}
	b := reopen(t, parse(t, db, toml), untilEmpty, change)
	b.script("DELETE FROM jobs")
	return b
}

var textRow = regexp.MustCompile(`subscription=work row=(\d+) attempt=\d+`)

// named is the row that a line names, where it is about a delivery.
func named(t *testing.T, format, line string) (row string, about bool) {
	t.Helper()
	if format == "text" {
		about = strings.Contains(line, " attempt=") || strings.Contains(line, " row=") || strings.Contains(line, " id=")
		match := textRow.FindStringSubmatch(line)
		if about && match == nil {
			t.Errorf("%s", line)
			return "", false
		}
		if !about {
			return "", false
		}
		return match[1], true
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(line), &keys); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, key := range []string{"row", "attempt", "id"} {
		_, has := keys[key]
		about = about || has
	}
	if !about {
		return "", false
	}
	_, attempt := keys["attempt"].(float64)
	if keys["subscription"] != "work" || keys["row"] == nil || !attempt || keys["id"] != nil {
		t.Errorf("%s", line)
	}
	return fmt.Sprint(keys["row"]), true
}
