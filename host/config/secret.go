package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

const masked = "***"

// Secret is a text that prints as a mask, whatever prints it. A database URL prints without its
// password and its parameters, so that an operator sees which database is meant. Keep it in exported
// fields: fmt bypasses the methods of unexported ones.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask; empty for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	scheme, rest, _ := strings.Cut(string(s), ":")
	if engines[scheme] == "" {
		return masked
	}
	if _, err := url.Parse(string(s)); err != nil {
		return scheme + ":" + masked
	}
	slashes := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		slashes, rest = "//", after
	}
	// The last @ ends the credentials, whatever a password left unescaped. Where that reaches past the
	// authority, nothing can be told apart.
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && slashes != "" {
		user, rest = rest[:at], rest[at+1:]
		if strings.ContainsAny(user, "/?#") {
			return scheme + "://" + masked
		}
		if name, _, ok := strings.Cut(user, ":"); ok {
			user = name + ":" + masked
		}
		user += "@"
	}
	if place, _, ok := strings.Cut(rest, "?"); ok {
		rest = place + "?" + masked
	}
	return scheme + ":" + slashes + user + rest
}

// GoString returns the mask, for %#v.
func (s Secret) GoString() string { return s.String() }

// Format prints the mask for every verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText returns the mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON returns the mask as JSON text.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue returns the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Mask replaces what is secret of the database's URLs in a text.
func (d Database) Mask(text string) string {
	for _, s := range []Secret{d.URL, d.HandlerURL} {
		if s == "" {
			continue
		}
		text = strings.ReplaceAll(text, string(s), s.String())
		u, err := url.Parse(string(s))
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		words := []string{password, url.QueryEscape(password), url.PathEscape(password)}
		for name, values := range u.Query() {
			if strings.Contains(strings.ToLower(name), "pass") {
				words = append(words, values...)
			}
		}
		for _, word := range words {
			if word != "" {
				text = strings.ReplaceAll(text, word, masked)
			}
		}
	}
	return text
}

// Settings is what a guest reads through its config function. Its keys print, its values do not.
type Settings map[string]string

func (s Settings) mask() map[string]string {
	m := make(map[string]string, len(s))
	for key := range s {
		m[key] = masked
	}
	return m
}

// String returns the keys with masks for values.
func (s Settings) String() string { return fmt.Sprint(s.mask()) }

// GoString returns the keys with masks for values, for %#v.
func (s Settings) GoString() string { return s.String() }

// Format prints the keys with masks for values for every verb.
func (s Settings) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalJSON returns the keys with masks for values.
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(s.mask()) }

// LogValue returns the keys with masks for values.
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// section is embedded in every part of the configuration: printed as a whole, a part prints its key
// path, since an expansion may have touched any of its values.
type section struct {
	path string
	n    *node // nil where the file has no such section
}

// LineOf returns the line on which a key of the section stands, or the section itself where the file
// does not write the key; 0 where it writes neither.
func (s section) LineOf(key string) int {
	if s.n == nil {
		return 0
	}
	return s.n.nearest(key).line
}

// String returns the key path.
func (s section) String() string { return s.path }

// GoString returns the key path, for %#v.
func (s section) GoString() string { return s.path }

// Format prints the key path for every verb.
func (s section) Format(f fmt.State, _ rune) { io.WriteString(f, s.path) }

// MarshalJSON returns the key path as JSON text.
func (s section) MarshalJSON() ([]byte, error) { return json.Marshal(s.path) }

// LogValue returns the key path.
func (s section) LogValue() slog.Value { return slog.StringValue(s.path) }
