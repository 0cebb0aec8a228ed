// What a handler has done lately, from the counts of successive answers.

// window is how far the charts look back, and settled what a rate is taken over, in seconds.
const window = 300
const settled = 10
const minute = 60

const failing = (c) => c.retried + c.delayed + c.dead_lettered + c.lost + c.unsettled
const done = (c) => failing(c) + c.acked + c.dropped + c.snoozed

export class History {
  #samples = []
  // points are what the charts show, each with its time in seconds.
  points = []

  add(at, handler) {
    const last = this.#samples.at(-1)
    if (last && at <= last.at) return // the same answer again
    if (last && done(handler.counts) < done(last.counts)) {
      this.#samples = [] // another process: its counts begin anew
    }
    this.#samples.push({ at, counts: handler.counts, duration: handler.duration })
    while (this.#samples[0].at < at - window) this.#samples.shift()
    const d = handler.depth
    this.points.push({
      at,
      depth: d ? d.due + d.delayed + d.in_work : null,
      rate: this.#rate(settled),
      failing: this.#failing(minute),
      p50: this.#quantile(0.5, minute),
      p95: this.#quantile(0.95, minute),
      p99: this.#quantile(0.99, minute),
    })
    while (this.points[0].at < at - window) this.points.shift()
  }

  get last() {
    return this.points.at(-1)
  }

  // ago is the youngest sample that is at least so old, or the oldest there is.
  #ago(span) {
    const now = this.#samples.at(-1)
    let found = this.#samples[0]
    for (const sample of this.#samples) {
      if (sample.at > now.at - span) break
      found = sample
    }
    return found === now ? null : found
  }

  #rate(span) {
    const now = this.#samples.at(-1)
    const then = this.#ago(span)
    return then ? (done(now.counts) - done(then.counts)) / (now.at - then.at) : null
  }

  #failing(span) {
    const now = this.#samples.at(-1)
    const then = this.#ago(span)
    const all = then ? done(now.counts) - done(then.counts) : 0
    return all > 0 ? (failing(now.counts) - failing(then.counts)) / all : null
  }

  // quantile is the time below which a share of the calls was, interpolated within its bucket; Infinity above them all.
  #quantile(q, span) {
    const now = this.#samples.at(-1).duration
    const then = this.#ago(span)?.duration
    const calls = now.count - (then?.count ?? now.count)
    if (calls <= 0) return null
    let low = 0
    let below = 0
    for (let i = 0; i < now.buckets.length; i++) {
      const high = now.buckets[i].le
      const upTo = now.buckets[i].count - (then.buckets[i]?.count ?? 0)
      if (upTo >= q * calls) return low + ((high - low) * (q * calls - below)) / Math.max(1, upTo - below)
      low = high
      below = upTo
    }
    return Infinity
  }
}
