// The rows of a table, and what can be done with them.

import { get, post, tablePath } from "./api.js"
import { again, state } from "./poll.js"
import { ask, attempt } from "./ask.js"
import { Detail } from "./detail.js"
import { attribute, el, keyed, show, text } from "./dom.js"
import * as format from "./format.js"
import { peek } from "./payload.js"
import { Warning } from "./system.js"

const page = 50
const often = 5000

export const states = { due: "Due", delayed: "Delayed", in_work: "In work", dead: "Dead", processed: "Processed" }
const kinds = { due: "", delayed: "", in_work: "good", dead: "bad", processed: "quiet" }

export class RowsView {
  constructor() {
    this.tables = el("div", { class: "pills", role: "group", "aria-label": "Table" })
    this.states = el("div", { class: "pills", role: "group", "aria-label": "State" })
    this.group = el("select", { id: "group", change: () => this.go({ group: this.group.value }) })
    this.groupField = el("div", { class: "field" }, el("label", { for: "group" }, "Group"), this.group)
    this.id = el("input", { id: "id", type: "search", autocomplete: "off", spellcheck: "false", placeholder: "any" })
    this.find = el("form", { class: "field", submit: (e) => { e.preventDefault(); this.go({ id: this.id.value.trim() }) } },
      el("label", { for: "id" }, "Row id"), el("span", { class: "joined" }, this.id, el("button", {}, "Find")))
    this.warnings = el("div", { class: "warnings" })
    this.counted = el("p", { class: "quiet small" })
    this.problem = el("p", { class: "notice bad", role: "alert", hidden: true })
    this.head = el("p", { class: "quiet small" })
    this.bulk = new Bulk(this)
    this.all = el("input", { type: "checkbox", id: "all", change: () => this.selectAll(this.all.checked) })
    this.allField = el("label", { class: "all", for: "all" }, this.all, " All that are shown")
    this.list = el("ul", { class: "rows", "aria-label": "Rows" })
    this.newer = el("button", { type: "button", click: () => this.go({ offset: Math.max(0, this.offset - page) }, true) }, "Back")
    this.older = el("button", { type: "button", click: () => this.go({ offset: this.offset + page }, true) }, "More")
    this.element = el("section", { "aria-label": "Rows" },
      el("h1", { class: "hidden" }, "Rows"),
      this.tables, this.states,
      el("div", { class: "filters" }, this.groupField, this.find),
      this.warnings, this.counted, this.problem, this.bulk.element,
      el("div", { class: "listhead" }, this.allField, this.head),
      this.list, el("div", { class: "actions" }, this.newer, this.older))
    this.detail = new Detail(this)
    this.selected = new Set()
    this.rows = []
    this.asked = 0 // tells answers apart that overtake each other
    this.due = 0 // when the list is asked for again
  }

  // open shows what the address asks for.
  open([table], query) {
    const wanted = JSON.stringify([table, query.toString()])
    if (wanted === this.wanted) return this.update()
    this.wanted = wanted
    this.table = table
    this.state = query.get("state") ?? ""
    this.inGroup = query.has("group") ? query.get("group") : null
    this.key = query.get("id") ?? ""
    this.offset = Number(query.get("offset") ?? 0)
    this.id.value = this.key
    this.selected.clear()
    this.rows = []
    this.loaded = false
    this.due = 0
    this.update()
  }

  // go changes what is asked for, in the address, so that the way back leads back.
  go(change, turned) {
    const next = { table: this.table, state: this.state, group: this.inGroup ?? "", id: this.key, offset: turned ? this.offset : 0, ...change }
    if (change.table) Object.assign(next, { state: "", group: "", id: "" })
    const query = new URLSearchParams()
    for (const name of ["state", "group", "id"]) if (next[name]) query.set(name, next[name])
    if (next.offset > 0) query.set("offset", next.offset)
    location.hash = `#/rows/${encodeURIComponent(next.table)}${query.size > 0 ? `?${query}` : ""}`
  }

  update() {
    const tables = state.tables?.tables ?? []
    if (!this.table && tables.length > 0) this.table = tables[0].table
    this.stats = tables.find((t) => t.table === this.table)
    keyed(this.tables, tables, (t) => t.table, (t) => new Pill(() => this.go({ table: t.table })))
    tables.forEach((t) => this.tables.parts.get(t.table).show(t.table, null, t.table === this.table))
    this.updateStates()
    this.updateGroups()
    keyed(this.warnings, this.stats?.missing_indexes ?? [], (sql) => sql, (sql) => new Warning({ key: this.table, what: "has no index in its claim order, so that claims and these lists read all of it. Create it:", remedy: sql }))
    text(this.counted, state.countError ? `The rows cannot be counted: ${state.countError}` : state.tables ? `Counted ${format.since(state.tables.at)}` : "")
    this.draw()
    if (this.table && Date.now() >= this.due && !(this.selected.size > 0)) this.load()
  }

