// Does everything that an operator can do on the page, in a browser, and says what it saw. browser_test.go starts it, with
// a service on tables that have rows in every state, and answers its questions about the database.

import { createInterface } from "node:readline"
import { mkdir, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import assert from "node:assert/strict"
import { chromium } from "playwright-core"

const { url, token, chromium: executablePath, screenshots, audits } = JSON.parse(process.argv[2])
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

// query asks the database, and eventually until the answer is as it should be.
async function query(sql) {
  console.log(JSON.stringify({ sql }))
  const { value } = await answers.next()
  return JSON.parse(value).trim()
}

async function eventually(what, get, want) {
  const end = Date.now() + 15_000
  for (;;) {
    const got = await get()
    if (got === want) return
    if (Date.now() > end) assert.equal(got, want, what)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const step = (name) => console.log(JSON.stringify({ step: name }))

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] })
const wide = { width: 1280, height: 900 }
const context = await browser.newContext({ viewport: wide, reducedMotion: "reduce", acceptDownloads: true })
await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url })
const page = await context.newPage()
page.setDefaultTimeout(15_000)
const complaints = []
const elsewhere = []
page.on("console", (m) => m.type() === "error" && complaints.push(m.text()))
page.on("pageerror", (error) => complaints.push(String(error)))
page.on("request", (r) => new URL(r.url()).origin === url || r.url().startsWith("data:") || elsewhere.push(r.url()))

