// A handler for an inbox of GitHub webhooks: it accepts what is signed and well formed, and puts aside, with the reason,
// what is not.

import { Kind, Message, Outcome, Value, config, handler, init, parse } from "inbox-wasm";
import { Hmac } from "./sha256";
export { inbox_handle, inbox_init } from "inbox-wasm/single";

// Settings, read once when the instance starts.
let key: Hmac | null = null;
const notReady: string[] = [];
let retryDelay: i64 = 3600 * 1000;

init((): string | null => {
  const secret = config("secret");
  if (secret == null || secret.length == 0) return "config: secret is missing: set it to the webhook's secret";
  key = new Hmac(Uint8Array.wrap(String.UTF8.encode(secret)));

  const list = config("not_ready");
  if (list != null) {
    const names = list.split(",");
    for (let i = 0; i < names.length; i++) if (names[i].trim().length > 0) notReady.push(names[i].trim());
  }

  const delay = config("retry_delay");
  if (delay != null) retryDelay = duration(delay);
  return retryDelay > 0 ? null : "config: retry_delay is no duration: write a positive one such as 1h";
});

/** A duration such as 90s or 1h, in milliseconds; 0 where it is none. */
function duration(text: string): i64 {
  let digits = 0;
  while (digits < text.length && text.charCodeAt(digits) >= 0x30 && text.charCodeAt(digits) <= 0x39) digits++;
  if (digits == 0) return 0;
  const n = I64.parseInt(text.substring(0, digits));
  const unit = text.substring(digits);
  if (unit == "ms") return n;
  if (unit == "s") return n * 1000;
  if (unit == "m") return n * 60000;
  return unit == "h" ? n * 3600000 : 0;
}

function hex(c: i32): i32 {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  if (c >= 0x61 && c <= 0x66) return c - 0x61 + 10;
  return c >= 0x41 && c <= 0x46 ? c - 0x41 + 10 : -1;
}

/** Why the signature is not that of the body, or null. It compares in constant time. */
function forged(body: Uint8Array, signature: string | null): string | null {
  if (signature == null || signature.length == 0) return "X-Hub-Signature-256 is missing";
  if (!signature.startsWith("sha256=")) return "X-Hub-Signature-256 does not start with sha256=";
  const digits = signature.substring(7);
  let good = digits.length == 64;
  for (let i = 0; good && i < 64; i++) good = hex(digits.charCodeAt(i)) >= 0;
  if (!good) return "X-Hub-Signature-256 is not 64 hexadecimal digits";
  const sum = key!.sum(body);
  let different: i32 = 0;
  for (let i = 0; i < 32; i++) different |= sum[i] ^ ((hex(digits.charCodeAt(2 * i)) << 4) | hex(digits.charCodeAt(2 * i + 1)));
  return different == 0 ? null : "X-Hub-Signature-256 is not the signature of this body";
}

/** What an event has to have: fields behind dots, those that are numbers with a #. Null is an unknown event. */
function required(name: string): string[] | null {
  if (name == "ping") return ["#hook_id"];
  if (name == "push") return ["ref", "after", "repository.full_name"];
  if (name == "issues") return ["action", "#issue.number", "repository.full_name"];
  if (name == "pull_request") return ["action", "#number", "repository.full_name"];
  if (name == "deployment") return ["action", "#deployment.id", "repository.full_name"];
  return null;
}

function has(event: Value, field: string): bool {
  const number = field.startsWith("#");
  const parts = (number ? field.substring(1) : field).split(".");
  for (let i = 0; i < parts.length; i++) event = event.get(parts[i]);
  if (number) return event.kind == Kind.Number && event.text.indexOf(".") < 0 && event.asInt() != 0;
  return event.kind == Kind.String && event.text.length > 0;
}

function malformed(why: string): Outcome {
  return Outcome.deadLetter("malformed: " + why);
}

// Nothing is trusted before the signature is checked, and the body is read before it is seen whether the event can be
// taken: a broken event should not wait for an hour first.
handler((m: Message): Outcome => {
  const payload = m.payload();
  const body = payload == null ? new Uint8Array(0) : payload;
  const why = forged(body, m.header("X-Hub-Signature-256"));
  if (why != null) return Outcome.deadLetter("forged: " + why);
  const name = m.header("X-GitHub-Event");
  if (name == null || name.length == 0) return malformed("X-GitHub-Event is missing");
  const fields = required(name);
  if (fields == null) return Outcome.drop("nothing here handles this type of event: " + name);
  if (body.length == 0) return malformed("the body of the " + name + " event is empty");
  const event = parse(String.UTF8.decodeUnsafe(body.dataStart, body.length));
  if (event == null) return malformed("the body of the " + name + " event is no JSON");
  for (let i = 0; i < fields.length; i++) {
    if (!has(event, fields[i])) return malformed("the body of the " + name + " event has no " + fields[i].replace("#", ""));
  }
  if (notReady.includes(name)) return Outcome.retryAfter(retryDelay, name + " events are not taken yet");
  return Outcome.ack();
});
