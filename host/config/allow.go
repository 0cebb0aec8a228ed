package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Allow is what a handler's guest may reach: nothing that is not here.
type Allow struct {
	DB      []string // "pool", "tx"
	Publish []*Table
	HTTP    []HTTPTarget
	Env     []string // names of variables
	Files   []Mount
}

// HTTPTarget is an origin that a guest may send requests to.
type HTTPTarget struct {
	URL     string // scheme://host or scheme://host:port, in lower case
	Private bool   // the origin may have a private address
}

// Mount is a directory of the host that a guest sees at a path of its own.
type Mount struct {
	Host  string
	Guest string // absolute, with slashes
	Write bool   // else read-only
}

func allowKeys(h *handlerDraft) keys {
	return keys{
		{"db", databases(&h.Allow.DB)},
		{"publish", nameList(&h.publish)},
		{"http", elements(func(p *parser, n *node) { p.readHTTP(&h.Allow, n) })},
		{"env", variables(&h.Allow.Env)},
		{"files", elements(func(p *parser, n *node) { p.readMount(&h.Allow, n) })},
	}
}

func elements(read reader) reader {
	return func(p *parser, n *node) {
		if n.list == nil {
			p.fail(n, "must be an array, not "+n.kind(), "write its elements between [ and ]")
			return
		}
		for _, item := range n.list {
			read(p, item)
		}
	}
}

func databases(dst *[]string) reader {
	return func(p *parser, n *node) {
		items := n.list
		if items == nil {
			items = []*node{n}
		}
		var found []string
		for _, item := range items {
			word := ""
			oneOf(&word, "pool", "tx")(p, item)
			if word != "" && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
		*dst = found
	}
}

func variables(dst *[]string) reader {
	return func(p *parser, n *node) {
		nameList(dst)(p, n)
		for i, name := range *dst {
			if name != "" && !variable.MatchString(name) {
				p.complain(n.list[i], &fault{"is no variable's name", "name the variable alone; its value comes from the environment"})
			}
		}
	}
}

func (p *parser) readHTTP(a *Allow, n *node) {
	target, at := HTTPTarget{}, n
	if n.table != nil {
		if at = n.find("url"); at == nil {
			p.refuse(n, "url", "is required", `write { url = "https://host", private = true }`)
		}
		p.section(n, keys{{"url", text(&target.URL)}, {"private", boolean(&target.Private)}})
	} else {
		text(&target.URL)(p, n)
	}
	if at == nil || target.URL == "" && p.blamed(at.path) {
		return
	}
	origin, fault := parseOrigin(target)
	if fault != nil {
		p.fail(at, fault.what, fault.remedy)
		return
	}
	target.URL = origin
	a.HTTP = append(a.HTTP, target)
}

// parseOrigin returns the origin of a target. Its faults quote nothing: a URL may hold a password.
func parseOrigin(t HTTPTarget) (string, *fault) {
	const remedy = `write scheme, host and port alone: "https://api.example.com"`
	u, err := url.Parse(t.URL)
	switch {
	case err != nil, !validPort(u.Port()), u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "", &fault{"is no http or https URL", remedy}
	case strings.Contains(u.Host, "*"):
		return "", &fault{"holds a wildcard", "name each host"}
	case u.User != nil:
		return "", &fault{"holds a user or a password", "let the guest send them as a header, from [handlers.NAME.config]"}
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", &fault{"holds more than an origin, and a guest may ask an origin for any path", remedy}
	case !t.Private && privateHost(u.Hostname()):
		return "", &fault{"is a private address", `write { url = "..", private = true } where it is meant`}
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), nil
}

func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

// privateHost tells what can be told without asking the network.
func privateHost(host string) bool {
	if host = strings.ToLower(host); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	return err == nil && (!ip.IsGlobalUnicast() || ip.IsPrivate() || carrierGrade.Contains(ip))
}

func (p *parser) readMount(a *Allow, n *node) {
	m := Mount{}
	p.section(n, keys{{"host", filePath(&m.Host)}, {"guest", name(&m.Guest)}, {"write", boolean(&m.Write)}})
	if n.table == nil {
		return
	}
	for _, key := range []string{"host", "guest"} {
		if !n.has(key) {
			p.refuse(n, key, "is required", `write { host = "templates", guest = "/templates" }`)
		}
	}
	if m.Host == "" || m.Guest == "" {
		return
	}
	if !path.IsAbs(m.Guest) || path.Clean(m.Guest) != m.Guest {
		p.refuse(n, "guest", show(n.find("guest"))+" is not a clean absolute path", `write it from the root: "/templates"`)
		return
	}
	if slices.ContainsFunc(a.Files, func(other Mount) bool { return other.Guest == m.Guest }) {
		p.refuse(n, "guest", "is mounted twice", "give each mount a path of its own")
	}
	a.Files = append(a.Files, m)
}

// checkMounts refuses mounts that show or change what the host itself lives on.
func (p *parser) checkMounts(c *Config, h *handlerDraft) {
	kept := map[string]string{"the configuration": c.Path, "the cache": c.Runtime.CacheDir, "the database": c.Database.URL.sqliteFile()}
	for _, other := range c.Handlers {
		kept["the module of "+other.path] = other.Module
	}
	for i, m := range h.Allow.Files {
		for _, what := range slices.Sorted(maps.Keys(kept)) {
			if kept[what] != "" && overlap(m.Host, kept[what]) {
				p.refuse(h.n, "allow.files", fmt.Sprintf("mount %d overlaps %s", i+1, what), "mount a directory that holds nothing of the host's own")
				break
			}
		}
	}
}

// overlap tells whether one path is the other or lies in it, symbolic links followed.
func overlap(a, b string) bool {
	a, b = realPath(a), realPath(b)
	return within(a, b) || within(b, a)
}

func within(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// realPath follows links as far as the path exists.
func realPath(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	if parent := filepath.Dir(file); parent != file {
		return filepath.Join(realPath(parent), filepath.Base(file))
	}
	return file
}
