package abi

import (
	"strings"
	"testing"
)

func TestCodes(t *testing.T) {
	for code, want := range map[Code]string{
		Ack: "ack", Retry: "retry", RetryAfter: "retry_after", Drop: "drop", DeadLetter: "dead_letter", Snooze: "snooze",
		6: "code 6", -1: "code -1", -2147483648: "code -2147483648",
	} {
		if got := code.String(); got != want {
			t.Errorf("Code(%d) = %q, want %q", int32(code), got, want)
		}
		if known := !strings.HasPrefix(want, "code "); code.Known() != known {
			t.Errorf("Code(%d).Known() = %v", int32(code), !known)
		}
	}
}

func TestErrnosAndLevels(t *testing.T) {
	for errno, want := range map[Errno]string{
		Absent: "absent", BadArgument: "bad argument", NotAllowed: "not allowed", Failed: "failed",
		DeadlinePassed: "deadline passed", TooLarge: "too large", 0: "error 0", -7: "error -7", -2147483648: "error -2147483648",
	} {
		if got := errno.String(); got != want {
			t.Errorf("Errno(%d) = %q, want %q", int32(errno), got, want)
		}
	}
	for level, want := range map[Level]string{LevelTrace: "trace", LevelError: "error", 5: "level 5", -1: "level -1"} {
		if got := level.String(); got != want {
			t.Errorf("Level(%d) = %q, want %q", int32(level), got, want)
		}
	}
}

// The table is what the engine registers, so a slip in it would be a slip in the contract.
func TestFunctionTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Functions() {
		if seen[f.Name] {
			t.Errorf("%s is listed twice", f.Name)
		}
		seen[f.Name] = true
		if f.Result != I32 && f.Result != I64 {
			t.Errorf("%s has no result", f.Name)
		}
		if f.Mode != Always && f.Mode != Batch && f.Mode != SideEffect {
			t.Errorf("%s has no mode", f.Name)
		}
		if !strings.HasSuffix(f.Doc, ".") || strings.Contains(f.Doc, "\n") {
			t.Errorf("%s: the doc must be one sentence: %q", f.Name, f.Doc)
		}
		if got, ok := Lookup(f.Name); !ok || got.Signature() != f.Signature() {
			t.Errorf("Lookup(%q) = %v, %v", f.Name, got, ok)
		}
	}
	if len(seen) != 18 {
		t.Errorf("%d functions, the contract has 18", len(seen))
	}
	if _, ok := Lookup("Payload"); ok {
		t.Error("names are case sensitive")
	}
}

func TestSignatures(t *testing.T) {
	for name, want := range map[string]string{
		"payload":     "(buf: i32, cap: i32) -> i32",
		"header":      "(name: i32, name_len: i32, buf: i32, cap: i32) -> i32",
		"deadline_ms": "() -> i64",
		"retry_after": "(ms: i64) -> i32",
		"db":          "(conn: i32, sql: i32, sql_len: i32, args: i32, args_len: i32) -> i32",
	} {
		f, _ := Lookup(name)
		if got := f.Signature(); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := Signature([]string{"i32"}); got != "(i32) -> ()" {
		t.Errorf("no result = %q", got)
	}
}

// A caller's change to what it was handed must not reach the table.
func TestFunctionsAreCopies(t *testing.T) {
	Functions()[0].Params[0].Name = "changed"
	f, _ := Lookup("payload")
	f.Params[0].Name = "changed"
	if again, _ := Lookup("payload"); again.Params[0].Name != "buf" {
		t.Error("the table was changed from outside")
	}
}
