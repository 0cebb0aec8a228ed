package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var metric = regexp.MustCompile(`\binbox_wasm_[a-z_]+`)

// metricsIn are the names of metrics in a text, without what a histogram adds to its own.
func metricsIn(text string) []string {
	names := metric.FindAllString(text, -1)
	for i := range names {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			names[i] = strings.TrimSuffix(names[i], suffix)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// What dashboards, alerts and pages name is what the program has, and the dashboard shows all of it.
func TestMetricsAreTheProgramsOwn(t *testing.T) {
	own := metricsIn(page(t, "docs/metrics.md"))
	if len(own) < 20 {
		t.Fatalf("docs/metrics.md has %q", own)
	}
	files := append(docs(t), "deploy/grafana/inbox-wasm.json", "deploy/prometheus/alerts.yml", "deploy/prometheus/alerts_test.yml")
	for _, path := range files {
		for _, name := range metricsIn(page(t, path)) {
			if !slices.Contains(own, name) {
				t.Errorf("%s: there is no metric %s", path, name)
			}
		}
	}
	shown := metricsIn(page(t, "deploy/grafana/inbox-wasm.json"))
	for _, name := range own {
		if !slices.Contains(shown, name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// The dashboard is JSON, each panel with a place of its own.
func TestDashboardIsWhole(t *testing.T) {
	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(page(t, "deploy/grafana/inbox-wasm.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d, %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies over %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if len(ids) < 15 || dashboard.UID == "" {
		t.Errorf("%d panels, uid %q", len(ids), dashboard.UID)
	}
}

// Prometheus takes the rules, and they fire when they should and not when they should not. The dashboard's expressions
// are Prometheus's as well.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if promtool, err = filepath.Abs("../../tools/promtool"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(promtool); err != nil {
		t.Fatal("promtool is missing: scripts/install.sh installs it, as the package prometheus of your system does")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}, {"check", "rules", dashboardRules(t)}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// dashboardRules is a file with the dashboard's expressions as rules.
func dashboardRules(t *testing.T) string {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(page(t, "deploy/grafana/inbox-wasm.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m") // as Grafana fills it in
			rules = append(rules, rule{fmt.Sprintf("expression_%d", len(rules)), expr})
		}
	}
	// JSON is YAML.
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/dashboard.yml"
	if err := os.WriteFile(path, bytes.TrimSpace(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
