package config

import (
	"fmt"
	"slices"
	"strings"
)

// checkHandlersTogether refuses handlers that get into each other's way.
func (p *parser) checkHandlersTogether(c *Config) {
	p.checkCompetition()
	p.checkSharedTargets()
	p.checkCircles()
	p.checkConnections(c)
}

// checkCompetition refuses two handlers that would take the same rows.
func (p *parser) checkCompetition() {
	for i, h := range p.handlers {
		for _, other := range p.handlers[:i] {
			if h.Table == nil || h.Table != other.Table {
				continue
			}
			if h.Group == other.Group || h.Group == EveryGroup || other.Group == EveryGroup {
				if p.isTarget(h, other) || p.isTarget(other, h) {
					continue
				}
				p.refuse(h.n, "group", fmt.Sprintf("reads rows of %s that %s (line %d) reads too", h.Table.path, other.path, other.Line), "give each handler a group of its own, or raise threads of one handler")
				break
			}
		}
	}
}

// isTarget tells whether the group of h is a dead letter target, which a handler of every group omits.
func (p *parser) isTarget(h, every *handlerDraft) bool {
	return every.Group == EveryGroup && h.Group != EveryGroup && slices.ContainsFunc(p.handlers, func(x *handlerDraft) bool {
		return x.Table == h.Table && x.DeadLetter != nil && x.DeadLetter.Table == nil && x.DeadLetter.Group == h.Group
	})
}

// checkSharedTargets refuses a dead letter table of two tables, whose rows could have one id.
func (p *parser) checkSharedTargets() {
	source := map[*Table]*handlerDraft{}
	for _, h := range p.handlers {
		if h.DeadLetter == nil || h.DeadLetter.Table == nil {
			continue
		}
		first, taken := source[h.DeadLetter.Table]
		if !taken {
			source[h.DeadLetter.Table] = h
		} else if first.Table != h.Table {
			p.refuse(h.n, "dead_letter", fmt.Sprintf("%s takes the dead letters of %s already (%s, line %d), and rows of two tables may have one id", h.DeadLetter.Table.path, first.Table.path, first.path, first.Line), "give each table a dead letter table of its own")
		}
	}
}

// checkCircles refuses handlers that hand a dead letter round for ever.
func (p *parser) checkCircles() {
	reported := map[*handlerDraft]bool{}
	for _, h := range p.handlers {
		circle := []*handlerDraft{h}
		for next := p.afterDeath(h); next != nil && !slices.Contains(circle, next); next = p.afterDeath(next) {
			circle = append(circle, next)
		}
		if p.afterDeath(circle[len(circle)-1]) != h || reported[h] {
			continue
		}
		var way []string
		for _, x := range circle {
			reported[x] = true
			way = append(way, x.path)
		}
		p.refuse(h.n, "dead_letter", "sends a failing row round for ever: "+strings.Join(append(way, h.path), ", "), "let one of them end at a target that no handler reads")
	}
}

// afterDeath returns the handler that reads the dead letters of h, or nil.
func (p *parser) afterDeath(h *handlerDraft) *handlerDraft {
	if h.DeadLetter == nil {
		return nil
	}
	for _, next := range p.handlers {
		switch target := h.DeadLetter; {
		case target.Table == nil && next.Table == h.Table && next.Group == target.Group:
			return next
		case target.Table != nil && next.Table == target.Table &&
			(next.Group == "" || next.Group == EveryGroup || next.Group == h.Group || h.Group == EveryGroup):
			return next
		}
	}
	return nil
}

// checkConnections compares the connections that the pools may open with their limit.
func (p *parser) checkConnections(c *Config) {
	d := p.root.find("database")
	if d == nil || c.Database.ConnectionLimit < c.Database.MaxConnections {
		return
	}
	sum, terms := c.Database.MaxConnections, []string{amount(d, "max_connections", c.Database.MaxConnections) + " of the pool"}
	for _, h := range p.handlers {
		if slices.Contains(h.Allow.DB, "pool") {
			sum += h.Threads * h.Connections
			terms = append(terms, fmt.Sprintf("%s × %s of %s", amount(h.n, "threads", h.Threads), amount(h.n, "connections", h.Connections), h.path))
		}
	}
	if sum > c.Database.ConnectionLimit {
		p.refuse(d, "connection_limit", "is below the connections that may be open at once: "+strings.Join(terms, " + "), "raise it, or lower max_connections, threads or connections")
	}
}

// amount is a number as an error may quote it.
func amount(n *node, key string, value int) string {
	if at := n.find(key); at != nil {
		return show(at)
	}
	return fmt.Sprint(value)
}
