package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "tok\n", "windows": "tok\r\n", "lines": "a\n\n", "binary": "\xff", "large": strings.Repeat("x", maxSecretFile+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newParser(filepath.Join(dir, "inbox.toml"), env("A", "1", "EMPTY", "", "DOLLAR", "${A}"))
	for raw, want := range map[string]string{
		"":                          "",
		"plain":                     "plain",
		"${A}":                      "1",
		"x${A}y${A}":                "x1y1",
		"${EMPTY}":                  "",
		"${EMPTY:-b}":               "b",
		"${B:-}":                    "",
		"${B:-b:-c}":                "b:-c",
		"${A:-b}":                   "1",
		"$${A}":                     "${A}",
		"$$$$":                      "$$",
		"$$${A}":                    "$1",
		"SELECT $1, $2":             "SELECT $1, $2",
		"$":                         "$",
		"$A":                        "$A",
		"${DOLLAR}":                 "${A}",
		"${file:token}":             "tok",
		"${file:windows}":           "tok",
		"${file:lines}":             "a\n",
		"${file:" + dir + "/token}": "tok",
	} {
		got, fault := p.expand(raw)
		if fault != nil || got != want {
			t.Errorf("%q expands to %q (%v), want %q", raw, got, fault, want)
		}
	}
	for _, raw := range []string{"${B}", "${", "${}", "${1A}", "${A B}", "${B:-${A}}", "${file:}", "${file:absent}", "${file:binary}", "${file:large}"} {
		if got, fault := p.expand(raw); fault == nil || fault.what == "" || fault.remedy == "" {
			t.Errorf("%q expands to %q, want a fault with a remedy", raw, got)
		}
	}
}

func TestExpansions(t *testing.T) {
	if diff := cmp.Diff([]string{"${A}", "${B}", "${file:x}"}, expansions("$1 $$ $${NO} ${A:-s3cr3t}${B} ${file:x}")); diff != "" {
		t.Error(diff)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "100": 100, "100B": 100, "512KiB": 512 * kib, "64 MiB": 64 * mib, "1GiB": gib} {
		if got, fault := parseSize(text); fault != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, fault, want)
		}
	}
	for _, text := range []string{"", "MiB", "64MB", "64M", "-1", "1.5MiB", "9999999999GiB", "1KiBB", "0x10"} {
		if got, fault := parseSize(text); fault == nil {
			t.Errorf("%q is %d, want a fault", text, got)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{"100/s": {100, time.Second}, "6000/m": {6000, time.Minute}, "1/h": {1, time.Hour}, "5/10s": {5, 10 * time.Second}} {
		if got, fault := parseRate(text); fault != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, fault, want)
		}
	}
	for _, text := range []string{"", "100", "/s", "0/s", "1/", "1/0s", "1/day"} {
		if got, fault := parseRate(text); fault == nil {
			t.Errorf("%q is %v, want a fault", text, got)
		}
	}
}

func TestLeaseIsWholeSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"1ns": time.Second, "1s": time.Second, "1001ms": 2 * time.Second, "1m": time.Minute} {
		c, problems := specified(t, "inbox.toml", good+"lease = \""+text+"\"\n", env())
		if len(problems) > 0 || c.Handlers[0].Lease != want {
			t.Errorf("%s is %v (%v), want %v", text, c.Handlers[0].Lease, problems, want)
		}
	}
}

func TestPolicyText(t *testing.T) {
	for _, text := range []string{"retry", "retry_after", "retry_after:30s", "drop", "dead_letter"} {
		if p, fault := parsePolicy(text); fault != nil || p.String() != text {
			t.Errorf("%q reads as %v (%v)", text, p, fault)
		}
	}
}
