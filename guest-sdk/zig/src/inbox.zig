//! Handlers for inbox-wasm in Zig.
//!
//!     const inbox = @import("inbox");
//!
//!     pub const panic = inbox.panic;
//!
//!     comptime {
//!         inbox.exports(.{ .handle = handle });
//!     }
//!
//!     fn handle(m: inbox.Message) !inbox.Outcome {
//!         const payload = try m.payload() orelse "";
//!         if (payload.len == 0) return .deadLetter("the payload is empty");
//!         return .ack; // the row is finished
//!     }
//!
//! What the function returns decides about the row. An error tries again after the subscription's backoff, with the error's
//! text as the reason. A panic fails the message with the panic's text as the reason; the next message has a new instance.
//!
//! An instance handles one message at a time. What is costly to prepare belongs into `.init`. A module imports only what it
//! uses; a function that the handler is not granted in inbox.toml keeps the module from loading.

const std = @import("std");
const host = @import("host.zig");
const memory = @import("memory.zig");
const message = @import("message.zig");
const outcome = @import("outcome.zig");
const outside = @import("outside.zig");
const failures = @import("failure.zig");
const Allocator = std.mem.Allocator;

pub const Message = message.Message;
pub const Meta = message.Meta;
pub const Outcome = outcome.Outcome;
pub const Bytes = outside.Bytes;
pub const Conn = outside.Conn;
pub const Error = outside.Error;
pub const Header = outside.Header;
pub const Publication = outside.Publication;
pub const Request = outside.Request;
pub const Response = outside.Response;
pub const Rows = outside.Rows;
pub const publish = outside.publish;
pub const publishRow = outside.publishRow;
pub const send = outside.send;
pub const HostError = failures.HostError;
pub const Failure = failures.Failure;
pub const fail = failures.fail;
pub const failure = failures.failure;
pub const describe = failures.describe;

/// A fake host for `zig build test`, where there is no real one.
pub const testing = @import("testing.zig");

/// Exports what the host calls, once in a module:
///
/// - `.handle`, a `fn (inbox.Message) !inbox.Outcome`: is called with each message.
/// - `.handle_batch`, a `fn ([]const inbox.Message) !inbox.Outcome`: is called with each batch, for a handler with
///   `batch = n`. What it returns is for the messages that `Message.settle` has not decided about. A module may have both.
/// - `.init`, a `fn (std.mem.Allocator) !void`: is called once in each instance before its first message. Its memory stays as
///   long as the instance. An error refuses the instance: claims pause, and no message spends an attempt.
pub fn exports(comptime functions: anytype) void {
    if (!host.is_real) return;
    if (!@hasDecl(@import("root"), "panic")) {
        @compileError("write pub const panic = inbox.panic; in the file that is compiled: it makes the text of a panic the reason");
    }
    inline for (comptime std.meta.fieldNames(@TypeOf(functions))) |name| {
        const function = @field(functions, name);
        if (std.mem.eql(u8, name, "handle")) {
            @export(&single(function).call, .{ .name = "inbox_handle" });
        } else if (std.mem.eql(u8, name, "handle_batch")) {
            @export(&batch(function).call, .{ .name = "inbox_handle_batch" });
        } else if (std.mem.eql(u8, name, "init")) {
            @export(&init(function).call, .{ .name = "inbox_init" });
        } else @compileError("the host calls handle, handle_batch and init, but not " ++ name);
    }
}

fn single(comptime handle: anytype) type {
    return struct {
        fn call() callconv(.C) i32 {
            return outcome.settle(handle(Message{ .arena = begin() }));
        }
    };
}

fn batch(comptime handle: anytype) type {
    return struct {
        fn call(count: i32) callconv(.C) i32 {
            const messages = message.batch(begin(), @intCast(count)) catch |err| return outcome.settle(err);
            return outcome.settle(handle(messages));
        }
    };
}

fn init(comptime start: anytype) type {
    return struct {
        fn call() callconv(.C) i32 {
            _ = begin();
            start(memory.lasting) catch |err| {
                host.reason(failures.describe(err));
                return 1;
            };
            return 0;
        }
    };
}

fn begin() Allocator {
    failures.begin();
    return memory.begin();
}

/// Has a panic tell the host why before it ends the instance.
pub fn panic(text: []const u8, _: ?*std.builtin.StackTrace, _: ?usize) noreturn {
    host.reason(text);
    @trap();
}

/// The weight of a line of the log.
pub const Level = enum(i32) { trace, debug, info, warn, err };

/// Writes a line to the host's log, which adds subscription, row and attempt.
pub fn log(level: Level, comptime format: []const u8, args: anytype) void {
    const arena = memory.ofCall();
    const line = std.fmt.allocPrint(arena, format, args) catch return;
    defer arena.free(line);
    _ = host.v1.log(@intFromEnum(level), line.ptr, line.len);
}

/// Whether a line of that weight would be written, for lines that are costly to make.
pub fn logEnabled(level: Level) bool {
    return host.v1.log_enabled(@intFromEnum(level)) == 1;
}

/// Has `std.log` write to the host's log: `pub const std_options: std.Options = .{ .logFn = inbox.logFn };`.
pub fn logFn(comptime level: std.log.Level, comptime scope: @TypeOf(.enum_literal), comptime format: []const u8, args: anytype) void {
    const prefix = if (scope == .default) "" else @tagName(scope) ++ ": ";
    log(@field(Level, @tagName(level)), prefix ++ format, args);
}

/// One of the handler's own settings, which stand under `config` in inbox.toml.
pub fn config(allocator: Allocator, key: []const u8) Allocator.Error!?[]u8 {
    return host.read(allocator, 128, host.v1.config, .{ key.ptr, key.len });
}

/// The host's time, in milliseconds since 1970-01-01T00:00:00Z.
pub fn now() i64 {
    return host.v1.now_ms();
}

/// Fills a slice with random bytes that are fit for cryptography.
pub fn random(bytes: []u8) void {
    if (host.v1.random(bytes.ptr, bytes.len) < 0) @panic("the host refuses random bytes");
}
