// Handlers for inbox-wasm in JavaScript. The types in index.d.ts say what everything is for.

import { decodeBase64, encodeBase64, isBytes, parse, part, stringify } from "./json.js";

export { decodeBase64, encodeBase64, parse, stringify };

export class Outcome {
  constructor(code, reason, delayMs) {
    this.code = code;
    this.reason = reason;
    this.delayMs = delayMs;
    Object.freeze(this);
  }
  static ack() {
    return new Outcome(0, "");
  }
  static retry(why = "") {
    return new Outcome(1, why);
  }
  static backoff(why = "") {
    return new Outcome(2, why);
  }
  static retryAfter(ms, why = "") {
    return new Outcome(2, why, ms);
  }
  static drop(why = "") {
    return new Outcome(3, why);
  }
  static deadLetter(why = "") {
    return new Outcome(4, why);
  }
  static snooze(ms, why = "") {
    return new Outcome(5, why, ms);
  }
}

/** The message that the host's functions are about. */
let current = -1;

/** A delay as the host takes it: what is no number would be none, and what is too long would come round to one of 0. */
function milliseconds(delay) {
  if (typeof delay !== "number" || Number.isNaN(delay)) throw new TypeError(`a delay is a number of milliseconds, and not ${delay}`);
  return Math.min(Math.round(delay), Number.MAX_SAFE_INTEGER);
}

/** Tells the host what becomes of the current message, and gives the code. Nothing is an ack. */
export function tell(outcome) {
  if (outcome === undefined) return 0;
  if (!(outcome instanceof Outcome)) throw new TypeError(`a handler returns an Outcome or nothing, and not ${outcome}`);
  if (outcome.reason) inbox_v1.reason(String(outcome.reason));
  if (outcome.delayMs !== undefined) inbox_v1.retryAfter(milliseconds(outcome.delayMs));
  return outcome.code;
}

/** Forgets which message is the current one: a new batch begins. */
export function begin() {
  current = -1;
}

export class Message {
  #index;
  constructor(index = -1) {
    this.#index = index;
  }
  #host() {
    if (this.#index >= 0 && this.#index !== current) inbox_v1.message((current = this.#index));
    return inbox_v1;
  }
  bytes() {
    const payload = this.#host().payload();
    return payload && new Uint8Array(payload);
  }
  text() {
    return this.#host().payloadText();
  }
  json() {
    return JSON.parse(this.text() ?? "null");
  }
  row() {
    return parse(this.text() ?? "null");
  }
  header(name) {
    return this.#host().header(name) ?? undefined;
  }
  meta() {
    return parse(this.#host().meta());
  }
  get attempt() {
    return this.#host().attempt();
  }
  get timeLeft() {
    return this.#host().timeLeft();
  }
  settle(outcome) {
    const host = this.#host();
    host.outcome(tell(outcome));
  }
}

export const Level = Object.freeze({ trace: 0, debug: 1, info: 2, warn: 3, error: 4 });

const lines = (level) => (line) => void inbox_v1.log(level, String(line));

export const log = Object.freeze({
  trace: lines(Level.trace),
  debug: lines(Level.debug),
  info: lines(Level.info),
  warn: lines(Level.warn),
  error: lines(Level.error),
  enabled: (level) => inbox_v1.logEnabled(level),
});

export function config(key) {
  return inbox_v1.config(key) ?? undefined;
}

export function random(length) {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 65536) bytes.set(new Uint8Array(inbox_v1.random(Math.min(length - i, 65536))), i);
  return bytes;
}

export function encodeText(text) {
  return new Uint8Array(inbox_v1.encodeText(text));
}

export function decodeText(bytes) {
  return inbox_v1.decodeText(...part(bytes));
}

export function sha256(bytes) {
  return new Uint8Array(inbox_v1.sha256(...part(bytes)));
}

/** HMAC (RFC 2104) with SHA-256. */
export function hmacSha256(key, bytes) {
  const padded = new Uint8Array(64);
  padded.set(key.length > 64 ? sha256(key) : key);
  const under = (pad, content) => {
    const all = new Uint8Array(64 + content.length);
    for (let i = 0; i < 64; i++) all[i] = padded[i] ^ pad;
    all.set(content, 64);
    return sha256(all);
  };
  return under(0x5c, under(0x36, bytes));
}

export class HostError extends Error {
  constructor(code, message, { sqlstate = "", number = 0 } = {}) {
    super(message);
    this.name = "HostError";
    this.code = code;
    this.sqlstate = sqlstate;
    this.number = number;
  }
}

const refusals = {
  [-2]: "the host cannot read it",
  [-3]: "the handler is not allowed it, see allow in inbox.toml",
  [-5]: "the deadline passed",
  [-6]: "beyond a limit of the handler",
};

/** The error of a function that answered less than 0. */
function refused(code, what) {
  if (code !== -4) return new HostError(code, `${what}: ${refusals[code] ?? "the host refuses it"}`);
  const said = parse(inbox_v1.result() ?? "{}");
  return new HostError(code, said.message ?? `${what}: the host does not say why`, said);
}

export const Conn = Object.freeze({ pool: 0, tx: 1 });

export function query(conn, sql, ...args) {
  if (conn !== Conn.pool && conn !== Conn.tx) throw new TypeError(`query takes Conn.pool or Conn.tx before the statement, and not ${conn}`);
  const code = inbox_v1.db(conn, sql, args.length > 0 ? stringify(args) : "");
  if (code < 0) throw refused(code, "SQL");
  return parse(inbox_v1.result());
}

export function toBytes(value) {
  if (typeof value === "string") return encodeText(value);
  return typeof value?.base64 === "string" ? decodeBase64(value.base64) : null;
}

/** Content as JSON carries it: a text as it is, any other bytes in base64. */
function content(name, value) {
  if (value === undefined) return {};
  if (typeof value === "string") return { [name]: value };
  if (!isBytes(value)) throw new TypeError(`a ${name} is a string or bytes, and not ${value}: JSON.stringify makes a string of it`);
  const text = decodeText(value);
  const back = new Uint8Array(value.buffer ?? value, value.byteOffset ?? 0, value.byteLength);
  const same = encodeText(text);
  return same.length === back.length && same.every((b, i) => b === back[i]) ? { [name]: text } : { [`${name}_base64`]: encodeBase64(value) };
}

export function publish(table, publication) {
  if (typeof publication !== "object" || isBytes(publication)) throw new TypeError("publish takes { payload } or { row } after the table");
  const { payload, row, group, headers, delayMs, priority, partitionKey } = publication;
  const message = { ...(row === undefined ? content("payload", payload ?? "") : { row }), group, headers, delay_ms: delayMs, priority, partition_key: partitionKey };
  const code = inbox_v1.publish(table, stringify(message));
  if (code < 0) throw refused(code, "publish");
}

export function send({ method = "GET", url, headers, body, timeoutMs }) {
  const request = { method, url: String(url), headers, ...content("body", body), timeout_ms: timeoutMs };
  const code = inbox_v1.http(stringify(request));
  if (code < 0) throw refused(code, "http");
  const answer = parse(inbox_v1.result());
  const bytes = answer.body_base64 === undefined ? encodeText(answer.body ?? "") : decodeBase64(answer.body_base64);
  return new Response(answer.status, answer.headers ?? {}, bytes);
}

class Response {
  constructor(status, headers, bytes) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }
  text() {
    return decodeText(this.bytes);
  }
  json() {
    return JSON.parse(this.text());
  }
}
