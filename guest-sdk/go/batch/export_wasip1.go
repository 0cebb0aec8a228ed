package batch

import "github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"

// InboxHandleBatch is what the host calls for each batch.
//
//go:wasmexport inbox_handle_batch
func InboxHandleBatch(count int32) int32 { return host.HandleBatch(count) }
