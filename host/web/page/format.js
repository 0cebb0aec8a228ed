// Numbers and times as people read them.

export function count(n) {
  return n.toLocaleString("en")
}

export function plural(n, one, many) {
  return `${count(n)} ${n === 1 ? one : (many ?? one + "s")}`
}

// rate is a number of rows a second.
export function rate(perSecond) {
  if (perSecond === null) return "–"
  if (perSecond === 0) return "0"
  if (perSecond < 0.1) return perSecond.toFixed(2)
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))
}

export function percent(share) {
  if (share === null) return "–"
  if (share > 0 && share < 0.01) return "<1 %"
  return `${Math.round(share * 100)} %`
}

// seconds is a duration, from microseconds to days.
export function seconds(s) {
  if (s === null) return "–"
  if (s === 0) return "0"
  if (s < 0.001) return `${Math.max(1, Math.round(s * 1e6))} µs`
  if (s < 0.01) return `${(s * 1000).toFixed(1)} ms`
  if (s < 1) return `${Math.round(s * 1000)} ms`
  if (s < 10 && !Number.isInteger(s)) return `${s.toFixed(1)} s`
  if (s < 120) return `${Math.round(s)} s`
  if (s < 2 * 3600) return `${Math.round(s / 60)} min`
  if (s < 48 * 3600) return `${Math.round(s / 3600)} h`
  return `${count(Math.round(s / 86400))} d`
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB"]
  let i = 0
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024
    i++
  }
  return `${i > 0 && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`
}

const clock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" })

// moment is a point in time in the zone of whoever looks.
export function moment(iso) {
  return clock.format(new Date(iso))
}

// since is how long ago something was, or how far off it is.
export function since(iso) {
  const s = (Date.now() - new Date(iso)) / 1000
  if (Math.abs(s) < 1) return "just now"
  return s >= 0 ? `${seconds(Math.round(s))} ago` : `in ${seconds(Math.round(-s))}`
}
