package config

import (
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestPositions(t *testing.T) {
	const tricky = `# [not.a.table] key = 1
top = 1 # key = 2
"quoted key" = "a = 1 # no comment"
'literal "key"' = 'C:\path\'
"esc\"\u0041" = 1
a.b . "c.d" = true
text = """
[fake]
fake = "1" \"""
""""
raw = '''
[fake]
'fake' = 1'''
list = [ # [x]
  "]", '}', # comment ]
  [1, 2], { deep = [
    { deeper = 1 } ] },
]
dates = 1979-05-27T07:32:00Z
inline = { x = 1, "y" = { z = "}" }, w.v = 2 }

[ table . "with dot.s" ]
key = 1
[table.sub]
[[array]]
one = 1
[array.sub]
two = 2
[[array]]
three = 3
  [[array.inner]]
  four = 4
[late.table]
[late]
five = 5
`
	want := map[string]int{
		"top": 2, `"quoted key"`: 3, `"literal \"key\""`: 4, `"esc\"A"`: 5, "a": 6, "a.b": 6, `a.b."c.d"`: 6,
		"text": 7, "raw": 11, "list": 14, "list[0]": 15, "list[1]": 15, "list[2]": 16, "list[2][0]": 16, "list[2][1]": 16,
		"list[3]": 16, "list[3].deep": 16, "list[3].deep[0]": 17, "list[3].deep[0].deeper": 17,
		"dates": 19, "inline": 20, "inline.x": 20, "inline.y": 20, "inline.y.z": 20, "inline.w": 20, "inline.w.v": 20,
		"table": 22, `table."with dot.s"`: 22, `table."with dot.s".key`: 23, "table.sub": 24,
		"array": 25, "array[0]": 25, "array[0].one": 26, "array[0].sub": 27, "array[0].sub.two": 28,
		"array[1]": 29, "array[1].three": 30, "array[1].inner": 31, "array[1].inner[0]": 31, "array[1].inner[0].four": 32,
		"late": 34, "late.table": 33, "late.five": 35,
	}
	for name, src := range map[string]string{"unix": tricky, "with a mark": "\ufeff" + tricky} {
		t.Run(name, func(t *testing.T) {
			var doc map[string]any
			if _, err := toml.Decode(src, &doc); err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for path, pos := range positions([]byte(src)) {
				got[path] = pos.line
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// checkPositions requires a position for each key of a tree, on a line the file has.
func checkPositions(t *testing.T, n *node, at map[string]position, depth int) {
	t.Helper()
	if depth > maxDepth/2 {
		return
	}
	if _, ok := at[n.path]; !ok && n.path != "" {
		t.Errorf("no position for %q", n.path)
	}
	for _, child := range n.table {
		checkPositions(t, child, at, depth+1)
	}
	for _, child := range n.list {
		checkPositions(t, child, at, depth+1)
	}
}
