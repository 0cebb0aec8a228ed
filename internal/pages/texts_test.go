package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// gap stands for what differs from one occurrence of a text to the next.
const gap = "…"

// source is the program's code, as far as its start can reach it.
type source struct {
	t         *testing.T
	files     *token.FileSet
	functions map[string][]*function // by their names, whatever they are methods of
	variables map[string][]variable  // errors that are made once, by their names
}

type variable struct {
	value  ast.Expr
	folder string
}

type function struct {
	decl   *ast.FuncDecl
	folder string
}

// receiver is the name of the type that the function is a method of.
func (f *function) receiver() string {
	if f.decl.Recv == nil {
		return ""
	}
	typ := f.decl.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// folders are where the texts of a start are written.
var folders = []string{"cmd/inbox-wasm/command", "host", "host/config", "host/engine", "host/engine/meter", "forms", "dialect", "dialect/databases",
	"dialect/postgres", "dialect/mysql", "dialect/sqlite", "dialect/store", "dialect/store/sqlstore"}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{t: t, files: token.NewFileSet(), functions: map[string][]*function{}, variables: map[string][]variable{}}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(s.files, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					s.functions[f.Name.Name] = append(s.functions[f.Name.Name], &function{f, folder})
				}
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					s.readVariables(g, folder)
				}
			}
		}
	}
	return s
}

// readVariables takes note of the errors that a declaration makes.
func (s *source) readVariables(g *ast.GenDecl, folder string) {
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec)
		for i, value := range v.Values {
			if call, ok := value.(*ast.CallExpr); ok && makes[called(call)] {
				s.variables[v.Names[i].Name] = append(s.variables[v.Names[i].Name], variable{call.Args[0], folder})
			}
		}
	}
}

// makes are the functions whose first argument is what is wrong.
var makes = map[string]bool{"errors.New": true, "fmt.Errorf": true, "usage": true}

// reach gives the functions that the named ones can come to, by the names that they mention and without the ones to
// stop at: rather one too many than one too few.
func (s *source) reach(from, stop []string) []*function {
	var list []*function
	seen := map[string]bool{}
	for _, name := range stop {
		seen[name] = true
	}
	for todo := slices.Clone(from); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if seen[name] && !slices.Contains(from, name) {
			continue
		}
		for _, f := range s.functions[name] {
			if slices.Contains(list, f) || slices.Contains(stop, f.folder+"."+name) || slices.Contains(stop, f.receiver()+"."+name) {
				continue
			}
			list = append(list, f)
			ast.Inspect(f.decl.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && s.functions[id.Name] != nil && !seen[id.Name] {
					todo = append(todo, id.Name)
				}
				return true
			})
		}
		seen[name] = true
	}
	return list
}

// texts are what a function says is wrong, with gaps, and where.
func (s *source) texts(f *function) map[string]string {
	found := map[string]string{}
	given := assigned(f.decl)
	keep := func(at ast.Node, e ast.Expr) {
		for _, text := range render(e, given, 0) {
			if text = tidy(text); !strings.ContainsFunc(text, unicode.IsLetter) {
				continue // of an error from elsewhere, which is found there
			}
			found[text] = s.files.Position(at.Pos()).String() + " " + f.decl.Name.Name
		}
	}
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := called(n)
			switch {
			case makes[name]:
				keep(n, n.Args[0])
			case strings.HasPrefix(f.folder, "host") && reports[name[strings.LastIndex(name, ".")+1:]] && len(n.Args) > 0:
				if lit, ok := n.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING && !strings.Contains(name, ".") {
					keep(n, lit)
				} else if len(n.Args) > 1 {
					keep(n, n.Args[len(n.Args)-2])
				}
			}
		case *ast.Ident:
			for _, v := range s.variables[n.Name] {
				keep(n, v.value)
			}
		case *ast.CompositeLit:
			for i, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok && id.Name == "What" {
						keep(n, kv.Value)
					}
				} else if id, ok := n.Type.(*ast.Ident); ok && (id.Name == "fault" && i == 0 || id.Name == "Flaw" && i == 2) {
					keep(n, e)
				}
			}
		case *ast.ReturnStmt:
			if names := resultNames(f.decl); len(n.Results) == len(names) && len(names) > 0 && names[0] == "what" {
				keep(n, n.Results[0])
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "What" && len(n.Rhs) == len(n.Lhs) {
					keep(n, n.Rhs[i])
				}
			}
		}
		return true
	})
	return found
}

// resultNames are the names of what a function returns.
func resultNames(f *ast.FuncDecl) (names []string) {
	if f.Type.Results == nil {
		return nil
	}
	for _, field := range f.Type.Results.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// reports are the functions whose last two arguments are what is wrong and what to do, or whose first is a format of it.
var reports = map[string]bool{"fail": true, "refuse": true, "add": true, "table": true, "handler": true}

// called is the name of a function that is called, with its package or receiver.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			return id.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}

// assigned lists what each variable of a function is given.
func assigned(f *ast.FuncDecl) map[string][]ast.Expr {
	given := map[string][]ast.Expr{}
	ast.Inspect(f, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) || a.Tok == token.ADD_ASSIGN {
			return true
		}
		for i, left := range a.Lhs {
			if id, ok := left.(*ast.Ident); ok {
				given[id.Name] = append(given[id.Name], a.Rhs[i])
			}
		}
		return true
	})
	return given
}

var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d*]*(\.[\d*]+)?[a-zA-Z]`)

// render gives the texts that an expression can be. A variable of which nothing is known is a gap.
func render(e ast.Expr, given map[string][]ast.Expr, depth int) []string {
	unknown := []string{gap}
	if depth > 8 {
		return unknown
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return render(e.X, given, depth+1)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		var all []string
		for _, left := range render(e.X, given, depth+1) {
			for _, right := range render(e.Y, given, depth+1) {
				all = append(all, left+right)
			}
		}
		return all
	case *ast.CallExpr:
		name := called(e)
		if name == "fmt.Sprintf" || name == "fmt.Errorf" || name == "usage" {
			var all []string
			for _, format := range render(e.Args[0], given, depth+1) {
				all = append(all, verb.ReplaceAllString(strings.ReplaceAll(format, "%%", "\x00"), gap))
			}
			return all
		}
		if name == "cmp.Or" {
			var all []string
			for _, a := range e.Args {
				all = append(all, render(a, given, depth+1)...)
			}
			return all
		}
	case *ast.Ident:
		var all []string
		for _, value := range given[e.Name] {
			all = append(all, render(value, given, depth+1)...)
		}
		if len(all) > 0 {
			slices.Sort(all)
			return slices.Compact(all)
		}
	}
	return unknown
}

var gaps = regexp.MustCompile(`["'` + "`" + `]?` + gap + `(["'` + "`" + `]?` + gap + `)*["'` + "`" + `]?`)

// tidy joins gaps, and leaves out the quotes around one.
func tidy(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\x00", "%"), "\n", " ")
	return strings.TrimSpace(gaps.ReplaceAllString(verb.ReplaceAllString(text, gap), gap))
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
