// Payloads as people read them: JSON, text or bytes.

// decode gives the bytes of a preview.
export function decode(row) {
  const binary = atob(row.payload ?? "")
  return Uint8Array.from(binary, (c) => c.charCodeAt(0))
}

export function cut(row) {
  return row.payload_size > decode(row).length
}

// asText is the bytes as text, null where they are none. A character that the preview cuts off is left out.
export function asText(row) {
  let bytes = decode(row)
  if (cut(row)) {
    let end = bytes.length
    while (end > 0 && bytes.length - end < 4 && (bytes[end - 1] & 0xc0) === 0x80) end--
    if (end > 0 && bytes[end - 1] >= 0xc0) bytes = bytes.subarray(0, end - 1)
  }
  try {
    const words = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    return /[\u0000-\u0008\u000e-\u001f]/.test(words) ? null : words
  } catch {
    return null
  }
}

// asJSON is the payload as JSON on many lines, null where it is none or not all here.
export function asJSON(row) {
  if (cut(row)) return null
  try {
    return indent(asText(row))
  } catch {
    return null
  }
}

// indent lays out JSON without touching its values: numbers keep every digit.
function indent(json) {
  JSON.parse(json)
  let out = ""
  let depth = 0
  const line = () => "\n" + "  ".repeat(depth)
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g)) {
    switch (token) {
      case "{": case "[":
        depth++
        out += token + line()
        break
      case "}": case "]":
        depth--
        out = /[{[]\s*$/.test(out.slice(-4 - 2 * depth)) ? out.trimEnd() + token : out + line() + token
        break
      case ",":
        out += token + line()
        break
      case ":":
        out += ": "
        break
      default:
        out += token
    }
  }
  return out
}

// asBytes is a dump in hexadecimal digits, sixteen a line.
export function asBytes(row, limit = 4096) {
  const bytes = decode(row)
  const lines = []
  for (let at = 0; at < Math.min(bytes.length, limit); at += 16) {
    const part = bytes.subarray(at, at + 16)
    const digits = Array.from(part, (b) => b.toString(16).padStart(2, "0")).join(" ")
    const letters = Array.from(part, (b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : ".")).join("")
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits.padEnd(47)}  ${letters}`)
  }
  return lines.join("\n")
}

// peek is the beginning of a payload on one line.
export function peek(row) {
  if (!row.payload) return ""
  const words = asText(row)
  const line = words === null ? Array.from(decode(row).subarray(0, 32), (b) => b.toString(16).padStart(2, "0")).join(" ") : words.replace(/\s+/g, " ")
  return cut(row) ? `${line} …` : line
}
