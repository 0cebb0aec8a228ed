// What is known, and how it is kept true.

import { get } from "./api.js"
import { History } from "./history.js"

const often = 2000
const unseen = 30_000 // while nobody looks
const longest = 30_000

export const state = {
  view: null, // of /api/handlers
  tables: null, // of /api/tables
  countError: "", // why it is not known
  session: { may_change: false, has_token: false, logged_in: false },
  histories: new Map(), // by handler
  failures: 0,
  answered: Date.now(),
  problem: "",
}

let timer = 0
let asking = null
let told = () => {}

// start polls, and calls back whenever there is something new.
export function start(callback) {
  told = callback
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) poll()
  })
  poll()
}

// poll asks what there is, and again later: rarely while nobody looks, and ever more slowly while nobody answers.
function poll() {
  clearTimeout(timer)
  asking ??= update().finally(() => {
    asking = null
    const pause = state.failures > 0 ? Math.min(often * 2 ** state.failures, longest) : often
    timer = setTimeout(poll, document.hidden ? unseen : pause)
  })
  return asking
}

// again asks at once, after something was done.
export async function again() {
  await asking
  await poll()
}

async function update() {
  try {
    const counted = get("/api/tables").then((tables) => ({ tables, error: "" }), (error) => ({ error: error.message }))
    const [view, session] = await Promise.all([get("/api/handlers"), get("/api/session")])
    learn(view, session, await counted)
  } catch (error) {
    if (error.status === 401) {
      location.assign("/login")
      return
    }
    state.failures++
    state.problem = error.message
  }
  told()
}

function learn(view, session, counted) {
  Object.assign(state, { view, session, countError: counted.error, failures: 0, problem: "", answered: Date.now() })
  if (counted.tables) state.tables = counted.tables
  const at = new Date(view.at) / 1000
  for (const handler of view.handlers) {
    if (!state.histories.has(handler.handler)) state.histories.set(handler.handler, new History())
    state.histories.get(handler.handler).add(at, handler)
  }
}
