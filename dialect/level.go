package dialect

import (
	"slices"
	"strings"
)

// Level is an isolation level, in the words of inbox.toml.
type Level string

// The isolation levels of the SQL standard.
const (
	ReadUncommitted Level = "read_uncommitted"
	ReadCommitted   Level = "read_committed"
	RepeatableRead  Level = "repeatable_read"
	Serializable    Level = "serializable"
)

// SQL is the level in the standard's words.
func (l Level) SQL() string { return strings.ToUpper(strings.ReplaceAll(string(l), "_", " ")) }

// Leveled is a dialect whose transactions can be opened at a level.
type Leveled interface {
	// Levels lists the isolation levels that the database keeps.
	Levels() []Level
}

// Keeps reports whether a database keeps an isolation level, and lists those that it does.
func Keeps(d Dialect, level Level) (kept bool, levels []Level) {
	if l, ok := d.(Leveled); ok {
		levels = l.Levels()
	}
	return slices.Contains(levels, level), levels
}
