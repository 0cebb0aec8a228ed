// Questions before something is done, and what came of it.

import { el, text } from "./dom.js"

// ask shows a question with what would happen, and resolves to whether it was agreed to. Nothing is what the focus and
// the Escape key lead to.
export function ask(title, lines, action, danger) {
  const dialog = document.getElementById("ask")
  return new Promise((resolve) => {
    const yes = el("button", { type: "button", class: danger ? "danger" : "primary", click: () => dialog.close("yes") }, action)
    const no = el("button", { type: "button", autofocus: true, click: () => dialog.close("no") }, "Leave it")
    dialog.replaceChildren(
      el("h2", { id: "ask-title" }, title),
      ...lines.map((line) => el("p", {}, line)),
      el("div", { class: "actions" }, no, yes),
    )
    dialog.returnValue = "no"
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true })
    dialog.showModal()
  })
}

let clearing = 0

// say tells what was done, or why it was not, for as long as it takes to read it.
export function say(message, bad) {
  const toast = document.getElementById("toast")
  clearTimeout(clearing)
  text(toast, message)
  toast.className = `toast shown ${bad ? "bad" : ""}`
  clearing = setTimeout(() => {
    toast.className = "toast"
    text(toast, "")
  }, bad ? 15_000 : 6000)
}

// attempt does something with its button switched off, and says what comes of it.
export async function attempt(button, work) {
  button?.setAttribute("aria-busy", "true")
  if (button) button.disabled = true
  try {
    const message = await work()
    if (message) say(message, false)
  } catch (error) {
    say(error.message, true)
  } finally {
    button?.removeAttribute("aria-busy")
    if (button) button.disabled = false
  }
}
