// What a module exports that handles batches: see batchHandler.

import { runBatch } from "./index";

export function inbox_handle_batch(count: i32): i32 {
  return runBatch(count);
}
