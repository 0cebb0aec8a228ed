//! The functions of the host, and how their answers are read.

const std = @import("std");
const builtin = @import("builtin");
const Allocator = std.mem.Allocator;

/// Whether there is a host; in tests a fake stands for it.
pub const is_real = builtin.cpu.arch.isWasm();

/// The functions as they are. A module imports those that it calls.
pub const v1 = if (is_real) struct {
    pub extern "inbox_v1" fn payload(buf: [*]u8, cap: usize) i32;
    pub extern "inbox_v1" fn header(name: [*]const u8, name_len: usize, buf: [*]u8, cap: usize) i32;
    pub extern "inbox_v1" fn meta(buf: [*]u8, cap: usize) i32;
    pub extern "inbox_v1" fn attempt() i32;
    pub extern "inbox_v1" fn deadline_ms() i64;
    pub extern "inbox_v1" fn message(i: i32) i32;
    pub extern "inbox_v1" fn outcome(code: i32) i32;
    pub extern "inbox_v1" fn retry_after(ms: i64) i32;
    pub extern "inbox_v1" fn reason(ptr: [*]const u8, len: usize) i32;
    pub extern "inbox_v1" fn log(level: i32, ptr: [*]const u8, len: usize) i32;
    pub extern "inbox_v1" fn log_enabled(level: i32) i32;
    pub extern "inbox_v1" fn config(key: [*]const u8, key_len: usize, buf: [*]u8, cap: usize) i32;
    pub extern "inbox_v1" fn now_ms() i64;
    pub extern "inbox_v1" fn random(ptr: [*]u8, len: usize) i32;
    pub extern "inbox_v1" fn db(conn: i32, sql: [*]const u8, sql_len: usize, args: [*]const u8, args_len: usize) i32;
    pub extern "inbox_v1" fn publish(table: [*]const u8, table_len: usize, msg: [*]const u8, msg_len: usize) i32;
    pub extern "inbox_v1" fn http(req: [*]const u8, req_len: usize) i32;
    pub extern "inbox_v1" fn result(buf: [*]u8, cap: usize) i32;
} else @import("testing.zig").calls;

const absent = -1;

/// Asks for a value in a buffer that grows until it fits; null where there is none. `args` are those before the buffer.
pub fn read(allocator: Allocator, first: usize, comptime function: anytype, args: anytype) Allocator.Error!?[]u8 {
    var buf = try allocator.alloc(u8, first);
    errdefer allocator.free(buf);
    while (true) {
        const n = @call(.auto, function, args ++ .{ buf.ptr, buf.len });
        if (n == absent) {
            allocator.free(buf);
            return null;
        }
        if (n < 0) std.debug.panic("the host refuses a value with {d}", .{n});
        const length: usize = @intCast(n);
        const fits = length <= buf.len;
        buf = try allocator.realloc(buf, length);
        if (fits) return buf;
    }
}

/// Says why the message comes to what it does.
pub fn reason(text: []const u8) void {
    _ = v1.reason(text.ptr, text.len);
}
