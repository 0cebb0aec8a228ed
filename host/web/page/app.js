// The page: which view is shown, and what is said above it.

import { attribute, el, show, text } from "./dom.js"
import * as format from "./format.js"
import { HandlersView } from "./handlers.js"
import { start, state } from "./poll.js"
import { RowsView } from "./rows.js"
import { SystemView } from "./system.js"

const views = { handlers: new HandlersView(), rows: new RowsView(), system: new SystemView() }
let current = null

// route shows the view that the address names, as in #/rows/TABLE?state=dead.
function route() {
  const [path, query] = location.hash.replace(/^#\//, "").split("?")
  const [name, ...rest] = path.split("/").map(decodeURIComponent)
  const view = views[name] ?? views.handlers
  const main = document.getElementById("main")
  if (view !== current) {
    main.replaceChildren(view.element)
    for (const link of document.querySelectorAll("nav a")) {
      attribute(link, "aria-current", views[link.hash.slice(2)] === view ? "page" : null)
    }
    if (current) main.focus({ preventScroll: true })
    current = view
    scrollTo(0, 0)
  }
  view.open(rest, new URLSearchParams(query))
}

// tell says how things are, and of when that is.
function tell() {
  const old = (Date.now() - state.answered) / 1000
  const stale = state.failures > 0 && old > 5
  const notice = document.getElementById("stale")
  show(notice, stale)
  text(notice, stale ? `Out of date: ${state.problem}. What is shown was true ${format.seconds(Math.round(old))} ago; it is being tried again.` : "")
  attribute(document.body, "data-stale", stale)
  text(document.getElementById("age"), !state.view ? "" : old < 4 ? "live" : `${format.seconds(Math.round(old))} ago`)
  const [words, kind] = condition(stale)
  const chip = document.getElementById("readiness")
  text(chip, words)
  attribute(chip, "class", `chip ${kind}`)
  document.title = kind === "good" ? "inbox-wasm" : `${words} – inbox-wasm`
  who()
}

function condition(stale) {
  if (!state.view) return [state.failures > 0 ? "Not reached" : "Connecting", state.failures > 0 ? "bad" : ""]
  if (stale) return ["Out of date", "warn"]
  return state.view.ready ? ["Ready", "good"] : ["Not ready", "bad"]
}

// who offers to log in, or out.
function who() {
  const place = document.getElementById("who")
  const kind = !state.session.has_token ? "none" : state.session.logged_in ? "out" : "in"
  if (place.dataset.kind === kind) return
  place.dataset.kind = kind
  place.replaceChildren()
  if (kind === "in") place.append(el("a", { href: "/login" }, "Log in to act"))
  if (kind === "out") place.append(el("form", { method: "post", action: "/logout" }, el("button", { class: "plain" }, "Log out")))
}

addEventListener("hashchange", route)
setInterval(tell, 1000)
route()
start(() => {
  tell()
  current.update()
})