// look saves pictures and has axe judge, in the light and in the dark, on a phone and on a desk.
async function look(name) {
  if (!audits) return
  await page.evaluate(axe)
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    for (const viewport of [{ width: 360, height: 740 }, wide]) {
      await page.setViewportSize(viewport)
      if (screenshots) {
        await mkdir(screenshots, { recursive: true })
        await page.screenshot({ path: `${screenshots}/${name}-${colorScheme}-${viewport.width}.png` })
      }
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.ok(over <= 0, `${name} is ${over} pixels wider than a screen of ${viewport.width}`)
      const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }))
      const grave = violations.map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`)
      assert.deepEqual(grave, [], `axe on ${name}, ${colorScheme}, ${viewport.width}`)
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" })
  await page.setViewportSize(wide)
}

const button = (name, options) => page.getByRole("button", { name, ...options })
const toast = (words) => page.locator("#toast", { hasText: words }).waitFor()
const ask = page.locator("#ask")
const rows = page.locator("ul.rows > li")

// agree waits for a question and says yes.
async function agree(title, action) {
  await ask.getByRole("heading", { name: title }).waitFor()
  await ask.getByRole("button", { name: action }).click()
}

step("without a login the page is read, and offers nothing that changes anything")
await page.goto(url)
await page.getByRole("heading", { name: "mail" }).waitFor()
assert.equal(await button(/Pause/).count(), 0)
await page.getByRole("link", { name: "Log in to act" }).click()

step("a wrong token is refused, the right one logs in")
await page.getByLabel("Token").fill("not the token of this")
await button("Log in").click()
await page.getByRole("alert").filter({ hasText: "That is not the token" }).waitFor()
await look("login")
await page.getByLabel("Token").fill(token)
await page.keyboard.press("Enter")
await page.getByRole("heading", { name: "mail" }).waitFor()
complaints.length = 0 // the browser's own, about the refusal
assert.equal(await page.evaluate(() => document.cookie), "", "a script can read the cookie")

step("handlers have their figures")
const mail = page.locator("article.handler").filter({ has: page.getByRole("heading", { name: "mail" }) })
await mail.getByText(/^[1-9][\d,]* acked/).waitFor()
await eventually("the rate of what goes on", async () => /^\d/.test(await mail.locator(".figure").nth(1).locator(".large").textContent()), true)
await eventually("the time in the handler", async () => / (µs|ms|s)$/.test(await mail.locator(".figure").nth(3).locator(".large").textContent()), true)
await eventually("what waits", async () => /^\d/.test(await mail.locator(".figure").nth(0).locator(".large").textContent()), true)
const slow = page.locator("article.handler").filter({ has: page.getByRole("heading", { name: "slow" }) })
await slow.getByText("1 of 1 thread busy").waitFor()
await mail.getByRole("link", { name: /3 dead letters/ }).waitFor()
for (let drawn = 0; drawn < (screenshots && audits ? 10 : 1); drawn++) {
  await page.waitForResponse((r) => r.url().endsWith("/api/handlers"))
}
await look("handlers")

step("pause and resume")
await button("Pause idle").click()
await toast("idle is paused")
await page.locator("article.handler").filter({ hasText: "idle" }).getByText("Paused", { exact: true }).waitFor()
assert.match(await (await page.request.get(`${url}/metrics`)).text(), /inbox_wasm_paused\{handler="idle"\} 1/)
await query("INSERT INTO jobs (name, payload) VALUES ('idle', 'ok')")
await page.waitForResponse((r) => r.url().endsWith("/api/handlers"))
await page.waitForResponse((r) => r.url().endsWith("/api/handlers"))
assert.equal(await query("SELECT COUNT(*) FROM jobs WHERE name = 'idle' AND processed_at IS NULL"), "1", "a handler that is paused has taken a row")
await page.getByRole("button", { name: "Resume idle" }).focus()
await page.keyboard.press("Enter")
await toast("idle is resumed")
await eventually("the row is handled", () => query("SELECT COUNT(*) FROM jobs WHERE name = 'idle' AND processed_at IS NULL"), "0")

step("dead letters, with their reason")
await mail.getByRole("link", { name: /dead letters/ }).click()
await page.getByRole("button", { name: /^Dead/, pressed: true }).waitFor()
await rows.nth(2).waitFor()
assert.equal(await rows.count(), 3)
await rows.first().getByText("because").waitFor()

step("one row, in a dialog that the keyboard opens and closes")
await rows.first().getByRole("button", { name: /Look at row/ }).focus()
await page.keyboard.press("Enter")
const detail = page.locator("#detail")
await detail.getByRole("heading", { name: "Why it died" }).waitFor()
await detail.getByText("because").waitFor()
await look("row")
await page.keyboard.press("Escape")
await detail.waitFor({ state: "hidden" })

step("redrive one: no is no, yes is yes")
const first = await rows.first().getByRole("button").textContent()
await rows.first().getByRole("checkbox").check()
await button("Redrive 1").click()
await ask.getByRole("heading", { name: "Move 1 dead letter back?" }).waitFor()
await look("question")
await page.keyboard.press("Escape")
await ask.waitFor({ state: "hidden" })
assert.equal(await query("SELECT COUNT(*) FROM jobs WHERE name = 'failed'"), "3")
await query("UPDATE jobs SET payload = 'ok' WHERE name = 'failed'")
await button("Redrive 1").click()
await agree("Move 1 dead letter back?", "Move back")
await toast("1 dead letter moved back.")
await eventually("the row succeeds", () => query(`SELECT COUNT(*) FROM jobs WHERE id = ${first} AND name = 'mail' AND processed_at IS NOT NULL`), "1")

step("redrive all, and see none left")
await eventually("the list follows", () => rows.count(), 2)
await button("Redrive all …").click()
await agree("Move 2 dead letters back?", "Move back")
await toast("2 dead letters moved back.")
await page.getByText("There is no such row.").waitFor()
await eventually("all of them succeed", () => query("SELECT COUNT(*) FROM jobs WHERE name = 'failed'"), "0")

step("other states, groups and keys")
await page.getByRole("button", { name: /^In work/ }).click()
await page.getByLabel("Group").selectOption("slow")
await rows.first().getByText("In work", { exact: true }).waitFor()
assert.equal(await rows.count(), 1)
await page.getByRole("button", { name: /^Every state/ }).click()
await page.getByLabel("Group").selectOption("nobody")
await rows.nth(5).waitFor()
await rows.filter({ hasText: "Delayed" }).first().waitFor()
assert.equal(await page.locator("ul.rows img").count(), 0, "a payload was read as HTML")
await rows.filter({ hasText: "<img src=x" }).waitFor()
await look("rows")

step("a large row does not hurt")
const large = await query("SELECT id FROM jobs WHERE name = 'nobody' AND priority = 16")
await page.getByLabel("Row id").fill(large)
await page.keyboard.press("Enter")
await eventually("only that row", () => rows.count(), 1)
assert.equal(new URL(page.url()).hash, `#/rows/jobs?group=nobody&id=${large}`)
await rows.first().getByText("16 MiB").waitFor()
const began = Date.now()
await rows.first().getByRole("button", { name: /Look at row/ }).click()
await detail.getByText("This is its beginning.").waitFor()
assert.ok(Date.now() - began < 2000, `a row of 16 MiB took ${Date.now() - began} ms`)
await detail.getByRole("button", { name: "Bytes" }).click()
await detail.getByText("000000  78 78 78").waitFor()
const download = page.waitForEvent("download")
await detail.getByRole("link", { name: "Download" }).click()
assert.equal((await readFile(await (await download).path())).length, 16 << 20)
await button("Close").click()
await page.goBack()
await eventually("the way back", () => rows.count(), 6)

