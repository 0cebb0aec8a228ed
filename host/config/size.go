package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

var sizeUnits = map[string]int64{"": 1, "B": 1, "KiB": kib, "MiB": mib, "GiB": gib}

// parseSize reads "64MiB", "512KiB", "1GiB", "100B" or a plain number as bytes. MB and M are refused:
// whether they count by 1000 or 1024 depends on who reads them.
func parseSize(text string) (int64, *fault) {
	digits := strings.TrimRight(text, "BKMGi")
	unit, known := sizeUnits[text[len(digits):]]
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || !known || n < 0 || n > math.MaxInt64/unit {
		return 0, &fault{"is no size", `write "64MiB", "512KiB", "1GiB" or a number of bytes`}
	}
	return n * unit, nil
}

// parseDuration reads a Go duration.
func parseDuration(text string) (time.Duration, *fault) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, &fault{"is no duration", `write "500ms", "30s", "10m" or "168h"`}
	}
	return d, nil
}

// Rate is how often something may happen. The zero Rate sets no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// parseRate reads "100/s", "6000/m", "10/h" or "100/10s".
func parseRate(text string) (Rate, *fault) {
	count, per, _ := strings.Cut(text, "/")
	if per == "s" || per == "m" || per == "h" {
		per = "1" + per
	}
	n, err := strconv.Atoi(count)
	d, bad := parseDuration(per)
	if err != nil || bad != nil || n < 1 || d <= 0 {
		return Rate{}, &fault{"is no rate", `write "100/s", "6000/m" or "100/10s"`}
	}
	return Rate{n, d}, nil
}
