// What JavaScript can do that other languages cannot, and TypeScript: see ../javascript_test.go.

import { type Message, Outcome } from "inbox-wasm";

const known = new WeakMap<object, number>();
const atBuild = Math.random();

class Secret {
  #value = 7;
  get value() {
    return this.#value;
  }
}

function deep(n: number): number {
  return 1 + deep(n + 1);
}

const edges: Record<string, (m: Message) => Outcome | void | Promise<Outcome | void>> = {
  thrown: () => {
    throw Outcome.deadLetter("thrown");
  },
  rejected: async () => {
    await Promise.resolve();
    throw Outcome.deadLetter("rejected");
  },
  lost: () => {
    (async () => {
      await Promise.resolve();
      throw new Error("nobody sees it");
    })();
  },
  found: async () => {
    const late = Promise.reject(new Error("late"));
    await Promise.resolve();
    await late.catch((e) => {
      throw Outcome.deadLetter(e.message);
    });
  },
  endless: () => Outcome.snooze(Infinity, "at the end of days"),
  noDelay: () => Outcome.retryAfter("soon" as unknown as number),
  waits: () => new Promise(() => {}),
  waitsInTurn: async () => {
    let sum = 0;
    for (let i = 0; i < 1000; i++) sum += await Promise.resolve(i);
    return Outcome.deadLetter(String(sum));
  },
  recurses: () => void deep(0),
  survives: () => {
    try {
      deep(0);
    } catch (e) {
      return Outcome.deadLetter((e as Error).message);
    }
  },
  fills: () => {
    const all: Uint8Array[] = [];
    for (;;) all.push(new Uint8Array(1 << 20).fill(1));
  },
  loops: () => {
    for (;;);
  },
  returnsNonsense: () => "ack" as unknown as Outcome,
  random: () => Outcome.deadLetter(`${Math.random()}`),
  randomAtBuild: () => Outcome.deadLetter(`${atBuild}`),
  time: () => Outcome.deadLetter(`${Date.now()}`),
  modern: () => {
    const object = { a: { b: null as number | null } };
    object.a.b ??= Number(2n ** 10n) + new Secret().value;
    return Outcome.deadLetter(`${object?.a?.b} ${[..."añ🦀"].length} ${"x".padStart(3, "-")} ${/(?<year>[0-9]{4})/u.exec("in 2026")?.groups?.year}`);
  },
  logs: () => {
    const self: { self?: object } = {};
    self.self = self;
    console.warn("three", 3, { n: [1n] }, self);
  },
  global: () => {
    const g = globalThis as unknown as { calls?: number };
    return Outcome.deadLetter(`${(g.calls = (g.calls ?? 0) + 1)}`);
  },
};

export function handle(m: Message) {
  known.set({}, 1);
  return edges[m.header("do")!](m);
}
