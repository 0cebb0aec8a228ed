package config

import (
	"math"
	"time"
)

// Table is [tables.KEY]: a table of the operator's and the columns that play a role. An empty role is
// one that the table does not have.
type Table struct {
	section
	Key    string // as inbox.toml names it
	Line   int
	Name   string // as the database names it
	Schema string // empty is the connection's own

	ID           []string // the columns that name a row, one or more
	Group        string
	Priority     string
	PartitionKey string
	RetryAfter   string
	Attempt      string
	ProcessedAt  string
	LockedUntil  string // the lease form
	Headers      string
	Payload      string // empty is row mode
	Error        string
	Origin       string // where a dead letter came from
	CreatedAt    string

	FIFO         bool
	AdvisoryLock string        // the advisory form: its key's template
	AdvisoryKey  []KeyPart     // AdvisoryLock in its parts
	Lock, Unlock string        // SQL instead of the dialect's own
	Clock        string        // "system" or "database"
	Isolation    string        // read_uncommitted, read_committed, repeatable_read, serializable; empty is the dialect's
	Mode         string        // SQLite: deferred, immediate, exclusive; empty is the dialect's
	Columns      []string      // row mode: the data columns to hand over; nil is all
	OnConflict   []string      // the columns of the unique index by which an inserted row is a duplicate
	Retain       time.Duration // how long a finished row stays; 0 is for ever
}

// tableDraft is a table with the place it was written at.
type tableDraft struct {
	*Table
	n *node
}

// roles are the keys of a table that name columns, in the order of the documentation.
var roles = []string{
	"id", "group", "priority", "partition_key", "retry_after", "attempt", "processed_at", "locked_until",
	"headers", "payload", "error", "origin", "created_at",
}

func tableKeys(t *Table) keys {
	return keys{
		{"name", name(&t.Name)},
		{"schema", name(&t.Schema)},
		{"id", names(&t.ID)},
		{"group", name(&t.Group)},
		{"priority", name(&t.Priority)},
		{"partition_key", name(&t.PartitionKey)},
		{"retry_after", name(&t.RetryAfter)},
		{"attempt", name(&t.Attempt)},
		{"processed_at", name(&t.ProcessedAt)},
		{"locked_until", name(&t.LockedUntil)},
		{"headers", name(&t.Headers)},
		{"payload", name(&t.Payload)},
		{"error", name(&t.Error)},
		{"origin", name(&t.Origin)},
		{"created_at", name(&t.CreatedAt)},
		{"fifo", boolean(&t.FIFO)},
		{"advisory_lock", advisoryKey(&t.AdvisoryLock, &t.AdvisoryKey)},
		{"lock", text(&t.Lock)},
		{"unlock", text(&t.Unlock)},
		{"clock", oneOf(&t.Clock, "system", "database")},
		{"isolation", oneOf(&t.Isolation, "read_uncommitted", "read_committed", "repeatable_read", "serializable")},
		{"mode", oneOf(&t.Mode, "deferred", "immediate", "exclusive")},
		{"columns", nameList(&t.Columns)},
		{"on_conflict", names(&t.OnConflict)},
		{"retain", duration(&t.Retain, 0)},
	}
}

func (p *parser) readTable(c *Config, key string, n *node) {
	if key == "" {
		p.fail(n, "has no name", "write [tables.NAME]")
	}
	t := &Table{section: section{n.path, n}, Key: key, Name: key, Line: n.pos.line, Clock: "system"}
	p.section(n, tableKeys(t))
	c.Tables = append(c.Tables, t)
	p.tables = append(p.tables, &tableDraft{t, n})
}

// draft returns the table's draft.
func (p *parser) draft(t *Table) *tableDraft {
	for _, d := range p.tables {
		if d.Table == t {
			return d
		}
	}
	return nil
}

func (p *parser) tableKeys() []string {
	all := make([]string, len(p.tables))
	for i, t := range p.tables {
		all[i] = t.Key
	}
	return all
}

// maxCount bounds counts that the database keeps as 32 bits.
const maxCount = math.MaxInt32
