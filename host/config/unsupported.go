package config

// What the specification has and the runtime does not do yet is refused, since ignoring it would change
// what happens to rows. A behaviour that arrives deletes its line here.

var unsupportedTop = []unsupported[*Config]{
	{"runtime.listen_http", "", func(c *Config) bool { return c.Runtime.ListenHTTP != "" }},
	{"runtime.http_token", "", func(c *Config) bool { return c.Runtime.HTTPToken != "" }},
}

var unsupportedTables = []unsupported[*Table]{}

var unsupportedHandlers = []unsupported[*Handler]{}

// unsupported is a key and whether a section uses it, or leaves it out where that means something.
type unsupported[T any] struct {
	key  string
	what string // the subject of "not yet supported", where the key is not
	used func(T) bool
}

func (p *parser) refuseUnsupported(c *Config) {
	refuseEach(p, unsupportedTop, c, p.root)
	for _, t := range p.tables {
		refuseEach(p, unsupportedTables, t.Table, t.n)
	}
	for _, h := range p.handlers {
		refuseEach(p, unsupportedHandlers, h.Handler, h.n)
	}
}

// refuseEach reports the keys in use, unless a key has a better reason to be refused.
func refuseEach[T any](p *parser, list []unsupported[T], section T, n *node) {
	for _, u := range list {
		if !u.used(section) || p.blamed(n.at(u.key)) {
			continue
		}
		remedy := "remove it for now"
		if !n.has(u.key) {
			remedy = "name the table's column: " + u.key + ` = ".."`
		}
		p.refuse(n, u.key, u.what+"not yet supported", remedy)
	}
}
