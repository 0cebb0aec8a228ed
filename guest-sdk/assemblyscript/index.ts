// Handlers for inbox-wasm in AssemblyScript.
//
//   import { Message, Outcome, handler } from "inbox-wasm";
//   export { inbox_handle, inbox_init } from "inbox-wasm/single";
//
//   handler((m: Message): Outcome => {
//     const payload = m.payload();
//     if (payload == null || payload.length == 0) return Outcome.deadLetter("the payload is empty");
//     return Outcome.ack();
//   });
//
//   asc handler.ts -O3 -o handler.wasm
//
// An error that is thrown, and any other abort, fails the message with its text as the reason; the next message has a
// new instance. A module imports only what it uses; a function that the handler is not granted in inbox.toml keeps it
// from loading.

import * as host from "./host";
import { Value, encodeBase64, decodeBase64, parse } from "./json";

export { Value, Kind, parse, encodeBase64, decodeBase64 } from "./json";

/** What becomes of a message. */
export class Outcome {
  private constructor(
    readonly code: i32,
    readonly reason: string = "",
    readonly delayMs: i64 = -1,
  ) {}

  /** Finishes the row. */
  static ack(): Outcome {
    return new Outcome(0);
  }
  /** Delivers the message again at once, on its next attempt. */
  static retry(why: string): Outcome {
    return new Outcome(1, why);
  }
  /** Delivers the message again after the subscription's backoff. */
  static backoff(why: string): Outcome {
    return new Outcome(2, why);
  }
  /** Delivers the message again after so many milliseconds. */
  static retryAfter(ms: i64, why: string): Outcome {
    return new Outcome(2, why, ms);
  }
  /** Finishes the message as an ack does, counted and logged apart. */
  static drop(why: string): Outcome {
    return new Outcome(3, why);
  }
  /** Moves the message to the subscription's dead letters. */
  static deadLetter(why: string): Outcome {
    return new Outcome(4, why);
  }
  /** Delivers the message again after so many milliseconds without spending the attempt. */
  static snooze(ms: i64, why: string): Outcome {
    return new Outcome(5, why, ms);
  }

  /** Tells the host, about the current message, and gives the code. */
  tell(): i32 {
    if (this.reason.length > 0) {
      const text = String.UTF8.encode(this.reason);
      host.reason(changetype<usize>(text), text.byteLength);
    }
    if (this.delayMs >= 0) host.retryAfter(this.delayMs);
    return this.code;
  }
}

/** The message of the batch that the host's functions are about. */
let current: i32 = -1;

/** One delivery of a row. */
export class Message {
  /** The index is the message's in its batch, -1 outside of one. */
  constructor(private index: i32 = -1) {}

  private use(): void {
    if (this.index < 0 || this.index == current) return;
    current = this.index;
    host.message(current);
  }

  /** The payload, or in row mode the row as a JSON object; null where the column is NULL. */
  payload(): Uint8Array | null {
    const n = this.readPayload();
    return n < 0 ? null : host.bytes(n);
  }
  /** The payload as a text. */
  payloadText(): string | null {
    const n = this.readPayload();
    return n < 0 ? null : host.text(n);
  }
  private readPayload(): i32 {
    this.use();
    let n = host.payload(host.room(0), host.capacity());
    if (n > host.capacity()) n = host.payload(host.room(n), n);
    return n;
  }

  /** One header, null where there is none; a value that is no string is its JSON text. */
  header(name: string): string | null {
    this.use();
    const key = String.UTF8.encode(name);
    let n = host.header(changetype<usize>(key), key.byteLength, host.room(0), host.capacity());
    if (n > host.capacity()) n = host.header(changetype<usize>(key), key.byteLength, host.room(n), n);
    return n < 0 ? null : host.text(n);
  }

  /** What surrounds the payload: subscription, table, group, id, attempt, max_attempts, partition_key, headers. */
  meta(): Value {
    this.use();
    let n = host.meta(host.room(0), host.capacity());
    if (n > host.capacity()) n = host.meta(host.room(n), n);
    return parse(host.text(n))!;
  }

  /** The number of this delivery, 1 for the first; 0 where the table counts none. */
  get attempt(): i32 {
    this.use();
    return host.attempt();
  }

  /** How many milliseconds the handler has left. */
  get timeLeft(): i64 {
    this.use();
    return host.deadlineMs();
  }

  /** In a batch: decides about this message. The others come to what the handler returns. */
  settle(outcome: Outcome): void {
    this.use();
    host.outcome(outcome.tell());
  }
}

let handle: ((m: Message) => Outcome) | null = null;
let handleBatch: ((messages: Message[]) => Outcome) | null = null;
let initialize: (() => string | null) | null = null;
let initialized = false;

