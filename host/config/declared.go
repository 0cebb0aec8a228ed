package config

import (
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Declared is the table as a dialect takes it, before a database has described it.
func (t *Table) Declared() *dialect.Table {
	roles := map[dialect.Role]string{
		dialect.Group: t.Group, dialect.Priority: t.Priority, dialect.PartitionKey: t.PartitionKey,
		dialect.RetryAfter: t.RetryAfter, dialect.Attempt: t.Attempt, dialect.ProcessedAt: t.ProcessedAt,
		dialect.LockedUntil: t.LockedUntil, dialect.Headers: t.Headers, dialect.Payload: t.Payload,
		dialect.Error: t.Error, dialect.Origin: t.Origin, dialect.CreatedAt: t.CreatedAt,
	}
	for role, column := range roles {
		if column == "" {
			delete(roles, role)
		}
	}
	var key []dialect.KeyPart
	for _, part := range t.AdvisoryKey {
		key = append(key, dialect.KeyPart(part))
	}
	return &dialect.Table{Schema: t.Schema, Name: t.Name, ID: t.ID, Roles: roles, FIFO: t.FIFO, Data: t.Columns, Key: key,
		DatabaseClock: t.Clock == "database", OnConflict: t.OnConflict}
}

// Form is the name of the form that the table takes.
func (t *Table) Form() string {
	switch {
	case t.LockedUntil != "":
		return "lease"
	case t.AdvisoryLock != "":
		return "advisory lock"
	default:
		return "row lock"
	}
}

// Readers lists the handlers of the table.
func (c *Config) Readers(t *Table) []*Handler {
	return slices.DeleteFunc(slices.Clone(c.Handlers), func(h *Handler) bool { return h.Table != t })
}

// DeadGroups lists the groups of a table that handlers send their dead letters to, each once.
func (c *Config) DeadGroups(t *Table) []string {
	var groups []string
	for _, h := range c.Readers(t) {
		if h.DeadLetter != nil && h.DeadLetter.Table == nil && !slices.Contains(groups, h.DeadLetter.Group) {
			groups = append(groups, h.DeadLetter.Group)
		}
	}
	return groups
}

// Buriers lists the handlers whose dead letters go into a table of their own, which t is.
func (c *Config) Buriers(t *Table) []*Handler {
	return slices.DeleteFunc(slices.Clone(c.Handlers), func(h *Handler) bool { return h.DeadLetter == nil || h.DeadLetter.Table != t })
}
