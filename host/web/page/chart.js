import { svg, attribute } from "./dom.js"

const width = 200
const height = 40
const pad = 2
// shortest is how much time a chart shows, in seconds, before there is more to show.
const shortest = 60

// Chart is a line over the last minutes. It is a picture with words: what it shows last is written beside it.
export class Chart {
  constructor(name) {
    this.name = name
    this.area = svg("path", { class: "area" })
    this.line = svg("path", { class: "line" })
    this.element = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" },
      svg("path", { class: "base", d: `M0 ${height - pad}H${width}` }), this.area, this.line)
  }

  // draw shows the values of points; format puts a value into words, and least is the value that the top is at least.
  draw(points, value, format, least) {
    const now = points.at(-1)?.at ?? 0
    const span = Math.max(shortest, now - (points[0]?.at ?? 0))
    const has = (p) => value(p) !== null && value(p) !== Infinity
    const known = points.filter(has)
    const top = Math.max(least, ...known.map(value))
    const x = (p) => (width - pad - ((now - p.at) / span) * (width - 2 * pad)).toFixed(1)
    const y = (p) => (height - pad - (value(p) / top) * (height - 3 * pad)).toFixed(1)
    let line = ""
    let area = ""
    let run = []
    const end = () => {
      if (run.length === 0) return
      const path = run.map((p) => `${x(p)} ${y(p)}`).join("L")
      line += `M${path}` + (run.length === 1 ? "h0.1" : "")
      area += `M${x(run[0])} ${height - pad}L${path}V${height - pad}Z`
      run = []
    }
    for (const p of points) {
      if (has(p)) {
        run.push(p)
      } else {
        end()
      }
    }
    end()
    attribute(this.line, "d", line || "M0 0")
    attribute(this.area, "d", area || "M0 0")
    const words = known.length === 0 ? "nothing to show yet"
      : `${format(value(known.at(-1)))} now, at most ${format(Math.max(...known.map(value)))} in the last minutes`
    attribute(this.element, "aria-label", `${this.name}: ${words}`)
  }
}
