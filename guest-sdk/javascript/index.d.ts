/**
 * Handlers for inbox-wasm in JavaScript and TypeScript.
 *
 *     import { Message, Outcome } from "inbox-wasm";
 *
 *     export function handle(m: Message) {
 *       const mail = m.json();
 *       if (!mail.to) return Outcome.deadLetter("nobody to write to");
 *       // nothing returned is an ack
 *     }
 *
 *     npx inbox-wasm-build handler.ts -o build/handler.wasm
 *
 * A module exports `handle(message)` or, for a handler with `batch`, `handleBatch(messages)`; and, where it wants to,
 * `init()`, which is called once in each instance before its first message and refuses the instance by throwing.
 * Each may give a promise to wait for. An Outcome that is thrown is the outcome. Any other error that nobody catches, in
 * a promise that nobody waits for too, fails the message with its text and stack as the reason, and the next message has a
 * new instance.
 *
 * The top level of the script runs when the module is built, with what it makes kept in the module: what depends on the
 * configuration or on the time belongs into `init` and `handle`. Of the platform there is what ECMAScript 2020 has,
 * and `console`, which writes to the log: no timers, no `fetch`, no modules of Node.js.
 *
 * A module imports `db`, `publish` or `http` from the host only where its script uses it; one that the handler is not granted in
 * inbox.toml keeps it from loading.
 */

/** What becomes of a message. */
export class Outcome {
  private constructor();
  readonly code: number;
  readonly reason: string;
  readonly delayMs?: number;
  /** Finishes the row, as a handler that returns nothing does. */
  static ack(): Outcome;
  /** Delivers the message again at once, on its next attempt. */
  static retry(why?: string): Outcome;
  /** Delivers the message again after the subscription's backoff. */
  static backoff(why?: string): Outcome;
  /** Delivers the message again after so many milliseconds. */
  static retryAfter(ms: number, why?: string): Outcome;
  /** Finishes the message as an ack does, counted and logged apart. */
  static drop(why?: string): Outcome;
  /** Moves the message to the subscription's dead letters. */
  static deadLetter(why?: string): Outcome;
  /** Delivers the message again after so many milliseconds without spending the attempt. */
  static snooze(ms: number, why?: string): Outcome;
}

/** What surrounds a payload. */
export interface Meta {
  subscription: string;
  table: string;
  group: string;
  id: unknown;
  attempt: number;
  max_attempts: number;
  partition_key: string | null;
  headers: Record<string, unknown>;
  deadline_ms: number;
}

/** One delivery of a row. */
export interface Message {
  /** The payload's bytes, null where the column is NULL. In row mode the row as a JSON object. */
  bytes(): Uint8Array | null;
  /** The payload as a text; bytes that are no UTF-8 are replaced. */
  text(): string | null;
  /** The payload read as JSON; null where the column is NULL. It throws a SyntaxError where the payload is no JSON. */
  json(): any;
  /** As `json`, but a whole number that a Number does not hold exactly is a BigInt: for row mode. */
  row(): any;
  /** One header, undefined where there is none; a value that is no string is its JSON text. */
  header(name: string): string | undefined;
  meta(): Meta;
  /** The number of this delivery, 1 for the first; 0 where the table counts none. */
  readonly attempt: number;
  /** How many milliseconds the handler has left. */
  readonly timeLeft: number;
  /** In a batch: decides about this message. The others come to what the handler returns. */
  settle(outcome?: Outcome): void;
}

/** The weight of a line of the log. */
export const Level: Readonly<{ trace: 0; debug: 1; info: 2; warn: 3; error: 4 }>;

/** Lines for the host's log, which adds subscription, row and attempt. */
export const log: Readonly<{
  trace(line: string): void;
  debug(line: string): void;
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
  /** Whether a line of that weight would be written. */
  enabled(level: number): boolean;
}>;

/** One of the handler's own settings, undefined where there is none. */
export function config(key: string): string | undefined;

/** Random bytes that are fit for cryptography. */
export function random(length: number): Uint8Array;

/** Why the host did not do what it was asked. */
export class HostError extends Error {
  /** What the host's function answered, such as -3 where the handler is not allowed it. */
  readonly code: number;
  /** The database's SQLSTATE, empty where it has none. */
  readonly sqlstate: string;
  /** The database's own number, 0 where it has none. */
  readonly number: number;
}

/** A connection of the handler to the database. */
export const Conn: Readonly<{
  /**
   * The thread's own, for `allow = { db = "pool" }`: a statement commits on its own. The statements of one call share a
   * session; what is left in it is gone before the next call.
   */
  pool: 0;
  /**
   * The delivery's transaction, for `transactional = true` and `allow = { db = "tx" }`: what is written is committed by
   * the ack, together with the row's end, and rolled back by every other end.
   */
  tx: 1;
}>;

/** The answer to a statement. */
export interface Rows {
  columns: string[];
  /** Bytes are `{ base64 }`, see toBytes; whole numbers that a Number does not hold exactly are BigInts. */
  rows: any[][];
  /** How many rows the statement has changed. */
  affected: number;
}

/**
 * Runs one statement and gives all of its rows. Arguments may be BigInts, bytes and Dates. It throws a HostError; after
 * one has been thrown in the transaction, the delivery cannot be acked any more.
 */
export function query(conn: 0 | 1, sql: string, ...args: unknown[]): Rows;

/** A row for another table. */
export interface Publication {
  payload?: string | Uint8Array | ArrayBuffer;
  /** In place of a payload, for a table of rows: columns with their values. */
  row?: Record<string, unknown>;
  /** By default that of the table's only handler. */
  group?: string;
  headers?: Record<string, string>;
  /** Hides the row for so many milliseconds. */
  delayMs?: number;
  priority?: number | bigint;
  partitionKey?: string;
}

/**
 * Writes a row into a table and wakes its handlers, for `allow = { publish = ["TABLE"] }`. In a transactional handler it is
 * committed by the ack; in another one it is there whatever becomes of the message. It throws a HostError.
 */
export function publish(table: string, publication: Publication): void;

/** A request, to an origin that the handler allows. */
export interface Request {
  /** GET by default. */
  method?: string;
  url: string | { toString(): string };
  headers?: Record<string, string>;
  body?: string | Uint8Array | ArrayBuffer;
  /** By default the delivery's own. */
  timeoutMs?: number;
}

/** The answer to a request, whatever its status. */
export interface Response {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Record<string, string>;
  readonly bytes: Uint8Array;
  text(): string;
  json(): any;
}

/** Sends a request, for `allow = { http = ["https://.."] }`. It throws a HostError where there is no answer. */
export function send(request: Request): Response;

/** Reads JSON. A whole number that a Number does not hold exactly is a BigInt. */
export function parse(text: string): any;
/** Writes JSON with the digits of BigInts and with bytes as `{"base64":".."}`. */
export function stringify(value: unknown): string;
/** The bytes of `{ base64 }` or of a string; null of anything else. */
export function toBytes(value: unknown): Uint8Array | null;
export function encodeBase64(bytes: Uint8Array | ArrayBuffer): string;
/** The bytes of base64; null where the text is none. */
export function decodeBase64(text: string): Uint8Array | null;
/** A text in UTF-8. */
export function encodeText(text: string): Uint8Array;
/** The text of UTF-8; bytes that are none are replaced. */
export function decodeText(bytes: Uint8Array | ArrayBuffer): string;
/** SHA-256 (FIPS 180-4). */
export function sha256(bytes: Uint8Array): Uint8Array;
/** HMAC (RFC 2104) with SHA-256. */
export function hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array;
