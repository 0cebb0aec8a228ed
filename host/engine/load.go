package engine

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// LoadError says what is wrong with a module and what to do about it.
type LoadError struct {
	Path   string
	What   string // follows "module PATH": "imports ..", "exports no .."
	Remedy string // a sentence without its full stop; may be empty
}

func (e *LoadError) Error() string {
	s := "module " + e.Path + " " + e.What
	if e.Remedy != "" {
		s += ": " + e.Remedy
	}
	return s
}

const buildCore = "build a core module with the guest SDK of its language, or for a WASI preview 1 target"

// checkPreamble refuses what is not a core WebAssembly module, and says what it is instead.
func checkPreamble(path string, b []byte) error {
	refuse := func(what, remedy string) error { return &LoadError{Path: path, What: what, Remedy: remedy} }
	text := bytes.TrimLeft(b, " \t\r\n")
	starts := func(magic string) bool { return bytes.HasPrefix(b, []byte(magic)) }
	switch {
	case len(b) == 0:
		return refuse("is empty", "check that the build wrote it")
	case starts("\x00asm"):
		return checkVersion(path, b)
	case starts("\x7fELF"), starts("\xcf\xfa\xed\xfe"), starts("MZ"):
		return refuse("is a native program or library, not WebAssembly", buildCore)
	case starts("\x1f\x8b"):
		return refuse("is compressed with gzip", "decompress it")
	case starts("PK\x03\x04"):
		return refuse("is a zip archive", "unpack it")
	case starts("!<arch>"):
		return refuse("is a static library archive", "link it into a module")
	case bytes.HasPrefix(text, []byte("(module")), bytes.HasPrefix(text, []byte(";;")), bytes.HasPrefix(text, []byte("(;")),
		bytes.HasPrefix(text, []byte("(component")):
		return refuse("is WebAssembly in its text form", "assemble it with wat2wasm")
	case utf8.Valid(head(b)):
		return refuse(fmt.Sprintf("is not WebAssembly but text that starts with %q", head(b)), buildCore)
	}
	return refuse(fmt.Sprintf("is not WebAssembly: it starts with the bytes % x", b[:min(len(b), preambleSize)]), buildCore)
}

// checkVersion reads the four bytes after the magic number: a version and, since components, a layer.
func checkVersion(path string, b []byte) error {
	if len(b) < preambleSize {
		return &LoadError{Path: path, What: fmt.Sprintf("ends after %d bytes", len(b)), Remedy: "check that the build finished"}
	}
	version, layer := uint16(b[4])|uint16(b[5])<<8, uint16(b[6])|uint16(b[7])<<8
	switch {
	case layer == 1:
		return &LoadError{Path: path, What: "is a WebAssembly component, and this host runs core modules",
			Remedy: "build for wasm32-wasip1 or wasm32-unknown-unknown instead of wasm32-wasip2, without wasm-tools component new or cargo component"}
	case layer != 0 || version != 1:
		return &LoadError{Path: path, What: fmt.Sprintf("has WebAssembly version %d, layer %d, and this host runs version 1", version, layer), Remedy: buildCore}
	}
	return nil
}

// head is the first line's start, at most 24 bytes and whole characters.
func head(b []byte) []byte {
	b, _, _ = bytes.Cut(b[:min(len(b), 256)], []byte("\n"))
	return cut(b, 24)
}

// cut shortens b to at most limit bytes without leaving half a character at the end.
func cut(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	for back := 0; back < utf8.UTFMax && limit > 0 && !utf8.RuneStart(b[limit]); back++ {
		limit--
	}
	return b[:limit]
}
