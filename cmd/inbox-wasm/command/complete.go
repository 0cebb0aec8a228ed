package command

import (
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
)

// completeAll has every command under c complete its arguments by the words of its usage line, and its flags by
// their names. A command that completes its own is left alone.
func (p *program) completeAll(c *cobra.Command) {
	words := map[string]func() []string{
		"TABLE":    func() []string { return p.declaredNames("tables") },
		"HANDLER":  func() []string { return p.declaredNames("handlers") },
		"LANGUAGE": languageNames,
	}
	flags := map[string]func() []string{
		"group":  p.declaredGroups,
		"to":     func() []string { return append(p.declaredGroups(), p.declaredNames("tables")...) },
		"expect": expectable,
		"state":  func() []string { return []string{"due", "delayed", "in_work", "dead", "processed"} },
	}
	for _, child := range c.Commands() {
		p.completeAll(child)
	}
	takes := strings.Fields(c.Use)[1:]
	if c.ValidArgsFunction == nil && slices.ContainsFunc(takes, func(word string) bool { return words[word] != nil }) {
		c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= len(takes) || words[takes[len(args)]] == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return words[takes[len(args)]](), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for name, list := range flags {
		if c.LocalNonPersistentFlags().Lookup(name) == nil {
			continue
		}
		// The one error is a function that is there already, which then is the command's own.
		_ = c.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return list(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// outline is what completion reads of inbox.toml. It needs no variable to be set and no other key to be right.
type outline struct {
	Tables   map[string]any            `toml:"tables"`
	Handlers map[string]map[string]any `toml:"handlers"`
}

// readOutline gives an empty outline where the file cannot be read: a completion has nobody to tell.
func (p *program) readOutline() outline {
	var o outline
	text, err := os.ReadFile(p.configPath)
	if err == nil {
		_ = toml.Unmarshal(text, &o)
	}
	return o
}

// declaredNames are the names in a section of inbox.toml, each with what it belongs to where that is known.
func (p *program) declaredNames(section string) []string {
	o := p.readOutline()
	var names []string
	if section == "tables" {
		for name := range o.Tables {
			names = append(names, name)
		}
	} else {
		for name, keys := range o.Handlers {
			if table, ok := keys["table"].(string); ok {
				name = cobra.CompletionWithDesc(name, "on table "+table)
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// declaredGroups are the groups that handlers read, by their names or their own key.
func (p *program) declaredGroups() []string {
	var groups []string
	for name, keys := range p.readOutline().Handlers {
		if group, ok := keys["group"].(string); ok {
			name = group
		}
		if name != "*" {
			groups = append(groups, name)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}
