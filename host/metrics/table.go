package metrics

import (
	"strings"
)

// Table is the list of all metrics for the documentation, in Markdown.
func Table() string {
	var text strings.Builder
	text.WriteString("| name | type | labels | unit | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range All() {
		labels := make([]string, len(m.Labels))
		for i, label := range m.Labels {
			labels[i] = "`" + label + "`"
		}
		text.WriteString("| `" + m.Name + "` | " + strings.Join([]string{string(m.Kind), strings.Join(labels, ", "), m.Unit, m.Help}, " | ") + " |\n")
	}
	return text.String()
}
