// What the engine calls: build.mjs puts it around a handler.

import { begin, log, Message, Outcome, random, tell } from "./index.js";

/** What the engine calls of a handler's module. */
export function handlerOf({ handle, handleBatch, init }) {
  let finished; // what a promise came to, as a function that gives the code
  const settled = (value, told = tell, failed = caught) => {
    if (!isPromise(value)) return told(value);
    finished = undefined;
    value.then(
      (outcome) => (finished = () => told(outcome)),
      (error) => (finished = () => failed(error)),
    );
  };
  const caught = (error) => (error instanceof Outcome ? tell(error) : inbox_v1.fail(described(error)));
  const refused = (error) => (inbox_v1.reason(error instanceof Error ? error.message : String(error)), 1);
  return {
    run(count) {
      try {
        if (count < 0) return settled(handle(new Message()));
        begin();
        return settled(handleBatch(Array.from({ length: count }, (_, i) => new Message(i))));
      } catch (error) {
        return caught(error);
      }
    },
    finish() {
      if (finished === undefined) inbox_v1.fail("the handler waits for a promise that nothing keeps");
      return finished();
    },
    /** A promise was rejected that nobody waits for, such as that of a call without await. */
    lost(error) {
      inbox_v1.fail(`${described(error)}\nin a promise that nobody waits for`);
    },
    init() {
      try {
        return settled(init?.(), () => 0, refused);
      } catch (error) {
        return refused(error);
      }
    },
  };
}

const isPromise = (value) => typeof value?.then === "function";

/** An error with where it was thrown. */
function described(error) {
  return error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ""}`.trimEnd() : String(error);
}

/** What scripts expect to find and the engine has not. */
export function install(global) {
  global.console = { log: say(log.info), info: say(log.info), debug: say(log.debug), trace: say(log.trace), warn: say(log.warn), error: say(log.error) };
  // The engine's own numbers would begin alike in every instance.
  Math.random = () => {
    const [a, b] = new Uint32Array(random(8).buffer);
    return ((a >>> 5) * 67108864 + (b >>> 6)) / 9007199254740992;
  };
}

function say(write) {
  return (...values) => write(values.map(shown).join(" "));
}

/** A value for people. It never throws: writing to the log should not fail a message. */
function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return described(value);
  try {
    return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v)) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value); // it holds itself
  }
}
