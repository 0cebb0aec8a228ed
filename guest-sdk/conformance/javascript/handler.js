// The conformance handler in JavaScript: see ../conformance_test.go for what each command has to do.

import { Conn, HostError, Level, Outcome, config, encodeBase64, log, publish, query, random, send, stringify } from "inbox-wasm";

let greeting;

export function init() {
  greeting = config("greeting");
  if (greeting === undefined) throw new Error("no greeting");
}

/** Tells what was found out as the reason of a dead letter. */
const tell = (found) => Outcome.deadLetter(found === undefined || found === null ? "absent" : typeof found === "object" ? stringify(found) : String(found));

/** Runs a function, and tells the error that the host gives. */
function trying(f) {
  try {
    return f();
  } catch (e) {
    if (!(e instanceof HostError)) throw e;
    return tell({ code: e.code, message: e.message, sqlstate: e.sqlstate || undefined, number: e.number || undefined });
  }
}

const levels = ["trace", "debug", "info", "warn", "error"];
const lines = ["a trace", "a debug line", "an info", "a warning", "an error"];
const big = 2n ** 62n + 1n;

const commands = {
  ack: () => Outcome.ack(),
  retry: (m) => Outcome.retry(m.header("why")),
  retry_after: (m) => (m.header("ms") === undefined ? Outcome.backoff(m.header("why")) : Outcome.retryAfter(Number(m.header("ms")))),
  drop: (m) => Outcome.drop(m.header("why")),
  dead_letter: (m) => Outcome.deadLetter(m.header("why")),
  snooze: (m) => Outcome.snooze(Number(m.header("ms"))),
  panic: () => {
    throw new Error("on purpose");
  },
  payload: (m) => tell(m.text()),
  length: (m) => tell(m.bytes().length),
  header: (m) => tell(m.header(m.header("name"))),
  meta: (m) => tell(m.meta()),
  attempt: (m) => tell(m.attempt),
  time_left: (m) => tell(m.timeLeft),
  now: () => tell(Date.now()),
  config: (m) => tell(config(m.header("name"))),
  greeting: () => tell(greeting),
  log: () => levels.forEach((level, i) => log.enabled(Level[level]) && log[level](lines[i])),
  random: () => tell(encodeBase64(random(16))),
  db: (m) =>
    trying(() => {
      const rows = query(m.header("pool") ? Conn.pool : Conn.tx, m.header("sql"), big, "ü\n", new Uint8Array([0, 255]), true, null);
      return tell(m.header("length") ? rows.columns[0].length : rows);
    }),
  publish: (m) =>
    trying(() => {
      const payload = m.bytes();
      const row = m.header("row") && { n: big, blob: payload };
      const rest = m.header("group") && { group: m.header("group"), partitionKey: "ada", headers: { trace: "42", quoted: 'a "b"\n\\' }, delayMs: 1500, priority: -7 };
      publish(m.header("table"), { ...(row ? { row } : { payload }), ...rest });
    }),
  http: (m) =>
    trying(() => {
      const r = send({ method: "POST", url: m.header("url"), headers: { "idempotency-key": "7" }, body: m.bytes(), timeoutMs: 250 });
      return tell({ status: r.status, type: r.headers["content-type"], body: encodeBase64(r.bytes) });
    }),
};

// Whoever waits for a promise in a handler is waited for.
export async function handle(m) {
  const command = commands[m.header("do")];
  return command === undefined ? Outcome.drop() : command(m);
}

/** Each message says what becomes of it; those that say nothing come to what the call returns. */
export async function handleBatch(messages) {
  for (const m of messages) {
    if (m.header("do") !== undefined) m.settle(await handle(m));
  }
  return Outcome.retry();
}