  updateStates() {
    const groups = (this.stats?.groups ?? []).filter((g) => this.inGroup === null || g.group === this.inGroup)
    const sum = (name) => groups.reduce((n, g) => n + g[name], 0)
    keyed(this.states, ["", ...Object.keys(states)], (s) => s, (s) => new Pill(() => this.go({ state: s })))
    for (const [s, pill] of this.states.parts) {
      const n = !this.stats || s === "" || (s === "in_work" && !this.stats.in_work_known) ? null : sum(s)
      pill.show(states[s] ?? "Every state", n, s === this.state, s === "dead" && n > 0)
    }
  }

  updateGroups() {
    const names = (this.stats?.groups ?? []).map((g) => g.group).filter((g) => g !== null)
    if (this.inGroup !== null && !names.includes(this.inGroup)) names.push(this.inGroup)
    show(this.groupField, names.length > 0)
    const options = ["", ...names]
    if (JSON.stringify(options) !== this.options) {
      this.options = JSON.stringify(options)
      this.group.replaceChildren(...options.map((name) => el("option", { value: name }, name || "Every group")))
    }
    if (document.activeElement !== this.group) this.group.value = this.inGroup ?? ""
  }

  // load asks for the list. What takes long is asked for less often.
  async load() {
    this.due = Infinity
    const asked = ++this.asked
    const query = new URLSearchParams({ limit: page, offset: this.offset })
    if (this.state) query.set("state", this.state)
    if (this.inGroup !== null) query.set("group", this.inGroup)
    if (this.key) query.set("id", this.key)
    const began = Date.now()
    let problem = ""
    try {
      const answer = await get(`${tablePath(this.table, "rows")}?${query}`)
      if (asked !== this.asked) return
      this.rows = answer.rows
      this.more = answer.more
      this.at = new Date().toISOString()
      this.loaded = true
    } catch (error) {
      if (asked !== this.asked) return
      problem = error.message
      this.rows = []
      this.loaded = false
    }
    this.due = Date.now() + Math.max(often, 20 * (Date.now() - began))
    show(this.problem, problem !== "")
    text(this.problem, problem)
    this.draw()
  }

  draw() {
    const may = state.session.may_change
    keyed(this.list, this.rows, (r) => r.id, () => new Row(this))
    show(this.allField, may && this.rows.length > 0)
    this.all.checked = this.rows.length > 0 && this.rows.every((r) => this.selected.has(r.id))
    this.all.indeterminate = !this.all.checked && this.selected.size > 0
    const range = this.rows.length > 0 ? `Rows ${format.count(this.offset + 1)} to ${format.count(this.offset + this.rows.length)} in claim order, as of ${this.at ? format.moment(this.at) : ""}` : ""
    text(this.head, !this.loaded ? "" : range || "There is no such row.")
    show(this.newer, this.offset > 0)
    show(this.older, this.more === true && this.rows.length > 0)
    this.bulk.update()
  }

  select(id, yes) {
    if (yes) this.selected.add(id)
    else this.selected.delete(id)
    this.draw()
  }

  selectAll(yes) {
    this.selected = new Set(yes ? this.rows.map((r) => r.id) : [])
    this.draw()
  }

  // changed has the list and the counts follow what was done.
  async changed() {
    this.selected.clear()
    await Promise.all([this.load(), again()])
  }

  // redrive moves dead letters back, after saying which.
  redrive(button, ids) {
    return attempt(button, async () => {
      const what = ids ? { ids } : { group: this.inGroup ?? undefined }
      const plan = await post(tablePath(this.table, "redrive"), { ...what, plan: true })
      if (plan.rows === 0) return "There is nothing to move."
      const lines = plan.moves.filter((m) => m.rows > 0).map((m) => `${format.plural(m.rows, "row")} from ${m.from} to ${m.to}`)
      if (!(await ask(`Move ${format.plural(plan.rows, "dead letter")} back?`, [...lines, "They are due at once, on their first attempt."], "Move back", false))) return ""
      const done = await post(tablePath(this.table, "redrive"), what)
      await this.changed()
      return `${format.plural(done.rows, "dead letter")} moved back.`
    })
  }

  // purge deletes dead or processed rows, after saying how many.
  purge(button, kind, ids) {
    return attempt(button, async () => {
      const what = ids ? { state: kind, ids } : { state: kind, group: this.inGroup ?? undefined }
      const plan = await post(tablePath(this.table, "purge"), { ...what, plan: true })
      if (plan.rows === 0) return "There is nothing to delete."
      if (!(await ask(`Delete ${format.plural(plan.rows, `${kind} row`)}?`, ["They are gone for good."], "Delete", true))) return ""
      const done = await post(tablePath(this.table, "purge"), what)
      await this.changed()
      return `${format.plural(done.rows, "row")} deleted.`
    })
  }