/** What was given to init runs only where the module exports inbox_init. */
function checkInit(): void {
  if (initialize != null && !initialized) throw new Error("init never runs: write export { inbox_init } from \"inbox-wasm/single\"");
}

/** Has the host call a function with each message; export inbox_handle from "inbox-wasm/single". */
export function handler(f: (m: Message) => Outcome): void {
  handle = f;
}

/** Has the host call a function with each batch; export inbox_handle_batch from "inbox-wasm/batch". */
export function batchHandler(f: (messages: Message[]) => Outcome): void {
  handleBatch = f;
}

/** Runs a function once in each instance before its first message; export inbox_init too. A text that it returns refuses the instance. */
export function init(f: () => string | null): void {
  initialize = f;
}

export function runSingle(): i32 {
  checkInit();
  return handle!(new Message()).tell();
}

export function runBatch(count: i32): i32 {
  checkInit();
  current = -1;
  const messages = new Array<Message>(count);
  for (let i = 0; i < count; i++) messages[i] = new Message(i);
  return handleBatch!(messages).tell();
}

export function runInit(): i32 {
  initialized = true;
  if (initialize == null) return 0;
  const why = initialize!();
  if (why == null) return 0;
  const text = String.UTF8.encode(why);
  host.reason(changetype<usize>(text), text.byteLength);
  return 1;
}

/** The weight of a line of the log. */
export enum Level {
  Trace,
  Debug,
  Info,
  Warn,
  Error,
}

/** Writes a line to the host's log, which adds subscription, row and attempt. */
export function log(level: Level, line: string): void {
  const text = String.UTF8.encode(line);
  host.log(level, changetype<usize>(text), text.byteLength);
}

/** Whether a line of that weight would be written. */
export function logEnabled(level: Level): bool {
  return host.logEnabled(level) == 1;
}

/** One of the handler's own settings, null where there is none. */
export function config(key: string): string | null {
  const text = String.UTF8.encode(key);
  let n = host.config(changetype<usize>(text), text.byteLength, host.room(0), host.capacity());
  if (n > host.capacity()) n = host.config(changetype<usize>(text), text.byteLength, host.room(n), n);
  return n < 0 ? null : host.text(n);
}

/** Milliseconds since 1970. */
export function now(): i64 {
  return host.nowMs();
}

/** Random bytes that are fit for cryptography. */
export function random(length: i32): Uint8Array {
  const bytes = new Uint8Array(length);
  if (host.random(bytes.dataStart, length) < 0) throw new Error("the host refuses random bytes");
  return bytes;
}

/** Why the host did not do what it was asked. */
export class HostError {
  constructor(
    /** What the host's function answered, such as -3 where the handler is not allowed it. */
    readonly code: i32,
    readonly message: string,
    /** The database's SQLSTATE, empty where it has none. */
    readonly sqlstate: string = "",
    /** The database's own number, 0 where it has none. */
    readonly number: i64 = 0,
  ) {}
}

function result(): Value {
  let n = host.result(host.room(0), host.capacity());
  if (n > host.capacity()) n = host.result(host.room(n), n);
  if (n < 0) return Value.null();
  const value = parse(host.text(n));
  return value == null ? Value.null() : value;
}

function refused(code: i32, what: string): HostError {
  if (code == host.FAILED) {
    const said = result();
    return new HostError(code, said.get("message").text, said.get("sqlstate").text, said.get("number").asInt());
  }
  let why = "the host refuses it";
  if (code == host.BAD_ARGUMENT) why = "the host cannot read it";
  if (code == host.NOT_ALLOWED) why = "the handler is not allowed it, see allow in inbox.toml";
  if (code == host.DEADLINE_PASSED) why = "the deadline passed";
  if (code == host.TOO_LARGE) why = "beyond a limit of the handler";
  return new HostError(code, what + ": " + why);
}

/** A connection of the handler to the database. */
export enum Conn {
  /** The thread's own, for allow = { db = "pool" }: a statement commits on its own. */
  Pool = 0,
  /** The delivery's transaction, for transactional = true and allow = { db = "tx" }: kept with the ack alone. */
  Tx = 1,
}

/** The answer to a statement. */
export class Rows {
  constructor(
    /** Why the statement failed, null where it did not. */
    readonly error: HostError | null,
    readonly columns: string[] = [],
    readonly rows: Value[] = [],
    /** How many rows the statement has changed. */
    readonly affected: i64 = 0,
  ) {}
}

