// The functions of the host, as they are.

@external("inbox_v1", "payload") export declare function payload(buf: usize, cap: usize): i32;
@external("inbox_v1", "header") export declare function header(name: usize, nameLen: usize, buf: usize, cap: usize): i32;
@external("inbox_v1", "meta") export declare function meta(buf: usize, cap: usize): i32;
@external("inbox_v1", "attempt") export declare function attempt(): i32;
@external("inbox_v1", "deadline_ms") export declare function deadlineMs(): i64;
@external("inbox_v1", "message") export declare function message(i: i32): i32;
@external("inbox_v1", "outcome") export declare function outcome(code: i32): i32;
@external("inbox_v1", "retry_after") export declare function retryAfter(ms: i64): i32;
@external("inbox_v1", "reason") export declare function reason(ptr: usize, len: usize): i32;
@external("inbox_v1", "log") export declare function log(level: i32, ptr: usize, len: usize): i32;
@external("inbox_v1", "log_enabled") export declare function logEnabled(level: i32): i32;
@external("inbox_v1", "config") export declare function config(key: usize, keyLen: usize, buf: usize, cap: usize): i32;
@external("inbox_v1", "now_ms") export declare function nowMs(): i64;
@external("inbox_v1", "random") export declare function random(ptr: usize, len: usize): i32;
@external("inbox_v1", "db") export declare function db(conn: i32, sql: usize, sqlLen: usize, args: usize, argsLen: usize): i32;
@external("inbox_v1", "publish") export declare function publish(table: usize, tableLen: usize, msg: usize, msgLen: usize): i32;
@external("inbox_v1", "http") export declare function http(req: usize, reqLen: usize): i32;
@external("inbox_v1", "result") export declare function result(buf: usize, cap: usize): i32;

/** What functions of the host answer instead of a length or 0. */
export const ABSENT: i32 = -1;
export const BAD_ARGUMENT: i32 = -2;
export const NOT_ALLOWED: i32 = -3;
export const FAILED: i32 = -4;
export const DEADLINE_PASSED: i32 = -5;
export const TOO_LARGE: i32 = -6;

/** Where the host writes its answers before they are copied. */
let buffer = new ArrayBuffer(4096);

/** The start of a buffer of at least so many bytes. */
export function room(size: i32): usize {
  if (buffer.byteLength < size) buffer = new ArrayBuffer(size);
  return changetype<usize>(buffer);
}

/** How many bytes room gives at least. */
export function capacity(): i32 {
  return buffer.byteLength;
}

/** The first bytes of the buffer as a text. */
export function text(length: i32): string {
  return String.UTF8.decodeUnsafe(changetype<usize>(buffer), length);
}

/** The first bytes of the buffer, copied. */
export function bytes(length: i32): Uint8Array {
  const copy = new Uint8Array(length);
  memory.copy(copy.dataStart, changetype<usize>(buffer), length);
  return copy;
}
