//! A fake host for `zig build test`, where there is no real one.
//!
//!     test "greets" {
//!         const r = inbox.testing.deliver(handle, .{ .headers = &.{.{ .name = "name", .value = "ada" }} });
//!         try std.testing.expectEqual(.ack, r.code);
//!         try std.testing.expectEqualStrings("hello ada", r.log[0]);
//!     }

const std = @import("std");
const failure = @import("failure.zig");
const memory = @import("memory.zig");
const outcome = @import("outcome.zig");
const Header = @import("outside.zig").Header;
const Message = @import("message.zig").Message;
const Outcome = outcome.Outcome;

/// A message as a test delivers it, with the world that its handler finds.
pub const Delivery = struct {
    /// Null for a column that is NULL.
    payload: ?[]const u8 = "",
    headers: []const Header = &.{},
    /// The settings of the handler's `config`.
    config: []const Header = &.{},
    attempt: i32 = 1,
    /// What a function with a side effect answers. Where it is null, the function is not allowed.
    db: ?Answer = null,
    publish: ?Answer = null,
    http: ?Answer = null,
};

/// What a function with a side effect answers: its result as JSON, and 0 or an error such as -4.
pub const Answer = struct { code: i32 = 0, result: []const u8 = "" };

/// What a handler has made of a message, until the next one is delivered.
pub const Delivered = struct {
    code: Outcome.Code = .ack,
    reason: []const u8 = "",
    delay_ms: ?i64 = null,
    log: []const []const u8 = &.{},
    /// What was asked of db, publish and http, each with its name in front.
    asked: []const []const u8 = &.{},
};

var arena = std.heap.ArenaAllocator.init(std.heap.page_allocator);
var delivery: Delivery = .{};
var delivered: Delivered = .{};
var answered: ?[]const u8 = null;
var lines: std.ArrayListUnmanaged([]const u8) = .empty;
var asked: std.ArrayListUnmanaged([]const u8) = .empty;

/// Runs a handler, a `fn (inbox.Message) !inbox.Outcome`, on a message.
pub fn deliver(handle: anytype, d: Delivery) Delivered {
    begin(d);
    delivered.code = @enumFromInt(outcome.settle(handle(Message{ .arena = memory.begin() })));
    delivered.log = lines.items;
    delivered.asked = asked.items;
    return delivered;
}

/// Runs what a handler has for `.init`, a `fn (std.mem.Allocator) !void`, with the settings of a delivery. Gives why it
/// refuses the instance, null where it does not.
pub fn start(init: anytype, d: Delivery) ?[]const u8 {
    begin(d);
    _ = memory.begin();
    init(memory.lasting) catch |err| return failure.describe(err);
    return null;
}

fn begin(d: Delivery) void {
    _ = arena.reset(.retain_capacity);
    failure.begin();
    delivery = d;
    delivered = .{};
    answered = null;
    lines = .empty;
    asked = .empty;
}

/// What stands for the host's functions.
pub const calls = struct {
    fn give(value: ?[]const u8, buf: [*]u8, cap: usize) i32 {
        const v = value orelse return -1;
        if (v.len <= cap) @memcpy(buf[0..v.len], v);
        return @intCast(v.len);
    }

    fn find(list: []const Header, name: []const u8) ?[]const u8 {
        for (list) |h| if (std.mem.eql(u8, h.name, name)) return h.value;
        return null;
    }

    fn print(comptime format: []const u8, args: anytype) []const u8 {
        return std.fmt.allocPrint(arena.allocator(), format, args) catch @panic("out of memory");
    }

    fn append(list: *std.ArrayListUnmanaged([]const u8), text: []const u8) void {
        list.append(arena.allocator(), text) catch @panic("out of memory");
    }

    fn answer(what: []const u8, a: ?Answer) i32 {
        append(&asked, what);
        answered = (a orelse return -3).result;
        return a.?.code;
    }

    pub fn payload(buf: [*]u8, cap: usize) i32 {
        return give(delivery.payload, buf, cap);
    }
    pub fn header(name: [*]const u8, name_len: usize, buf: [*]u8, cap: usize) i32 {
        return give(find(delivery.headers, name[0..name_len]), buf, cap);
    }
    pub fn meta(buf: [*]u8, cap: usize) i32 {
        var headers: std.json.ArrayHashMap([]const u8) = .{};
        for (delivery.headers) |h| headers.map.put(arena.allocator(), h.name, h.value) catch @panic("out of memory");
        const json = std.json.stringifyAlloc(arena.allocator(), .{ .subscription = "test", .table = "test", .group = "test", .id = 1, .attempt = delivery.attempt, .headers = headers }, .{});
        return give(json catch @panic("out of memory"), buf, cap);
    }
    pub fn attempt() i32 {
        return delivery.attempt;
    }
    pub fn deadline_ms() i64 {
        return 30_000;
    }
    pub fn message(_: i32) i32 {
        return 0;
    }
    pub fn outcome(_: i32) i32 {
        return 0;
    }
    pub fn retry_after(ms: i64) i32 {
        delivered.delay_ms = ms;
        return 0;
    }
    pub fn reason(ptr: [*]const u8, len: usize) i32 {
        delivered.reason = print("{s}", .{ptr[0..len]});
        return 0;
    }
    pub fn log(_: i32, ptr: [*]const u8, len: usize) i32 {
        append(&lines, print("{s}", .{ptr[0..len]}));
        return 0;
    }
    pub fn log_enabled(_: i32) i32 {
        return 1;
    }
    pub fn config(key: [*]const u8, key_len: usize, buf: [*]u8, cap: usize) i32 {
        return give(find(delivery.config, key[0..key_len]), buf, cap);
    }
    pub fn now_ms() i64 {
        return std.time.milliTimestamp();
    }
    pub fn random(ptr: [*]u8, len: usize) i32 {
        @memset(ptr[0..len], 7);
        return 0;
    }
    pub fn db(conn: i32, sql: [*]const u8, sql_len: usize, args: [*]const u8, args_len: usize) i32 {
        return answer(print("db {d} {s} {s}", .{ conn, sql[0..sql_len], args[0..args_len] }), delivery.db);
    }
    pub fn publish(table: [*]const u8, table_len: usize, msg: [*]const u8, msg_len: usize) i32 {
        return answer(print("publish {s} {s}", .{ table[0..table_len], msg[0..msg_len] }), delivery.publish);
    }
    pub fn http(req: [*]const u8, req_len: usize) i32 {
        return answer(print("http {s}", .{req[0..req_len]}), delivery.http);
    }
    pub fn result(buf: [*]u8, cap: usize) i32 {
        return give(answered, buf, cap);
    }
};
