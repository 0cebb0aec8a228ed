// What the page asks of the server.

// Refusal is an error that the server has put into words.
export class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

const patience = 15_000

async function ask(path, options, limit = patience) {
  let response
  try {
    response = await fetch(path, { ...options, signal: AbortSignal.timeout(limit), headers: { Accept: "application/json", ...options?.headers } })
  } catch (error) {
    throw new Error(error.name === "TimeoutError" ? "the server does not answer" : "the server is not reached")
  }
  if (response.status === 204) return null
  let answer
  try {
    answer = await response.json()
  } catch {
    throw new Error(`the server answers ${response.status} without JSON`)
  }
  if (!response.ok) throw new Refusal(response.status, answer.error)
  return answer
}

export const get = (path) => ask(path)

// post changes something. Moving many rows takes its time.
export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) }, 600_000)

export const tablePath = (table, what) => `/api/tables/${encodeURIComponent(table)}/${what}`
export const handlerPath = (handler, what) => `/api/handlers/${encodeURIComponent(handler)}/${what}`
