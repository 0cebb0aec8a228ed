// What a module exports that handles batches: see batchHandler. inbox_init is in "inbox-wasm/single".

import { runBatch } from "./index";

export function inbox_handle_batch(count: i32): i32 {
  return runBatch(count);
}
