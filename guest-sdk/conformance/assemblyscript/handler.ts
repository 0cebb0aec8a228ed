// The conformance handler in AssemblyScript: see ../conformance_test.go for what each command has to do.

import {
  Conn, HostError, Level, Message, Outcome, Pairs, Publication, Request, Value,
  batchHandler, config, encodeBase64, handler, init, log, logEnabled, now, publish, query, random, send,
} from "inbox-wasm";
export { inbox_handle, inbox_init } from "inbox-wasm/single";
export { inbox_handle_batch } from "inbox-wasm/batch";

let greeting: string = "";

init((): string | null => {
  const setting = config("greeting");
  if (setting == null) return "no greeting";
  greeting = setting;
  return null;
});

/** Tells what was found out as the reason of a dead letter. */
function tell(found: string | null): Outcome {
  return Outcome.deadLetter(found == null ? "absent" : found);
}

function tellError(e: HostError): Outcome {
  const o = Value.object().set("code", Value.int(e.code)).set("message", Value.string(e.message));
  if (e.sqlstate.length > 0) o.set("sqlstate", Value.string(e.sqlstate));
  if (e.number != 0) o.set("number", Value.int(e.number));
  return tell(o.toString());
}

function header(m: Message, name: string): string {
  const value = m.header(name);
  return value == null ? "" : value;
}

function body(m: Message): Uint8Array {
  const payload = m.payload();
  return payload == null ? new Uint8Array(0) : payload;
}

function handle(m: Message): Outcome {
  const command = header(m, "do");
  const why = header(m, "why");
  const ms = m.header("ms");
  if (command == "ack") return Outcome.ack();
  if (command == "retry") return Outcome.retry(why);
  if (command == "retry_after") return ms == null ? Outcome.backoff(why) : Outcome.retryAfter(I64.parseInt(ms), why);
  if (command == "drop") return Outcome.drop(why);
  if (command == "dead_letter") return Outcome.deadLetter(why);
  if (command == "snooze") return Outcome.snooze(I64.parseInt(ms!), why);
  if (command == "panic") throw new Error("on purpose");
  if (command == "payload") return tell(m.payloadText());
  if (command == "length") return tell(m.payload()!.length.toString());
  if (command == "header") return tell(m.header(header(m, "name")));
  if (command == "meta") return tell(m.meta().toString());
  if (command == "attempt") return tell(m.attempt.toString());
  if (command == "time_left") return tell(m.timeLeft.toString());
  if (command == "now") return tell(now().toString());
  if (command == "config") return tell(config(header(m, "name")));
  if (command == "greeting") return tell(greeting);
  if (command == "log") {
    const lines = ["a trace", "a debug line", "an info", "a warning", "an error"];
    for (let level = <i32>Level.Trace; level <= <i32>Level.Error; level++) {
      if (logEnabled(level)) log(level, lines[level]);
    }
    return Outcome.ack();
  }
  if (command == "random") return tell(encodeBase64(random(16)));
  if (command == "db") return db(m);
  if (command == "publish") return publishRow(m);
  if (command == "http") return http(m);
  return Outcome.drop("");
}

function db(m: Message): Outcome {
  const bytes = new Uint8Array(2);
  bytes[1] = 255;
  const conn = m.header("pool") == null ? Conn.Tx : Conn.Pool;
  const r = query(conn, header(m, "sql"), [Value.int(4611686018427387905), Value.string("ü\n"), Value.bytes(bytes), Value.bool(true), Value.null()]);
  const error = r.error;
  if (error != null) return tellError(error);
  if (m.header("length") != null) return tell(r.columns[0].length.toString());
  const columns: Value[] = [];
  for (let i = 0; i < r.columns.length; i++) columns.push(Value.string(r.columns[i]));
  return tell(Value.object().set("columns", Value.array(columns)).set("rows", Value.array(r.rows)).set("affected", Value.int(r.affected)).toString());
}

function publishRow(m: Message): Outcome {
  const p = new Publication(body(m));
  const group = m.header("group");
  if (group != null) {
    p.group = group;
    p.partitionKey = "ada";
    p.headers = new Pairs().set("trace", "42").set("quoted", 'a "b"\n\\');
    p.delayMs = 1500;
    p.priority = Value.int(-7);
  }
  if (m.header("row") != null) p.row = Value.object().set("n", Value.int(4611686018427387905)).set("blob", Value.bytes(p.payload));
  const error = publish(header(m, "table"), p);
  return error == null ? Outcome.ack() : tellError(error);
}

function http(m: Message): Outcome {
  const request = new Request(header(m, "url"));
  request.method = "POST";
  request.headers = new Pairs().set("idempotency-key", "7");
  request.body = body(m);
  request.timeoutMs = 250;
  const r = send(request);
  const error = r.error;
  if (error != null) return tellError(error);
  return tell(Value.object().set("status", Value.int(r.status)).set("type", r.headers.get("content-type")).set("body", Value.string(encodeBase64(r.body))).toString());
}

handler(handle);

// Each message says what becomes of it; those that say nothing come to what the call returns.
batchHandler((messages: Message[]): Outcome => {
  for (let i = 0; i < messages.length; i++) {
    if (messages[i].header("do") != null) messages[i].settle(handle(messages[i]));
  }
  return Outcome.retry("");
});
