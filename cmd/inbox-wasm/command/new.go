package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	guestsdk "github.com/inbox-wasm/inbox-wasm/guest-sdk"
)

// language is what a new handler in it looks like. Commands run in the handler's folder; {} is its identifier.
type language struct {
	name string
	sdk  string   // where the SDK goes
	from []string // the SDK's files, each "PATH" or "PATH => NEW PATH", within guest-sdk and the SDK's folder
	// module is where the build puts the module.
	module string
	build  []string
	test   string
	full   string // its name for people
}

var languages = []language{
	{name: "go", full: "Go", sdk: "inbox-wasm", from: []string{"go => guest-sdk/go"}, module: "{}.wasm",
		build: []string{"GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o {}.wasm ."}, test: "go test ./..."},
	{name: "rust", full: "Rust", sdk: "inbox-wasm", from: []string{"rust => ."}, module: "target/wasm32-unknown-unknown/release/{}.wasm",
		build: []string{"cargo build --release --target wasm32-unknown-unknown"}, test: "cargo test"},
	{name: "c", full: "C", sdk: ".", from: []string{"c => ."}, module: "{}.wasm", build: []string{"make"}, test: "make test"},
	{name: "cpp", full: "C++", sdk: ".", from: []string{"c => ."}, module: "{}.wasm", build: []string{"make"}, test: "make test"},
	{name: "javascript", full: "JavaScript", sdk: "inbox-wasm", from: []string{"javascript => ."}, module: "build/{}.wasm",
		build: []string{"npm install", "npm run build"}, test: "npm test"},
	{name: "assemblyscript", full: "AssemblyScript", sdk: "inbox-wasm", from: []string{"assemblyscript => ."}, module: "build/{}.wasm",
		build: []string{"npm install", "npm run build"}, test: "npm test"},
	{name: "zig", full: "Zig", sdk: "inbox-wasm", from: []string{"zig => ."}, module: "zig-out/bin/{}.wasm",
		build: []string{"zig build"}, test: "zig build test"},
}

func languageNames() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

func (p *program) new() *cobra.Command {
	return &cobra.Command{
		Use:   "new LANGUAGE NAME",
		Short: "Start a handler: " + strings.Join(languageNames(), ", "),
		Long: `Start a handler in a new folder of its name, which builds and runs as it is: the handler with its test, an
inbox.toml, and the SDK of the language. Its README has the commands. In another language, any program of WASI preview
1 is a handler: see the documentation of command mode.`,
		Example: `  inbox-wasm new go send-email
  inbox-wasm new rust resize`,
		Args: exactly("LANGUAGE", "NAME"),
		RunE: func(_ *cobra.Command, args []string) error { return p.runNew(args[0], args[1]) },
	}
}

// handlerName is what every toolchain takes for a name.
var handlerName = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

// scaffold is what the templates are filled in with.
type scaffold struct {
	Name, Ident, Module, Language, Test, SDK string
	Build                                    []string
}

func (p *program) runNew(languageName, name string) error {
	at := slices.IndexFunc(languages, func(l language) bool { return l.name == languageName })
	if at < 0 {
		return usage("no language %q: there are %s", languageName, strings.Join(languageNames(), ", "))
	}
	if !handlerName.MatchString(name) {
		return usage("the name %q has to be lower case letters and digits, with - or _ between them, such as send-email", name)
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: choose another name, or remove it", name)
	}
	l := languages[at]
	ident := strings.ReplaceAll(name, "-", "_")
	fill := func(text string) string { return strings.ReplaceAll(text, "{}", ident) }
	s := scaffold{Name: name, Ident: ident, Module: fill(l.module), Language: l.full, Test: l.test, SDK: l.sdk}
	for _, command := range l.build {
		s.Build = append(s.Build, fill(command))
	}
	for _, from := range []string{"templates/common", "templates/" + l.name} {
		if err := writeTemplates(from, name, &s); err != nil {
			return err
		}
	}
	for _, from := range l.from {
		source, target, _ := strings.Cut(from, " => ")
		if err := copySDK(source, filepath.Join(name, l.sdk, filepath.FromSlash(target))); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.stdout, "%s is a handler in %s:\n\n    cd %s\n", name, l.full, name)
	for _, command := range append(s.Build, `echo '{"name":"Ada"}' | inbox-wasm invoke `+name) {
		fmt.Fprintf(p.stdout, "    %s\n", command)
	}
	return nil
}

// writeTemplates fills in the templates of a folder.
func writeTemplates(from, to string, s *scaffold) error {
	return eachFile(from, func(file string, text []byte) error {
		relative := strings.TrimSuffix(strings.TrimPrefix(file, from+"/"), ".tmpl")
		if relative == "gitignore" {
			relative = ".gitignore"
		}
		t, err := template.New(file).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, s); err != nil {
			return err
		}
		return writeFile(filepath.Join(to, filepath.FromSlash(relative)), out.Bytes())
	})
}

// copySDK copies a folder of the SDKs, without their own tests.
func copySDK(source, target string) error {
	return eachFile(source, func(file string, text []byte) error {
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		return writeFile(filepath.Join(target, filepath.FromSlash(strings.TrimPrefix(file, source+"/"))), text)
	})
}

func eachFile(root string, do func(file string, text []byte) error) error {
	return fs.WalkDir(guestsdk.Files, path.Clean(root), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := guestsdk.Files.ReadFile(file)
		if err != nil {
			return err
		}
		return do(file, text)
	})
}

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o666)
}
