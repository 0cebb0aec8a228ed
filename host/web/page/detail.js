// One row, whole but for a long payload.

import { get, tablePath } from "./api.js"
import { attribute, el, text } from "./dom.js"
import * as format from "./format.js"
import { asBytes, asJSON, asText, cut } from "./payload.js"
import { state } from "./poll.js"
import { states } from "./rows.js"
import { say } from "./ask.js"

export class Detail {
  constructor(rows) {
    this.rows = rows
    this.dialog = document.getElementById("detail")
  }

  async open(id) {
    let row
    try {
      row = await get(`${tablePath(this.rows.table, "row")}?${new URLSearchParams({ id })}`)
    } catch (error) {
      say(error.message, true)
      return
    }
    this.dialog.replaceChildren(...this.content(row))
    this.dialog.showModal()
    this.dialog.scrollTop = 0
  }

  content(row) {
    const facts = [
      ["State", states[row.state]], ["Group", row.group], ["Came from", row.origin], ["Attempt", row.attempt], ["Priority", row.priority], ["Key", row.partition_key],
      ["Written", time(row.created_at)], ["Due", time(row.retry_after)], ["Lease ends", time(row.locked_until)], ["Processed", time(row.processed_at)],
    ].filter(([, value]) => value !== undefined)
    return [
      el("h2", { id: "detail-title" }, `Row ${row.id}`),
      el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value))))),
      row.error && el("section", {}, el("h3", {}, row.state === "dead" ? "Why it died" : "What failed last"), block(row.error, "Error")),
      row.headers && el("section", {}, el("h3", {}, "Headers"), block(row.headers, "Headers")),
      row.payload_size !== undefined && this.payload(row),
      this.actions(row),
    ].filter(Boolean)
  }

  payload(row) {
    const faces = [["JSON", asJSON(row)], ["Text", asText(row)], ["Bytes", asBytes(row)]].filter(([, words]) => words !== null)
    const panel = block("", "Payload")
    const tabs = faces.map(([name, words]) => el("button", { type: "button", class: "pill", click: () => choose(name, words) }, name))
    const choose = (name, words) => {
      text(panel.firstChild, words)
      tabs.forEach((tab) => attribute(tab, "aria-pressed", tab.textContent === name ? "true" : "false"))
    }
    choose(...faces[0])
    const download = `${tablePath(this.rows.table, "payload")}?${new URLSearchParams({ id: row.id })}`
    return el("section", {},
      el("h3", {}, `Payload, ${format.bytes(row.payload_size)}`),
      el("div", { class: "pills", role: "group", "aria-label": "Payload as" }, tabs, el("a", { class: "pill", href: download, download: "" }, "Download")),
      cut(row) && el("p", { class: "quiet small" }, "This is its beginning."),
      panel)
  }

  actions(row) {
    const { rows, dialog } = this
    const then = (act) => async (event) => {
      const button = event.currentTarget
      dialog.close()
      await act(button)
    }
    const waits = row.state === "due" || row.state === "delayed"
    const may = state.session.may_change
    return el("div", { class: "actions" },
      el("button", { type: "button", click: () => dialog.close() }, "Close"),
      may && row.state === "dead" && el("button", { type: "button", class: "primary", click: then((b) => rows.redrive(b, [row.id])) }, "Redrive"),
      may && waits && el("button", { type: "button", class: "danger", click: then((b) => rows.cancel(b, [row.id])) }, "Cancel row"),
      may && (row.state === "dead" || row.state === "processed") && el("button", { type: "button", class: "danger", click: then((b) => rows.purge(b, row.state, [row.id])) }, "Delete"))
  }
}

function time(iso) {
  return iso && `${format.moment(iso)} (${format.since(iso)})`
}

// block is text that scrolls by itself.
function block(words, name) {
  return el("pre", { tabindex: 0, role: "region", "aria-label": name }, el("code", {}, words))
}
