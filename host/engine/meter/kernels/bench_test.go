// Package kernels measures what the meter costs: kernels compiled from Go, C and Rust, run as they are, metered, and
// with wazero's own way to stop a guest, side by side.
package kernels

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// kernels are the exports, each with how often it runs within some milliseconds.
var kernels = []struct {
	name string
	n    map[string]uint64
}{
	{"hash", map[string]uint64{"go": 30, "c": 40, "rust": 40}},
	{"json", map[string]uint64{"go": 60, "c": 2000, "rust": 1000}},
	{"sort", map[string]uint64{"go": 6, "c": 8, "rust": 8}},
	{"scale", map[string]uint64{"go": 20, "c": 100, "rust": 100}},
	{"regexp", map[string]uint64{"go": 10, "c": 1000, "rust": 1000}},
}

// variants are how a kernel is run.
var variants = []struct {
	name    string
	rewrite bool
	closing bool
}{{"as it is", false, false}, {"metered", true, false}, {"close on context done", false, true}}

// modules are those that were built: Go always, the others where INBOX_KERNELS names their directory.
func modules(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	read := func(language, path string) {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[language] = wasm
	}
	read("go", testwasm.Go(t, "testdata/go"))
	if dir := os.Getenv("INBOX_KERNELS"); dir != "" {
		for _, language := range []string{"c", "rust"} {
			path := filepath.Join(dir, language+".wasm")
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				t.Logf("left out: %s, for want of %s", language, path)
				continue
			}
			read(language, path)
		}
	}
	return found
}

// TestMeterCost prints the table of docs/benchmarks.md. It is a measurement and fails only where a kernel does not
// give the same result however it is run; INBOX_BENCH=rounds says how many rounds it takes.
func TestMeterCost(t *testing.T) {
	rounds := 1
	if text := os.Getenv("INBOX_BENCH"); text != "" {
		if _, err := fmt.Sscan(text, &rounds); err != nil {
			t.Fatal(err)
		}
	}
	built := modules(t)
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "kernel\tlanguage\tas it is\tmetered\tclose on context done")
	var ratios [3][]float64
	for _, language := range []string{"go", "c", "rust"} {
		wasm, ok := built[language]
		if !ok {
			continue
		}
		instances := make([]api.Module, len(variants))
		for i, v := range variants {
			instances[i] = instantiate(t, wasm, v.rewrite, v.closing)
		}
		for _, k := range kernels {
			n := k.n[language]
			if rounds == 1 {
				n = 1
			}
			times := make([][]float64, len(variants))
			for range rounds {
				sums := make([]uint64, len(variants))
				for i := range variants {
					began := time.Now()
					out, err := instances[i].ExportedFunction(k.name).Call(context.Background(), n)
					if err != nil {
						t.Fatalf("%s in %s, %s: %v", k.name, language, variants[i].name, err)
					}
					times[i] = append(times[i], time.Since(began).Seconds()*1000)
					sums[i] = out[0]
				}
				if slices.Max(sums) != slices.Min(sums) {
					t.Fatalf("%s in %s gives %v", k.name, language, sums)
				}
			}
			fmt.Fprintf(table, "%s\t%s", k.name, language)
			for i := range variants {
				var each []float64
				for r := range rounds {
					each = append(each, times[i][r]/times[0][r])
				}
				ratio := median(each)
				ratios[i] = append(ratios[i], ratio)
				fmt.Fprintf(table, "\t%.2f ms", median(times[i]))
				if i > 0 {
					fmt.Fprintf(table, " (%.2f)", ratio)
				}
			}
			fmt.Fprintln(table)
		}
	}
	fmt.Fprintf(table, "geometric mean\t\t\t%.2f\t%.2f\n", mean(ratios[1]), mean(ratios[2]))
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rounds, medians\n%s", rounds, text.String())
}

func instantiate(t *testing.T, wasm []byte, rewrite, closing bool) api.Module {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(closing))
	t.Cleanup(func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	// As the engine has it: a call without reflection, and a look at the clock.
	deadline := time.Now().Add(time.Hour)
	spent := api.GoModuleFunc(func(context.Context, api.Module, []uint64) {
		if time.Until(deadline) < 0 {
			panic("the deadline passed")
		}
	})
	_, err := r.NewHostModuleBuilder(meter.Module).
		NewFunctionBuilder().WithGoModuleFunction(spent, nil, nil).Export(meter.Spent).
		NewFunctionBuilder().WithFunc(func() { panic("too deep") }).Export(meter.Deep).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if rewrite {
		if wasm, err = meter.Rewrite(wasm); err != nil {
			t.Fatal(err)
		}
	}
	m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// mean is the geometric mean.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(list)))
}
