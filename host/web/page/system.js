// What the process is made of, and what it complains about.

import { post } from "./api.js"
import { again, state } from "./poll.js"
import { attempt, say } from "./ask.js"
import { attribute, el, keyed, show, text } from "./dom.js"
import * as format from "./format.js"

export class SystemView {
  constructor() {
    this.readiness = el("p")
    this.reasons = el("ul", { class: "reasons" })
    this.reloadButton = el("button", { type: "button", click: () => this.reload() }, "Reload inbox.toml")
    this.about = el("p", { class: "quiet" })
    this.noWarnings = el("p", { class: "quiet" }, "None.")
    this.warnings = el("div", { class: "warnings" })
    this.modules = el("div", { class: "modules" })
    this.element = el("section", { "aria-label": "System" },
      el("h1", { class: "hidden" }, "System"),
      el("section", { class: "card" }, el("h2", {}, "Readiness"), this.readiness, this.reasons, this.about, this.reloadButton),
      el("section", { class: "card" }, el("h2", {}, "Warnings"), this.noWarnings, this.warnings),
      el("section", { class: "card" }, el("h2", {}, "Modules"), this.modules))
  }

  open() {
    this.update()
  }

  update() {
    const view = state.view
    if (!view) return
    text(this.readiness, view.ready ? "Every handler does its work." : "Not ready, for these reasons:")
    keyed(this.reasons, view.reasons, (r) => `${r.handler} ${r.what}`, (r) => line(r.handler ? `${r.handler}: ${r.what}` : r.what))
    text(this.about, `Version ${view.version} on ${view.database}`)
    show(this.reloadButton, state.session.may_change)
    const warnings = warningsOf(view)
    show(this.noWarnings, warnings.length === 0)
    keyed(this.warnings, warnings, (w) => `${w.key} ${w.what} ${w.remedy}`, (w) => new Warning(w))
    keyed(this.modules, view.handlers, (h) => h.handler, () => new Module())
  }

  reload() {
    attempt(this.reloadButton, async () => {
      const what = await post("/api/reload")
      await again()
      const parts = ["changed", "added", "removed"].filter((k) => what[k].length > 0).map((k) => `${k}: ${what[k].join(", ")}`)
      return `Reloaded. ${parts.length > 0 ? parts.join("; ") : "Nothing has changed"}.`
    })
  }
}

// warningsOf are those of the start, and the indexes that the tables lack.
function warningsOf(view) {
  const known = new Set(view.warnings.map((w) => w.remedy))
  const indexes = (state.tables?.tables ?? []).flatMap((t) => (t.missing_indexes ?? []).map((sql) => ({ key: `tables.${t.table}`, what: "has no index in its claim order", remedy: sql })))
  return [...view.warnings, ...indexes.filter((w) => !known.has(w.remedy))]
}

function line(words) {
  return { element: el("li", {}, words), update() {} }
}

export class Warning {
  constructor(warning) {
    const sql = warning.remedy?.startsWith("CREATE ")
    this.element = el("div", { class: "warning" },
      el("p", {}, el("strong", {}, warning.key), ` ${warning.what}`),
      warning.remedy && (sql ? statement(warning.remedy) : el("p", { class: "quiet" }, warning.remedy)))
  }

  update() {}
}

// statement is SQL to be copied.
function statement(sql) {
  const button = el("button", { type: "button", click: async () => {
    try {
      await navigator.clipboard.writeText(sql)
      say("Copied.", false)
    } catch {
      getSelection().selectAllChildren(code)
      say("Selected: copy it with the keyboard.", false)
    }
  } }, "Copy")
  const code = el("code", {}, sql)
  return el("div", { class: "statement" }, el("pre", { tabindex: 0, "aria-label": "SQL statement" }, code), button)
}

class Module {
  constructor() {
    this.name = el("h3")
    this.list = el("dl")
    this.values = {}
    for (const [key, label] of [["path", "File"], ["hash", "SHA-256"], ["size", "Size"], ["abi", "ABI"], ["memory", "Memory"], ["compiled", "Compiled in"], ["loaded", "Loaded"]]) {
      this.values[key] = el("dd", { class: key })
      this.list.append(el("div", {}, el("dt", {}, label), this.values[key]))
    }
    this.element = el("article", { class: "module" }, this.name, this.list)
  }

  update(handler) {
    const m = handler.module
    text(this.name, handler.handler)
    text(this.values.path, m.path)
    text(this.values.hash, m.sha256)
    text(this.values.size, format.bytes(m.bytes))
    text(this.values.abi, m.abi)
    text(this.values.memory, `${handler.memory_bytes > 0 ? format.bytes(handler.memory_bytes) : "–"} of ${format.bytes(m.memory_limit_bytes)}`)
    text(this.values.compiled, format.seconds(m.compile_seconds))
    text(this.values.loaded, `${format.moment(m.loaded)} (${format.since(m.loaded)})`)
    attribute(this.element, "aria-label", `Module of ${handler.handler}`)
  }
}