step("payloads as JSON, text and bytes")
await rows.filter({ hasText: '{"to"' }).getByRole("button", { name: /Look at row/ }).click()
await detail.getByText('"amount": 12345678901234567890.10').waitFor()
await detail.getByRole("button", { name: "Text" }).click()
await detail.getByText('{"to":"ada@example.com"').waitFor()
await detail.getByRole("button", { name: "Bytes" }).click()
await detail.getByText("7b 22 74 6f").waitFor()
await button("Close").click()

step("cancel a row")
const waiting = await rows.filter({ hasText: "cancel me" }).getByRole("button").textContent()
await rows.filter({ hasText: "cancel me" }).getByRole("checkbox").check()
await button("Cancel 1").click()
await agree("Cancel 1 row?", "Cancel them")
await toast("1 row cancelled.")
await eventually("it is finished", () => query(`SELECT COUNT(*) FROM jobs WHERE id = ${waiting} AND processed_at IS NOT NULL`), "1")

step("delete what is processed: one, and then all of a group")
await page.getByLabel("Group").selectOption("idle")
await page.getByRole("button", { name: /^Processed/ }).click()
await rows.first().waitFor()
const processed = Number(await query("SELECT COUNT(*) FROM jobs WHERE name = 'idle'"))
await rows.first().getByRole("button", { name: /Look at row/ }).click()
await detail.getByRole("button", { name: "Delete" }).click()
await agree("Delete 1 processed row?", "Delete")
await toast("1 row deleted.")
assert.equal(await query("SELECT COUNT(*) FROM jobs WHERE name = 'idle'"), String(processed - 1))
await eventually("the list follows", () => rows.count(), processed - 1)
await button("Delete all …").click()
await agree(`Delete ${processed - 1} processed rows?`, "Delete")
await toast("rows deleted.")
assert.equal(await query("SELECT COUNT(*) FROM jobs WHERE name = 'idle'"), "0")
assert.notEqual(await query("SELECT COUNT(*) FROM jobs WHERE name = 'mail' AND processed_at IS NOT NULL"), "0", "another group was deleted")

step("a table that lacks its index says so")
await page.getByRole("button", { name: "bare_jobs" }).click()
await page.getByText(/has no index in its claim order/).waitFor()
await page.getByRole("link", { name: "System" }).click()
await page.locator(".warning").filter({ hasText: "CREATE INDEX" }).first().getByRole("button", { name: "Copy" }).click()
await toast("Copied.")
assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^CREATE INDEX/)

step("modules, and a reload")
const hash = await page.locator(".module .hash").first().textContent()
assert.match(hash, /^[0-9a-f]{64}$/)
await page.getByText("inbox_v1").first().waitFor()
await look("system")
await button("Reload inbox.toml").click()
await toast("Reloaded.")

step("the keyboard alone reaches everything")
await page.getByRole("link", { name: "Handlers" }).click()
await page.reload()
await page.getByRole("heading", { name: "mail" }).waitFor()
const reached = []
for (let i = 0; i < 14; i++) {
  await page.keyboard.press("Tab")
  reached.push(await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()))
}
for (const want of ["To the content", "Handlers", "Rows", "System", "Log out", "Pause mail", "Pause idle", "Pause slow"]) {
  assert.ok(reached.includes(want), `${want} is not among ${reached.join(", ")}`)
}

step("an answer that does not come makes the page say that it is out of date, and ask less often")
let asked = 0
await page.route("**/api/**", (route) => {
  asked += route.request().url().endsWith("/api/handlers") ? 1 : 0
  return route.abort()
})
await page.locator("#stale", { hasText: "Out of date" }).waitFor()
await page.getByRole("link", { name: "Out of date" }).waitFor()
assert.ok(asked <= 2, `asked ${asked} times within the first seconds`)
await page.unroute("**/api/**")
complaints.length = 0 // the browser's own, about what was not reached
await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))) // as who comes back to the page
await page.locator("#stale").waitFor({ state: "hidden" })
await page.getByText("live", { exact: true }).waitFor()

step("log out")
await button("Log out").click()
await page.getByLabel("Token").waitFor()
await page.goto(url)
await page.getByRole("link", { name: "Log in to act" }).waitFor()

assert.deepEqual(complaints, [])
assert.deepEqual(elsewhere, [], "the page asks for something outside")
await browser.close()
step("done")
process.exit(0)
