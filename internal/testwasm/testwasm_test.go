package testwasm

import (
	"bytes"
	"os"
	"testing"
)

const preamble = "\x00asm\x01\x00\x00\x00"

func TestWAT(t *testing.T) {
	if got := WAT(t, "(module)"); string(got) != preamble {
		t.Errorf("got % x", got)
	}
}

func TestFiles(t *testing.T) {
	for name, path := range map[string]string{
		"WATFile":  WATFile(t, "testdata/empty.wat"),
		"Go":       Go(t, "testdata/reactor"),
		"Go again": Go(t, "testdata/reactor"),
	} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(got, []byte(preamble)) {
			t.Errorf("%s: %s is no module", name, path)
		}
	}
}

// failing is a test that can be seen to fail.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper() {}

func (f *failing) Fatal(...any)          { f.failed = true; panic(f) }
func (f *failing) Fatalf(string, ...any) { f.failed = true; panic(f) }

func fails(t *testing.T, run func(testing.TB)) {
	t.Helper()
	f := &failing{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(f) {
			panic(p)
		}
		if !f.failed {
			t.Error("the test did not fail")
		}
	}()
	run(f)
}

func TestBadSourcesAndMissingToolsFailTheTest(t *testing.T) {
	fails(t, func(f testing.TB) { WAT(f, "(module") })
	fails(t, func(f testing.TB) { WATFile(f, "testdata/absent.wat") })
	fails(t, func(f testing.TB) { Go(f, "testdata/absent") })
	t.Setenv("PATH", t.TempDir())
	fails(t, func(f testing.TB) { WAT(f, "(module)") })
}
