package config

import (
	"fmt"
	"slices"
	"strings"
)

// resolveHandler looks up the names in a handler and fills in what depends on other keys.
func (p *parser) resolveHandler(c *Config, h *handlerDraft) {
	if h.n.table == nil {
		return
	}
	if h.table == "" {
		if !h.n.has("table") {
			p.refuse(h.n, "table", "is required", "name a table that is declared as [tables.NAME]")
		}
	} else if h.Table = c.Table(h.table); h.Table == nil {
		p.refuse(h.n, "table", show(h.n.find("table"))+" is not declared", p.tableRemedy(h.table))
	}
	p.resolveGroup(h)
	p.resolveDeadLetter(c, h)
	for i, key := range h.publish {
		if t := c.Table(key); t != nil {
			h.Allow.Publish = append(h.Allow.Publish, t)
		} else if key != "" {
			item := h.n.find("allow.publish").list[i]
			p.fail(item, show(item)+" is not declared", p.tableRemedy(key))
		}
	}
	if !h.n.has("recycle_memory") {
		h.RecycleMemory = h.Memory / 4 * 3
	}
	if !h.n.has("max_payload") {
		h.MaxPayload = min(h.MaxPayload, h.Memory)
	}
}

// tableRemedy says which declared table may have been meant.
func (p *parser) tableRemedy(key string) string {
	declared := p.tableKeys()
	if near, _ := nearest(key, declared); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(declared) == 0 {
		return "declare it as [tables.NAME]"
	}
	return "declare it, or name one of " + quoteAll(declared)
}

func (p *parser) resolveGroup(h *handlerDraft) {
	switch {
	case h.Table == nil:
	case p.draft(h.Table).n.has("group"):
		if !h.n.has("group") {
			h.Group = h.Name
		}
	default:
		if h.Group != "" && h.Group != EveryGroup {
			p.refuse(h.n, "group", fmt.Sprintf("%s has no group role", h.Table.path), `remove group, or name the table's column: group = ".."`)
		}
		h.Group = ""
	}
}

// resolveDeadLetter takes the target for a table where one is declared under that name, else for a group.
func (p *parser) resolveDeadLetter(c *Config, h *handlerDraft) {
	if h.deadLetter == "" || h.Table == nil {
		return
	}
	shown := show(h.n.find("dead_letter"))
	target := c.Table(h.deadLetter)
	switch {
	case target == h.Table:
		p.refuse(h.n, "dead_letter", "is the table that the rows come from", "name a group of the table that is not also a declared table, or another table")
	case target != nil:
		h.DeadLetter = &Target{Table: target}
	case !p.draft(h.Table).n.has("group"):
		p.refuse(h.n, "dead_letter", fmt.Sprintf("%s is no declared table, and %s has no group role that a group of this name could be in", shown, h.Table.path), p.tableRemedy(h.deadLetter))
	case h.deadLetter == EveryGroup:
		p.refuse(h.n, "dead_letter", "cannot be every group", "name one group, or a declared table")
	case h.deadLetter == h.Group:
		p.refuse(h.n, "dead_letter", "is the group that the rows come from", "name another group, or a declared table")
	default:
		h.DeadLetter = &Target{Group: h.deadLetter}
	}
	if h.DeadLetter != nil && !h.n.has("on_failure.decode") {
		h.OnFailure.Decode = Policy{Action: DeadLetter}
	}
}

// checkHandler refuses keys of a handler that contradict each other, its table or the database.
func (p *parser) checkHandler(c *Config, h *handlerDraft) {
	if h.n.table == nil {
		return
	}
	if !plainName(h.Name) {
		p.fail(h.n, "the handler's name holds more than letters, digits, -, _ and .", "rename it: logs, metrics and addresses carry it")
	}
	if !h.n.has("module") {
		p.refuse(h.n, "module", "is required", `name the module's file: module = "handlers/`+h.Name+`.wasm"`)
	}
	if h.Backoff.Max < h.Backoff.Initial {
		p.refuse(h.n, "backoff.max", "is shorter than initial", "raise max or lower initial")
	}
	if h.MaxPayload > h.Memory {
		p.refuse(h.n, "max_payload", "is more than memory, where a payload has to fit", "lower max_payload or raise memory")
	}
	if h.RecycleMemory > h.Memory {
		p.refuse(h.n, "recycle_memory", "is more than memory, and is never reached", "lower recycle_memory or raise memory")
	}
	if h.Claim > 0 && h.Batch > h.Claim {
		p.refuse(h.n, "claim", "is below batch, which it has to fill", `raise claim, or write claim = "auto"`)
	}
	if h.Instance == "fresh" && h.Batch > 1 {
		p.refuse(h.n, "instance", `cannot be "fresh" with a batch, whose messages share an instance`, "remove instance or batch")
	}
	p.checkRetries(h)
	p.checkTransactional(c, h)
	p.checkAgainstTable(h)
	p.checkMounts(c, h)
	if engine := c.Database.URL.engine(); h.Listen && engine != postgres && engine != "" {
		p.refuse(h.n, "listen", "is for Postgres", "remove listen; poll_interval decides how soon a row is seen")
	}
}

