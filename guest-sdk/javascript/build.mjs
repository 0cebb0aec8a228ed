#!/usr/bin/env node
// Builds a handler: bundles its script, has the engine load it, and writes the engine with its memory as it is then.
//
//   inbox-wasm-build handler.js -o build/handler.wasm

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import binaryen from "binaryen";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

/** What the engine has beyond ECMAScript 2020. */
const supported = Object.fromEntries(
  ["field", "private-accessor", "private-field", "private-method", "static-field", "private-static-accessor", "private-static-field", "private-static-method"].map((f) => [`class-${f}`, true]),
);

/** One script of the handler and all that it imports, with what the engine calls. Says what the handler exports, too. */
async function bundle(file) {
  const options = { bundle: true, write: false, target: "es2020", supported, platform: "neutral", mainFields: ["module", "main"], logLevel: "silent", metafile: true, alias: { "inbox-wasm": `${here}/index.js` } };
  const shape = await build({ ...options, entryPoints: [file], format: "esm" });
  const { exports } = Object.values(shape.metafile.outputs)[0];
  const entry = `import * as handler from ${JSON.stringify(resolve(file))};
    import { handlerOf, install } from ${JSON.stringify(`${here}/run.js`)};
    install(globalThis);
    globalThis.inbox_handler = handlerOf(handler);`;
  const stdin = { contents: entry, resolveDir: dirname(resolve(file)), sourcefile: "inbox-wasm" };
  const { outputFiles } = await build({ ...options, stdin, format: "iife" });
  return { script: outputFiles[0].text, exports };
}

/** The engine's memory once it has loaded the script. */
async function loaded(engine, script) {
  let memory;
  const read = (ptr, length) => Buffer.from(memory.buffer, ptr, length).toString();
  let reason = "";
  const host = {
    reason: (ptr, length) => ((reason = read(ptr, length)), 0),
    log: (_level, ptr, length) => (console.error(read(ptr, length)), 0),
    log_enabled: () => 1,
    random: (ptr, length) => (crypto.getRandomValues(new Uint8Array(memory.buffer, ptr, length)), 0),
    now_ms: () => BigInt(Date.now()),
    deadline_ms: () => 0n,
  };
  const wasi = {
    clock_time_get: (_id, _precision, ptr) => (new DataView(memory.buffer).setBigUint64(ptr, BigInt(Date.now()) * 1000000n, true), 0),
  };
  const early = (name) => () => {
    throw new Error(`${name} is asked at the script's top level, which runs once, when the module is built: ask in init() or handle()`);
  };
  for (const name of ["payload", "header", "meta", "config", "db", "publish", "http"]) host[name] = early(name);
  // There is no message yet, and nothing is allowed.
  const stub = (functions, answer) => new Proxy(functions, { get: (target, name) => target[name] ?? (() => answer) });
  const { instance } = await WebAssembly.instantiate(engine, { inbox_v1: stub(host, -3), wasi_snapshot_preview1: stub(wasi, 8) });
  const { _initialize, inbox_build_room, inbox_build_load } = instance.exports;
  memory = instance.exports.memory;
  _initialize();
  const bytes = Buffer.from(script);
  const at = inbox_build_room(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, at);
  try {
    inbox_build_load(at, bytes.length);
  } catch (error) {
    throw new Error(reason || error.message);
  }
  return new Uint8Array(memory.buffer);
}

/** The parts of a memory that are not all zeros. */
function segments(memory) {
  const list = [];
  const block = 256;
  let from = -1;
  for (let at = 0; at <= memory.length; at += block) {
    const used = memory.subarray(at, at + block).some((b) => b !== 0);
    if (used && from < 0) from = at;
    if (!used && from >= 0) {
      list.push({ from, data: memory.slice(from, at) });
      from = -1;
    }
  }
  return list;
}

/** Functions that a handler has to be allowed: a module imports those that its script names. */
const granted = ["db", "publish", "http"];

function snapshot(engine, memory, script, exports) {
  const module = binaryen.readBinary(engine);
  module.setMemory(
    memory.length / 65536,
    -1,
    null,
    segments(memory).map(({ from, data }) => ({ offset: module.i32.const(from), data, passive: false })),
  );
  for (const name of ["_initialize", "inbox_build_room", "inbox_build_load", exports.includes("handle") ? "" : "inbox_handle", exports.includes("handleBatch") ? "" : "inbox_handle_batch"]) {
    if (name) module.removeExport(name);
  }
  for (let i = module.getNumFunctions() - 1; i >= 0; i--) {
    const f = binaryen.getFunctionInfo(module.getFunctionByIndex(i));
    if (f.module !== "inbox_v1" || !granted.includes(f.base) || script.includes(`inbox_v1.${f.base}(`)) continue;
    module.removeFunction(f.name);
    module.addFunction(f.name, f.params, f.results, [], module.unreachable());
  }
  return module.emitBinary();
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { output: { type: "string", short: "o" } } });
if (positionals.length !== 1 || !values.output) {
  console.error("usage: inbox-wasm-build HANDLER.js -o MODULE.wasm");
  process.exit(2);
}
try {
  const { script, exports } = await bundle(positionals[0]);
  if (!exports.includes("handle") && !exports.includes("handleBatch")) {
    throw new Error(`${positionals[0]} exports neither handle nor handleBatch`);
  }
  const engine = await readFile(`${here}/engine.wasm`);
  const memory = await loaded(engine, script);
  await mkdir(dirname(resolve(values.output)), { recursive: true });
  await writeFile(values.output, snapshot(engine, memory, script, exports));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
