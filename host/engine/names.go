package engine

import (
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// didYouMean names the nearest function of the contract, if one is near.
func didYouMean(name string) string {
	best, nearest := len(name)/2+1, ""
	for _, f := range abi.Functions() {
		if d := distance(name, f.Name); d < best {
			best, nearest = d, f.Name
		}
	}
	if nearest == "" {
		return "build it with an SDK of contract version " + fmt.Sprint(abi.Version)
	}
	return "did you mean " + nearest + "?"
}

// distance is the number of single-byte edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// size writes bytes as people do.
func size(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			if n%unit.bytes == 0 {
				return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
			}
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