  // cancel finishes waiting rows without their handler.
  cancel(button, ids) {
    return attempt(button, async () => {
      if (!(await ask(`Cancel ${format.plural(ids.length, "row")}?`, ["They are finished without being handled, as if their handler had dropped them. Rows that have been started since are left alone."], "Cancel them", true))) return ""
      const done = await post(tablePath(this.table, "cancel"), { ids })
      await this.changed()
      return `${format.plural(done.rows, "row")} cancelled.`
    })
  }
}

// Pill is one of several choices, with the number of its rows.
class Pill {
  constructor(choose) {
    this.name = el("span")
    this.count = el("span", { class: "n" })
    this.element = el("button", { type: "button", class: "pill", click: choose }, this.name, this.count)
  }

  show(name, n, chosen, alarm) {
    text(this.name, name)
    text(this.count, n === null ? "" : format.count(n))
    attribute(this.element, "aria-pressed", chosen ? "true" : "false")
    attribute(this.element, "data-alarm", alarm)
  }

  update() {}
}

// Bulk is what can be done with several rows: those that are selected, or all dead or processed ones.
class Bulk {
  constructor(view) {
    this.view = view
    this.words = el("span")
    this.redrive = el("button", { type: "button", click: () => view.redrive(this.redrive, this.ids("dead")) })
    this.purge = el("button", { type: "button", class: "danger", click: () => view.purge(this.purge, this.kind, this.ids(this.kind)) })
    this.cancel = el("button", { type: "button", class: "danger", click: () => view.cancel(this.cancel, this.ids("waiting")) })
    this.element = el("div", { class: "bulk" }, this.words, this.redrive, this.cancel, this.purge)
  }

  // ids are the selected rows in a state, null where none is selected.
  ids(kind) {
    const { rows, selected } = this.view
    if (selected.size === 0) return null
    const fits = (r) => (kind === "waiting" ? r.state === "due" || r.state === "delayed" : r.state === kind)
    return rows.filter((r) => selected.has(r.id) && fits(r)).map((r) => r.id)
  }

  update() {
    const { view } = this
    const some = view.selected.size > 0
    const n = (kind) => (some ? this.ids(kind).length : 0)
    const [dead, processed, waiting] = [n("dead"), n("processed"), n("waiting")]
    const all = !some && view.rows.length > 0
    this.kind = some ? (dead > 0 ? "dead" : "processed") : view.state
    show(this.redrive, some ? dead > 0 : all && view.state === "dead" && !view.key)
    text(this.redrive, some ? `Redrive ${dead}` : "Redrive all …")
    show(this.purge, some ? dead + processed > 0 : all && (view.state === "dead" || view.state === "processed") && !view.key)
    text(this.purge, some ? `Delete ${dead > 0 ? dead : processed}` : "Delete all …")
    show(this.cancel, waiting > 0)
    text(this.cancel, `Cancel ${waiting}`)
    text(this.words, some ? `${format.plural(view.selected.size, "row")} selected` : "")
    show(this.element, state.session.may_change && [this.redrive, this.purge, this.cancel].some((b) => !b.hidden) || some)
  }
}

// Row is a row in the list.
class Row {
  constructor(view) {
    this.view = view
    this.check = el("input", { type: "checkbox", change: () => view.select(this.row.id, this.check.checked) })
    this.id = el("button", { type: "button", class: "link id", click: () => view.detail.open(this.row.id) })
    this.state = el("span", { class: "chip" })
    this.facts = el("span", { class: "quiet small facts" })
    this.error = el("p", { class: "error" })
    this.payload = el("p", { class: "payload" })
    this.element = el("li", { class: "row" }, this.check,
      el("div", { class: "what" }, el("p", { class: "line" }, this.id, this.state, this.facts), this.error, this.payload))
  }

  update(row) {
    this.row = row
    show(this.check, state.session.may_change)
    attribute(this.check, "aria-label", `Select row ${row.id}`)
    this.check.checked = this.view.selected.has(row.id)
    text(this.id, row.id)
    attribute(this.id, "aria-label", `Look at row ${row.id}`)
    text(this.state, states[row.state])
    attribute(this.state, "class", `chip ${kinds[row.state]}`)
    text(this.facts, factsOf(row).join(" · "))
    show(this.error, Boolean(row.error))
    text(this.error, row.error ?? "")
    const words = peek(row)
    show(this.payload, words !== "")
    text(this.payload, words)
  }
}

function factsOf(row) {
  const facts = []
  if (row.group !== undefined) facts.push(row.group)
  if (row.attempt !== undefined) facts.push(`attempt ${row.attempt}`)
  if (row.priority !== undefined) facts.push(`priority ${row.priority}`)
  if (row.state === "delayed" && row.retry_after) facts.push(`due ${format.since(row.retry_after)}`)
  if (row.state === "in_work" && row.locked_until) facts.push(`lease ends ${format.since(row.locked_until)}`)
  if (row.state === "processed" && row.processed_at) facts.push(`processed ${format.since(row.processed_at)}`)
  if (row.created_at) facts.push(`written ${format.since(row.created_at)}`)
  if (row.payload_size !== undefined) facts.push(format.bytes(row.payload_size))
  return facts
}