func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r > 0x7f || !isBare(byte(r)) && r != '.'
	})
}

// checkRetries holds max_attempts, dead_letter and on_failure together.
func (p *parser) checkRetries(h *handlerDraft) {
	target := h.deadLetter != "" || p.blamed(h.n.path+".dead_letter")
	if h.MaxAttempts > 0 && !target {
		p.refuse(h.n, "max_attempts", "stands without dead_letter, so that a spent row would have nowhere to go", `add dead_letter = "failed", a group of the table or a declared table`)
	}
	if h.MaxAttempts > 0 && h.Table != nil && !p.draft(h.Table).n.has("attempt") {
		p.refuse(h.n, "max_attempts", fmt.Sprintf("needs attempts to be counted, and %s has no attempt role", h.Table.path), `name the table's column: attempt = "attempt", or remove max_attempts`)
	}
	for _, kind := range []struct {
		key    string
		policy Policy
	}{
		{"on_failure.trap", h.OnFailure.Trap},
		{"on_failure.timeout", h.OnFailure.Timeout},
		{"on_failure.outcome", h.OnFailure.Outcome},
		{"on_failure.decode", h.OnFailure.Decode},
	} {
		if kind.policy.Action == DeadLetter && !target {
			p.refuse(h.n, kind.key, "has no dead letter target to move to", `add dead_letter = "failed", a group of the table or a declared table`)
		}
		if kind.policy.HasDelay && h.Table != nil && !p.draft(h.Table).n.has("retry_after") {
			p.refuse(h.n, kind.key, fmt.Sprintf("gives a delay, and %s has no retry_after role to keep it", h.Table.path), `name the table's column: retry_after = "retry_after", or write "retry_after" without a delay`)
		}
	}
}

func (p *parser) checkTransactional(c *Config, h *handlerDraft) {
	if h.Transactional && h.Batch > 1 {
		p.refuse(h.n, "transactional", "cannot go with a batch: each delivery has a transaction of its own", "remove batch or transactional")
	}
	if h.Transactional && h.Claim > 1 && h.Table != nil && rowLock(p.draft(h.Table)) {
		p.refuse(h.n, "claim", "above 1 cannot go with transactional in the row lock form, whose rows share a transaction", `write claim = 1, or take the lease form with locked_until`)
	}
	if slices.Contains(h.Allow.DB, "tx") && !h.Transactional {
		p.refuse(h.n, "allow.db", `"tx" is the delivery's transaction, and there is none`, `write transactional = true, or db = "pool"`)
	}
	if engine := c.Database.URL.engine(); h.TransactionRole != "" && engine != postgres && engine != "" {
		p.refuse(h.n, "transaction_role", "is for Postgres", "remove it; handler_url names a role with fewer rights on any database")
	}
}

func (p *parser) checkAgainstTable(h *handlerDraft) {
	if h.Table == nil {
		return
	}
	t := p.draft(h.Table)
	if h.ByKey && !t.n.has("partition_key") {
		p.refuse(h.n, "by_key", fmt.Sprintf("needs a key, and %s has no partition_key role", t.path), `name the table's column: partition_key = ".."`)
	}
	if h.n.owns("lease") && !t.n.has("locked_until") {
		p.refuse(h.n, "lease", fmt.Sprintf("has no effect: %s has no locked_until", t.path), `name the table's column: locked_until = "locked_until", or remove lease`)
	}
}

// rowLock tells whether a table declares neither of the other two forms.
func rowLock(t *tableDraft) bool {
	return !t.n.has("locked_until") && !t.n.has("advisory_lock")
}
