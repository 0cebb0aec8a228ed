// A fake host for tests of handlers in Node.js, where there is no real one. The types are in testing.d.ts.

import { createHash } from "node:crypto";

import { handlerOf } from "./run.js";

/** Ends a handler as the engine ends one that fails. */
class Failed extends Error {}

export async function deliver(handler, payload, { headers = {}, config = {}, attempt = 1, answers = {} } = {}) {
  const delivered = { reason: "", delayMs: undefined, log: [], asked: [] };
  const bytes = payload === null ? null : Buffer.from(payload);
  let result = null;
  const ask = (name, ...what) => {
    delivered.asked.push([name, ...what]);
    const answer = answers[name];
    result = answer?.result === undefined ? null : JSON.stringify(answer.result);
    return answer === undefined ? -3 : (answer.code ?? (name === "publish" ? 0 : Buffer.byteLength(result ?? "")));
  };
  const buffer = (b) => b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength);
  globalThis.inbox_v1 = {
    payload: () => bytes && buffer(bytes),
    payloadText: () => bytes && bytes.toString(),
    header: (name) => (name in headers ? headers[name] : null),
    meta: () => JSON.stringify({ subscription: "test", table: "test", group: "test", id: 1, attempt, headers }),
    attempt: () => attempt,
    timeLeft: () => 30_000,
    retryAfter: (ms) => ((delivered.delayMs = ms), 0),
    reason: (text) => ((delivered.reason = text), 0),
    log: (_level, line) => (delivered.log.push(line), 0),
    logEnabled: () => true,
    config: (key) => config[key] ?? null,
    random: (n) => new Uint8Array(n).fill(7).buffer,
    db: (conn, sql, args) => ask("db", conn, sql, args),
    publish: (table, message) => ask("publish", table, message),
    http: (request) => ask("http", request),
    result: () => result,
    encodeText: (text) => buffer(Buffer.from(text)),
    decodeText: (b, from, length) => Buffer.from(b, from, length).toString(),
    encodeBase64: (b, from, length) => Buffer.from(b, from, length).toString("base64"),
    decodeBase64: (text) => buffer(Buffer.from(text, "base64")),
    sha256: (b, from, length) => buffer(createHash("sha256").update(Buffer.from(b, from, length)).digest()),
    fail(reason) {
      throw new Failed(reason);
    },
  };
  const run = handlerOf(handler);
  try {
    const settled = async (code) => {
      if (code !== undefined) return code;
      await new Promise((resolve) => setImmediate(resolve));
      return run.finish();
    };
    if ((await settled(run.init())) !== 0) return { ...delivered, failure: `init: ${delivered.reason}` };
    const code = await settled(run.run(-1));
    return { code, ...delivered };
  } catch (error) {
    if (error instanceof Failed) return { ...delivered, failure: error.message };
    throw error;
  }
}
