// A handler for an inbox of GitHub webhooks: it accepts what is signed and well formed, and puts aside, with the reason,
// what is not.

import { Outcome, config, encodeText, hmacSha256 } from "inbox-wasm";

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** What an event has to have: fields behind dots, those that are whole numbers with a #. */
const required = {
  ping: ["#hook_id"],
  push: ["ref", "after", "repository.full_name"],
  issues: ["action", "#issue.number", "repository.full_name"],
  pull_request: ["action", "#number", "repository.full_name"],
  deployment: ["action", "#deployment.id", "repository.full_name"],
};

// Settings, read once when the instance starts.
let key;
let notReady;
let retryDelay;

export function init() {
  const secret = config("secret");
  if (!secret) throw new Error("config: secret is missing: set it to the webhook's secret");
  key = encodeText(secret);
  notReady = (config("not_ready") ?? "").split(",").map((name) => name.trim());
  retryDelay = duration(config("retry_delay") ?? "1h");
  if (!(retryDelay > 0)) throw new Error("config: retry_delay is no duration: write a positive one such as 1h");
}

/** A duration such as 90s or 1h, in milliseconds. */
function duration(text) {
  const [, digits, unit] = /^([0-9]+)(ms|s|m|h)$/.exec(text) ?? [];
  return Number(digits) * units[unit];
}

/** Why the signature is not that of the body. It compares in constant time. */
function forged(body, signature) {
  if (!signature) return "X-Hub-Signature-256 is missing";
  if (!signature.startsWith("sha256=")) return "X-Hub-Signature-256 does not start with sha256=";
  const digits = signature.slice(7);
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) return "X-Hub-Signature-256 is not 64 hexadecimal digits";
  const different = hmacSha256(key, body).reduce((all, byte, i) => all | (byte ^ parseInt(digits.slice(2 * i, 2 * i + 2), 16)), 0);
  return different === 0 ? undefined : "X-Hub-Signature-256 is not the signature of this body";
}

function has(event, field) {
  const number = field.startsWith("#");
  const value = field.replace("#", "").split(".").reduce((of, name) => of?.[name], event);
  return number ? Number.isInteger(value) && value !== 0 : typeof value === "string" && value !== "";
}

const malformed = (why) => Outcome.deadLetter(`malformed: ${why}`);

// Nothing is trusted before the signature is checked, and the body is read before it is seen whether the event can be
// taken: a broken event should not wait for an hour first.
export function handle(m) {
  const body = m.bytes() ?? new Uint8Array();
  const why = forged(body, m.header("X-Hub-Signature-256"));
  if (why !== undefined) return Outcome.deadLetter(`forged: ${why}`);
  const name = m.header("X-GitHub-Event");
  if (!name) return malformed("X-GitHub-Event is missing");
  if (!Object.hasOwnProperty.call(required, name)) return Outcome.drop(`nothing here handles this type of event: ${name}`);
  if (body.length === 0) return malformed(`the body of the ${name} event is empty`);
  let event;
  try {
    event = m.json();
  } catch {
    return malformed(`the body of the ${name} event is no JSON`);
  }
  const missing = required[name].find((field) => !has(event, field));
  if (missing !== undefined) return malformed(`the body of the ${name} event has no ${missing.replace("#", "")}`);
  if (notReady.includes(name)) return Outcome.retryAfter(retryDelay, `${name} events are not taken yet`);
}
