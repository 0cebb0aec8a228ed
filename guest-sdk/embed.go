// Package guestsdk holds the SDKs for handlers, as what `inbox-wasm new` puts beside a new one.
package guestsdk

import "embed"

// Files are the sources of the SDKs and, under templates, of new handlers.
//
//go:embed go/*.go go/batch/*.go go/inboxtest/*.go go/internal/host/*.go
//go:embed rust/Cargo.toml rust/src
//go:embed c/*.h
//go:embed assemblyscript/*.ts assemblyscript/package.json
//go:embed javascript/*.js javascript/*.mjs javascript/*.d.ts javascript/package.json javascript/engine.wasm
//go:embed zig/src
//go:embed templates
var Files embed.FS
