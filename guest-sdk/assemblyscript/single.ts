// What a module exports that handles single messages: see handler and init.

import { runInit, runSingle } from "./index";

export function inbox_handle(): i32 {
  return runSingle();
}

export function inbox_init(): i32 {
  return runInit();
}
