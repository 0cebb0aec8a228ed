import type { Message, Outcome } from "inbox-wasm";

/** The world that a handler finds in a test. */
export interface World {
  headers?: Record<string, string>;
  /** The settings of the handler's `config`. */
  config?: Record<string, string>;
  attempt?: number;
  /**
   * What the functions with a side effect, "db", "publish" and "http", answer: a result, or a code such as -4 with the error
   * as the result. One without an answer is not allowed.
   */
  answers?: Record<string, { code?: number; result?: unknown }>;
}

/** What a handler has made of a message. */
export interface Delivered {
  /** The outcome's code: 0 ack, 1 retry, 2 retry_after, 3 drop, 4 dead_letter, 5 snooze. There is none after a failure. */
  code?: number;
  reason: string;
  delayMs?: number;
  log: string[];
  /** What was asked of db, publish and http, each with its name in front. */
  asked: unknown[][];
  /** Why the handler failed. */
  failure?: string;
}

type Handler = { handle(m: Message): Outcome | void | Promise<Outcome | void>; init?(): void | Promise<void> };

/** Runs a handler, as `import * as handler from "./handler.js"` gives it, on a payload. */
export function deliver(handler: Handler, payload: string | Uint8Array | null, world?: World): Promise<Delivered>;
