// JSON as the contract needs it: numbers keep their digits, and bytes are {"base64":".."}.

/** What a value is. */
export enum Kind {
  Null,
  Bool,
  Number,
  String,
  Array,
  Object,
}

/** A JSON value. */
export class Value {
  private constructor(
    public kind: Kind,
    /** The digits of a number, or the content of a string. */
    public text: string = "",
    public bool: bool = false,
    /** The elements of an array, or the values of an object's members. */
    public list: Value[] = [],
    /** The names of an object's members. */
    public names: string[] = [],
  ) {}

  static null(): Value {
    return new Value(Kind.Null);
  }
  static bool(b: bool): Value {
    return new Value(Kind.Bool, "", b);
  }
  static int(n: i64): Value {
    return new Value(Kind.Number, n.toString());
  }
  /** NaN and the infinities have no form in JSON, and become null. */
  static float(n: f64): Value {
    return isFinite(n) ? new Value(Kind.Number, n.toString()) : Value.null();
  }
  /** A number by its digits, such as a decimal. */
  static number(digits: string): Value {
    return new Value(Kind.Number, digits);
  }
  static string(s: string): Value {
    return new Value(Kind.String, s);
  }
  static bytes(b: Uint8Array): Value {
    return Value.object().set("base64", Value.string(encodeBase64(b)));
  }
  static array(list: Value[]): Value {
    return new Value(Kind.Array, "", false, list);
  }
  static object(): Value {
    return new Value(Kind.Object);
  }

  /** Adds a member to an object. */
  set(name: string, value: Value): Value {
    this.names.push(name);
    this.list.push(value);
    return this;
  }
  /** A member of an object, or null. */
  get(name: string): Value {
    const i = this.kind == Kind.Object ? this.names.indexOf(name) : -1;
    return i < 0 ? Value.null() : this.list[i];
  }
  /** An element of an array, or null. */
  at(index: i32): Value {
    return this.kind == Kind.Array && index >= 0 && index < this.list.length ? this.list[index] : Value.null();
  }
  get isNull(): bool {
    return this.kind == Kind.Null;
  }
  /** The content of a string, the digits of a number; empty for others. */
  asString(): string {
    return this.text;
  }
  asInt(): i64 {
    return this.kind == Kind.Number ? I64.parseInt(this.text) : 0;
  }
  asFloat(): f64 {
    return this.kind == Kind.Number ? F64.parseFloat(this.text) : NaN;
  }
  /** The bytes of {"base64":".."}, or of a string in UTF-8. */
  asBytes(): Uint8Array {
    if (this.kind == Kind.Object) return decodeBase64(this.get("base64").text);
    return Uint8Array.wrap(String.UTF8.encode(this.text));
  }

  /** The JSON text. */
  toString(): string {
    const out: string[] = [];
    this.write(out);
    return out.join("");
  }

  private write(out: string[]): void {
    switch (this.kind) {
      case Kind.Null:
        out.push("null");
        break;
      case Kind.Bool:
        out.push(this.bool ? "true" : "false");
        break;
      case Kind.Number:
        out.push(this.text);
        break;
      case Kind.String:
        out.push(quote(this.text));
        break;
      default:
        const isObject = this.kind == Kind.Object;
        out.push(isObject ? "{" : "[");
        for (let i = 0; i < this.list.length; i++) {
          if (i > 0) out.push(",");
          if (isObject) {
            out.push(quote(this.names[i]));
            out.push(":");
          }
          this.list[i].write(out);
        }
        out.push(isObject ? "}" : "]");
    }
  }
}

function quote(s: string): string {
  const out: string[] = ['"'];
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
    out.push(s.substring(from, i));
    out.push("\\u00");
    out.push((c >> 4).toString(16));
    out.push((c & 15).toString(16));
    from = i + 1;
  }
  out.push(s.substring(from));
  out.push('"');
  return out.join("");
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Bytes in base64, with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  const out: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const have = min(bytes.length - i, 3);
    let n: u32 = (<u32>bytes[i]) << 16;
    if (have > 1) n |= (<u32>bytes[i + 1]) << 8;
    if (have > 2) n |= <u32>bytes[i + 2];
    out.push(LETTERS.charAt(n >> 18));
    out.push(LETTERS.charAt((n >> 12) & 63));
    out.push(have > 1 ? LETTERS.charAt((n >> 6) & 63) : "=");
    out.push(have > 2 ? LETTERS.charAt(n & 63) : "=");
  }
  return out.join("");
}

/** The bytes of base64, up to the first letter that is none of it. */
export function decodeBase64(text: string): Uint8Array {
  const out = new Uint8Array((text.length * 3) / 4);
  let length = 0;
  let bits: u32 = 0;
  let have = 0;
  for (let i = 0; i < text.length; i++) {
    const v = LETTERS.indexOf(text.charAt(i));
    if (v < 0) break;
    bits = (bits << 6) | v;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out[length++] = <u8>(bits >> have);
    }
  }
  return out.subarray(0, length);
}

