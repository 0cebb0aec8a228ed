// Every handler: what waits, how fast it goes, what fails, how long it takes.

import { handlerPath, post } from "./api.js"
import { again, state } from "./poll.js"
import { attempt } from "./ask.js"
import { Chart } from "./chart.js"
import { attribute, el, keyed, show, text } from "./dom.js"
import * as format from "./format.js"

export class HandlersView {
  constructor() {
    this.list = el("div", { class: "handlers" })
    this.empty = el("p", { class: "quiet" })
    this.element = el("section", { "aria-label": "Handlers" }, el("h1", { class: "hidden" }, "Handlers"), this.empty, this.list)
  }

  open() {
    this.update()
  }

  update() {
    show(this.empty, !state.view)
    text(this.empty, state.problem || "Waiting for the first answer.")
    keyed(this.list, state.view?.handlers ?? [], (h) => h.handler, () => new Card())
  }
}

// figures are what a card charts: each has a large number, a smaller line, and a curve.
const figures = [
  {
    name: "Waiting",
    value: (p) => p.depth,
    format: format.count,
    least: 10,
    large: (h) => (h.depth ? format.count(h.depth.due + h.depth.delayed + h.depth.in_work) : "–"),
    small: (h) => {
      if (!h.depth) return "not counted yet"
      const parts = [`${format.count(h.depth.due)} due`, `${format.count(h.depth.delayed)} delayed`]
      if (h.depth.oldest_age_seconds >= 1) parts.push(`oldest ${format.seconds(Math.round(h.depth.oldest_age_seconds))}`)
      return parts.join(" · ")
    },
  },
  {
    name: "Rate",
    value: (p) => p.rate,
    format: (v) => `${format.rate(v)} a second`,
    least: 1,
    large: (h, p) => format.rate(p.rate),
    unit: "/s",
    small: (h) => `${format.count(h.counts.acked)} acked`,
  },
  {
    name: "Failing",
    value: (p) => p.failing,
    format: format.percent,
    least: 0.1,
    large: (h, p) => format.percent(p.failing),
    small: (h) => `${format.count(h.counts.dead_lettered)} dead letters · ${format.count(h.counts.retried + h.counts.delayed)} again later`,
    alarm: (p) => p.failing !== null && p.failing >= 0.05,
  },
  {
    name: "Time, p95",
    value: (p) => p.p95,
    format: format.seconds,
    least: 0.001,
    large: (h, p) => quantile(h, p.p95),
    small: (h, p) => `p50 ${quantile(h, p.p50)} · p99 ${quantile(h, p.p99)}`,
  },
]

function quantile(h, value) {
  return value === Infinity ? `>${format.seconds(h.duration.buckets.at(-1).le)}` : format.seconds(value)
}

class Card {
  constructor() {
    this.name = el("h2")
    this.where = el("p", { class: "quiet" })
    this.chip = el("span", { class: "chip" })
    this.threads = el("span", { class: "quiet" })
    this.full = el("span")
    this.meter = el("span", { class: "meter", "aria-hidden": "true" }, this.full)
    this.button = el("button", { type: "button", click: () => this.toggle() })
    this.dead = el("a", { class: "chip bad" })
    this.charts = figures.map((figure) => {
      const chart = new Chart(figure.name)
      const large = el("span", { class: "large" })
      const small = el("p", { class: "quiet small" })
      const element = el("div", { class: "figure" }, el("h3", {}, figure.name), el("p", { class: "value" }, large, figure.unit && el("span", { class: "unit" }, figure.unit)), chart.element, small)
      return { figure, chart, large, small, element }
    })
    this.element = el("article", { class: "card handler" },
      el("header", {},
        el("div", {}, this.name, this.where),
        el("p", { class: "busy" }, this.meter, this.threads),
        this.dead, this.chip, this.button),
      el("div", { class: "figures" }, this.charts.map((c) => c.element)))
  }

  update(handler) {
    this.handler = handler
    text(this.name, handler.handler)
    text(this.where, `${handler.table}${handler.group ? ` · group ${handler.group}` : ""} · ${handler.form}`)
    text(this.chip, handler.paused ? "Paused" : "Running")
    attribute(this.chip, "class", `chip ${handler.paused ? "warn" : "good"}`)
    text(this.threads, `${handler.busy} of ${format.plural(handler.threads, "thread")} busy`)
    this.full.style.width = `${(100 * handler.busy) / handler.threads}%`
    text(this.button, handler.paused ? "Resume" : "Pause")
    attribute(this.button, "aria-label", `${handler.paused ? "Resume" : "Pause"} ${handler.handler}`)
    show(this.button, state.session.may_change)
    const dead = handler.depth?.dead ?? 0
    show(this.dead, dead > 0)
    if (dead > 0) {
      text(this.dead, format.plural(dead, "dead letter"))
      const group = handler.dead_letter.group
      attribute(this.dead, "href", `#/rows/${encodeURIComponent(handler.dead_letter.table)}?state=dead${group ? `&group=${encodeURIComponent(group)}` : ""}`)
    }
    const { points, last } = state.histories.get(handler.handler)
    for (const { figure, chart, large, small, element } of this.charts) {
      text(large, figure.large(handler, last))
      text(small, figure.small(handler, last))
      attribute(element, "data-alarm", figure.alarm?.(last))
      chart.draw(points, figure.value, figure.format, figure.least)
    }
  }

  toggle() {
    const { handler, paused } = this.handler
    attempt(this.button, async () => {
      await post(handlerPath(handler, paused ? "resume" : "pause"))
      await again()
      return paused ? `${handler} is resumed.` : `${handler} is paused: running calls finish, and nothing more is claimed.`
    })
  }
}
