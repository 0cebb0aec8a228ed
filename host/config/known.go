package config

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// remedyForUnknown says what an unknown key may have been meant to be: a key of another section, a
// misspelt one of this, or a table of a schema.
func remedyForUnknown(n *node, name string, known keys) string {
	names := make([]string, len(known))
	for i, key := range known {
		names[i] = key.name
	}
	if strings.HasPrefix(n.path, "tables.") && n.table != nil && n.has("id") {
		return fmt.Sprintf(`a table of a schema is [tables.%s] with schema = ".."`, name)
	}
	near, distance := nearest(name, names)
	if home := homeOf(name); home != "" && distance > 1 {
		return fmt.Sprintf("it is a key of %s", home)
	}
	if near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known here: " + strings.Join(names, ", ")
}

// homeOf returns the section that a key belongs to, where it is one alone.
func homeOf(name string) string {
	home := ""
	for _, section := range []struct {
		title string
		keys  keys
	}{
		{"[database]", databaseKeys(&Database{})},
		{"[runtime]", runtimeKeys(&Runtime{})},
		{"[tables.NAME]", tableKeys(&Table{})},
		{"[handlers.NAME] and [defaults]", handlerKeys(newHandler("", nil))},
		{"[handlers.NAME.allow]", allowKeys(newHandler("", nil))},
	} {
		if section.keys.reader(name) != nil {
			if home != "" {
				return ""
			}
			home = section.title
		}
	}
	return home
}

// nearest returns the candidate that a misspelt name is closest to, and how many edits away, or "" where
// none is close.
func nearest(name string, candidates []string) (best string, distance int) {
	distance = len(name)/3 + 2
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best, distance
}
