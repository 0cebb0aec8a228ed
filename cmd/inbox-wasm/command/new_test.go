package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// shell runs a command of a README in a handler's folder, with the Rust that has a standard library for WebAssembly, and
// with the Zig that the tests have where the machine has none.
func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	path := os.Getenv("PATH") + ":" + testwasm.ZigFolder()
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if _, err := os.Stat("/usr/lib/rustlib/wasm32-unknown-unknown"); err == nil {
		path = "/usr/bin:" + path
		cmd.Env = append(cmd.Env, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-14")
	}
	cmd.Env = append(cmd.Env, "PATH="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// From an empty folder, by the commands that it is told, a person has a handler that runs and whose test passes.
// With INBOX_LANGUAGES=docs/languages.md, from the root, their figures are written there.
func TestNewHandlersRunAsTheyAre(t *testing.T) {
	var rows []measured
	page := os.Getenv("INBOX_LANGUAGES")
	if page != "" {
		page = filepath.Join(root(t), page)
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			const name = "say-hello"
			r := invoke("", "new", l.name, name)
			if r.code != exitDone {
				t.Fatalf("%+v", r)
			}
			readme, err := os.ReadFile(filepath.Join(name, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			commands := 2 // new with cd, and invoke
			for _, command := range l.build {
				command = strings.ReplaceAll(command, "{}", "say_hello")
				if !strings.Contains(string(readme), "    "+command+"\n") || !strings.Contains(r.stdout, "    "+command+"\n") {
					t.Errorf("nobody is told %s", command)
				}
				shell(t, name, command)
				commands++
			}
			if commands > 5 {
				t.Errorf("it takes %d commands", commands)
			}
			shell(t, name, l.test)
			t.Chdir(name)
			rows = append(rows, measure(t, &l, strings.ReplaceAll(l.module, "{}", "say_hello")))
			for payload, want := range map[string]string{`{"name":"Ada"}`: "ack", `{}`: "dead_letter", `no JSON`: "dead_letter"} {
				r := invoke(payload, "invoke", name, "--json", "--expect", want)
				var got invokedJSON
				if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != exitDone {
					t.Errorf("%s: %v %+v", payload, err, r)
				}
			}
			for _, args := range []string{"schema --apply", "check"} {
				if r := invoke("", strings.Fields(args)...); r.code != exitDone {
					t.Errorf("%s: %+v", args, r)
				}
			}
			if r := invoke(`{"name":"Ada"}`, "enqueue", "jobs", "--group", name); r.code != exitDone {
				t.Errorf("%+v", r)
			}
			if r := invoke("", "serve", "--until-empty"); r.code != exitDone || !strings.Contains(r.stderr, "Ada") {
				t.Errorf("%+v", r)
			}
		})
	}
	if page != "" && !t.Failed() {
		writeLanguages(t, page, rows)
	}
}

// root is the repository's.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNewRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("taken", 0o700); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"new":                    "new takes LANGUAGE and NAME",
		"new cobol handler":      `no language "cobol": there are go, rust, c, cpp, javascript, assemblyscript, zig`,
		"new go Handler":         `the name "Handler" has to be`,
		"new go ../handler":      `the name "../handler" has to be`,
		"new go send--email":     "has to be",
		"new rust 1st":           "has to be",
		"new assemblyscript x/y": "has to be",
		"new c taken":            "taken is there already",
	} {
		if r := invoke("", strings.Fields(args)...); r.code == exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
}