/** Reads a JSON text; null, and not a value, for what is none. */
export function parse(text: string): Value | null {
  const p = new Parser(text);
  const value = p.value(0);
  p.blank();
  return p.failed || p.at < text.length ? null : value;
}

/** How deep values may nest. */
const MAX_DEPTH = 128;

class Parser {
  at: i32 = 0;
  failed: bool = false;

  constructor(private text: string) {}

  private peek(): i32 {
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1;
  }

  blank(): void {
    for (let c = this.peek(); c == 0x20 || c == 0x09 || c == 0x0a || c == 0x0d; c = this.peek()) this.at++;
  }

  private take(c: i32): bool {
    this.blank();
    const found = this.peek() == c;
    if (found) this.at++;
    return found;
  }

  private fail(): Value {
    this.failed = true;
    return Value.null();
  }

  private word(word: string, value: Value): Value {
    if (!this.text.startsWith(word, this.at)) return this.fail();
    this.at += word.length;
    return value;
  }

  value(depth: i32): Value {
    this.blank();
    const c = this.peek();
    if (depth > MAX_DEPTH || this.failed) return this.fail();
    if (c == 0x7b) return this.object(depth);
    if (c == 0x5b) return this.array(depth);
    if (c == 0x22) return Value.string(this.string());
    if (c == 0x74) return this.word("true", Value.bool(true));
    if (c == 0x66) return this.word("false", Value.bool(false));
    if (c == 0x6e) return this.word("null", Value.null());
    return this.number();
  }

  private object(depth: i32): Value {
    const value = Value.object();
    this.at++;
    if (this.take(0x7d)) return value;
    while (!this.failed) {
      this.blank();
      if (this.peek() != 0x22) return this.fail();
      const name = this.string();
      if (!this.take(0x3a)) return this.fail();
      value.set(name, this.value(depth + 1));
      if (this.take(0x7d)) return value;
      if (!this.take(0x2c)) return this.fail();
    }
    return value;
  }

  private array(depth: i32): Value {
    const list: Value[] = [];
    this.at++;
    if (this.take(0x5d)) return Value.array(list);
    while (!this.failed) {
      list.push(this.value(depth + 1));
      if (this.take(0x5d)) break;
      if (!this.take(0x2c)) return this.fail();
    }
    return Value.array(list);
  }

  private number(): Value {
    const start = this.at;
    if (this.peek() == 0x2d) this.at++;
    const whole = this.at;
    let good = this.digits() && (this.text.charCodeAt(whole) != 0x30 || this.at == whole + 1);
    if (this.peek() == 0x2e) {
      this.at++;
      good = this.digits() && good;
    }
    if (this.peek() == 0x65 || this.peek() == 0x45) {
      this.at++;
      if (this.peek() == 0x2b || this.peek() == 0x2d) this.at++;
      good = this.digits() && good;
    }
    return good ? Value.number(this.text.substring(start, this.at)) : this.fail();
  }

  /** Passes over digits, and says whether there were any. */
  private digits(): bool {
    const start = this.at;
    for (let c = this.peek(); c >= 0x30 && c <= 0x39; c = this.peek()) this.at++;
    return this.at > start;
  }

  private string(): string {
    this.at++;
    const out: string[] = [];
    let from = this.at;
    for (let c = this.peek(); c >= 0x20; c = this.peek()) {
      this.at++;
      if (c != 0x22 && c != 0x5c) continue;
      out.push(this.text.substring(from, this.at - 1));
      if (c == 0x22) return out.join("");
      out.push(this.escaped());
      from = this.at;
    }
    this.failed = true; // it does not end, or holds a control character
    return "";
  }

  private escaped(): string {
    const c = this.peek();
    this.at++;
    if (c == 0x6e) return "\n";
    if (c == 0x74) return "\t";
    if (c == 0x72) return "\r";
    if (c == 0x62) return "\b";
    if (c == 0x66) return "\f";
    if (c == 0x22 || c == 0x5c || c == 0x2f) return String.fromCharCode(c);
    if (c != 0x75) this.failed = true;
    let n = 0;
    for (let i = 0; i < 4; i++, this.at++) {
      const digit = this.peek() | 0x20; // in lower case
      if (digit >= 0x30 && digit <= 0x39) n = (n << 4) | (digit - 0x30);
      else if (digit >= 0x61 && digit <= 0x66) n = (n << 4) | (digit - 0x61 + 10);
      else this.failed = true;
    }
    return String.fromCharCode(n);
  }
}
