package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	var expected, lines bytes.Buffer
	if err := run([]string{"-n", "100", "-expect"}, &expected); err != nil {
		t.Fatal(err)
	}
	if want := `{"acked":85,"dead_lettered":{"forged":5,"malformed":5},"delayed":5}` + "\n"; expected.String() != want {
		t.Errorf("-expect prints %s", &expected)
	}
	if err := run([]string{"-n", "100", "-seed", "2"}, &lines); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "events.jsonl")
	if err := run([]string{"-n", "100", "-seed", "2", "-o", name}, nil); err != nil {
		t.Fatal(err)
	}
	if file, err := os.ReadFile(name); err != nil || !bytes.Equal(file, lines.Bytes()) {
		t.Errorf("-o writes other bytes: %v", err)
	}
	for _, wrong := range [][]string{{"-n", "-1"}, {"more"}, {"-o", t.TempDir()}} {
		if err := run(wrong, nil); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}
