// JSON as the contract needs it: whole numbers keep their digits, and bytes are {"base64":".."}.

/** Whether a text may hold a number that loses digits as a Number. */
const longNumber = /[0-9]{16}/;

/**
 * Reads JSON. A whole number beyond what a Number holds exactly becomes a BigInt; all others are Numbers.
 * Throws a SyntaxError where the text is none.
 */
export function parse(text) {
  const value = JSON.parse(text);
  return longNumber.test(text) ? exact(text) : value;
}

/** Reads a text that JSON.parse has found to be JSON, for the sake of its long numbers. */
function exact(text) {
  const token = /[\s,:]*(?:([{[])|([}\]])|("(?:[^"\\]|\\.)*")|(-?[0-9][0-9.eE+-]*)|(true|false|null))/gy;
  let last; // what the value that ends has to be
  const next = () => token.exec(text);
  const value = ([, open, , string, number, word]) => {
    if (string !== undefined) return JSON.parse(string);
    if (number !== undefined) return exactNumber(number);
    if (word !== undefined) return JSON.parse(word);
    return open === "[" ? list([]) : members({});
  };
  const list = (into) => {
    while (!(last = next())[2]) into.push(value(last));
    return into;
  };
  const members = (into) => {
    while (!(last = next())[2]) {
      const name = JSON.parse(last[3]);
      Object.defineProperty(into, name, { value: value(next()), writable: true, enumerable: true, configurable: true });
    }
    return into;
  };
  return value(next());
}

function exactNumber(digits) {
  const n = Number(digits);
  return Number.isSafeInteger(n) || /[.eE]/.test(digits) ? n : BigInt(digits);
}

/** Writes JSON. A BigInt is a number with all of its digits, bytes are {"base64":".."}, a Date is its time. */
export function stringify(value) {
  if (typeof value === "bigint") return String(value);
  if (value === null || value === undefined || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (isBytes(value)) return `{"base64":"${encodeBase64(value)}"}`;
  if (typeof value.toJSON === "function") return stringify(value.toJSON());
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  const members = Object.entries(value).filter(([, v]) => v !== undefined);
  return `{${members.map(([name, v]) => `${JSON.stringify(name)}:${stringify(v)}`).join(",")}}`;
}

export const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);

/** What the engine's functions take: a buffer, and which part of it. */
export const part = (bytes) => (bytes instanceof ArrayBuffer ? [bytes, 0, bytes.byteLength] : [bytes.buffer, bytes.byteOffset, bytes.byteLength]);

/** Bytes in base64. */
export function encodeBase64(bytes) {
  return inbox_v1.encodeBase64(...part(bytes));
}

/** The bytes of base64; null where the text is none. */
export function decodeBase64(text) {
  const bytes = inbox_v1.decodeBase64(text);
  return bytes && new Uint8Array(bytes);
}