/** Runs one statement. After one has failed in the transaction, the delivery cannot be acked any more. */
export function query(conn: Conn, sql: string, args: Value[] = []): Rows {
  const text = String.UTF8.encode(sql);
  const list = String.UTF8.encode(args.length == 0 ? "" : Value.array(args).toString());
  const n = host.db(conn, changetype<usize>(text), text.byteLength, changetype<usize>(list), list.byteLength);
  if (n < 0) return new Rows(refused(n, "SQL"));
  const answer = result();
  const names = answer.get("columns").list;
  const columns = new Array<string>(names.length);
  for (let i = 0; i < names.length; i++) columns[i] = names[i].text;
  return new Rows(null, columns, answer.get("rows").list, answer.get("affected").asInt());
}

function isUTF8(b: Uint8Array): bool {
  for (let i = 0; i < b.length; ) {
    const c = b[i++];
    let more = 0;
    if (c >= 0xc2 && c < 0xe0) more = 1;
    else if (c >= 0xe0 && c < 0xf0) more = 2;
    else if (c >= 0xf0 && c < 0xf5) more = 3;
    else if (c >= 0x80) return false;
    for (let k = 0; k < more; k++, i++) {
      if (i >= b.length || (b[i] & 0xc0) != 0x80) return false;
      const d = b[i];
      if (k == 0 && ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f))) return false;
    }
  }
  return true;
}

function setContent(object: Value, name: string, bytes: Uint8Array): void {
  if (isUTF8(bytes)) object.set(name, Value.string(String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length)));
  else object.set(name + "_base64", Value.string(encodeBase64(bytes)));
}

/** Names with their texts, in order. */
export class Pairs {
  readonly object: Value = Value.object();
  set(name: string, value: string): Pairs {
    this.object.set(name, Value.string(value));
    return this;
  }
}

/** A row for another table, for allow = { publish = ["TABLE"] }. */
export class Publication {
  /** In place of a payload, for a table of rows: an object of columns. */
  row: Value | null = null;
  /** Empty is that of the table's only handler. */
  group: string = "";
  headers: Pairs | null = null;
  /** Hides the row for so many milliseconds. */
  delayMs: i64 = 0;
  priority: Value = Value.null();
  partitionKey: string | null = null;
  constructor(public payload: Uint8Array = new Uint8Array(0)) {}
}

/** Writes a row into a table and wakes its handlers; in a transactional handler with the ack alone. Null is success. */
export function publish(table: string, p: Publication): HostError | null {
  const o = Value.object();
  const row = p.row;
  if (row != null) o.set("row", row);
  else setContent(o, "payload", p.payload);
  if (p.group.length > 0) o.set("group", Value.string(p.group));
  const headers = p.headers;
  if (headers != null) o.set("headers", headers.object);
  if (p.delayMs > 0) o.set("delay_ms", Value.int(p.delayMs));
  if (!p.priority.isNull) o.set("priority", p.priority);
  const key = p.partitionKey;
  if (key != null) o.set("partition_key", Value.string(key));
  const name = String.UTF8.encode(table);
  const text = String.UTF8.encode(o.toString());
  const code = host.publish(changetype<usize>(name), name.byteLength, changetype<usize>(text), text.byteLength);
  return code == 0 ? null : refused(code, "publish");
}

/** An HTTP request, for allow = { http = ["https://.."] }. */
export class Request {
  method: string = "GET";
  headers: Pairs | null = null;
  body: Uint8Array = new Uint8Array(0);
  /** 0 is the delivery's own. */
  timeoutMs: i64 = 0;
  constructor(public url: string) {}
}

/** The answer to a request, whatever its status. */
export class Response {
  constructor(
    /** Why there is no answer, null where there is one. */
    readonly error: HostError | null,
    readonly status: i32 = 0,
    /** By names in lower case. */
    readonly headers: Value = Value.object(),
    readonly body: Uint8Array = new Uint8Array(0),
  ) {}
}

/** Sends a request. A response that says no, such as 503, is no error. */
export function send(r: Request): Response {
  const o = Value.object().set("method", Value.string(r.method)).set("url", Value.string(r.url));
  const headers = r.headers;
  if (headers != null) o.set("headers", headers.object);
  setContent(o, "body", r.body);
  if (r.timeoutMs > 0) o.set("timeout_ms", Value.int(r.timeoutMs));
  const text = String.UTF8.encode(o.toString());
  const n = host.http(changetype<usize>(text), text.byteLength);
  if (n < 0) return new Response(refused(n, "http"));
  const answer = result();
  const encoded = answer.get("body_base64");
  const body = encoded.isNull ? answer.get("body").asBytes() : decodeBase64(encoded.text);
  return new Response(null, <i32>answer.get("status").asInt(), answer.get("headers"), body);
}
