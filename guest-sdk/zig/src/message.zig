const std = @import("std");
const host = @import("host.zig");
const outcome = @import("outcome.zig");
const failure = @import("failure.zig");
const Allocator = std.mem.Allocator;

/// The message of the batch that the host's functions are about.
var current: ?i32 = null;

/// One delivery of a row.
pub const Message = struct {
    /// Memory that is the message's until the handler returns; nobody frees it. In a batch it is that of all messages.
    arena: Allocator,
    /// In its batch.
    index: ?i32 = null,

    /// The payload, or in row mode the row as a JSON object; null where the column is NULL.
    pub fn payload(m: Message) Allocator.Error!?[]u8 {
        m.use();
        return host.read(m.arena, 4096, host.v1.payload, .{});
    }

    /// The payload, or the row, as a value: of a struct whose fields are members of the JSON object, or `std.json.Value`.
    /// `std.json` is strict: bytes that are no UTF-8, and half of a surrogate pair, are errors. `inbox.describe` says of one at
    /// which byte it is.
    pub fn json(m: Message, comptime T: type) std.json.ParseError(std.json.Scanner)!T {
        var scanner = std.json.Scanner.initCompleteInput(m.arena, try m.payload() orelse "");
        var position: std.json.Diagnostics = .{};
        scanner.enableDiagnostics(&position);
        const options: std.json.ParseOptions = .{ .ignore_unknown_fields = true, .duplicate_field_behavior = .use_last };
        return std.json.parseFromTokenSourceLeaky(T, m.arena, &scanner, options) catch |err| {
            return failure.explained(err, failure.print("JSON: {s} at byte {d}", .{ @errorName(err), position.getByteOffset() }));
        };
    }

    /// One header; a value that is no string is its JSON text.
    pub fn header(m: Message, name: []const u8) Allocator.Error!?[]u8 {
        m.use();
        return host.read(m.arena, 128, host.v1.header, .{ name.ptr, name.len });
    }

    /// The number of this delivery, 1 for the first; 0 where the table counts none.
    pub fn attempt(m: Message) i32 {
        m.use();
        return host.v1.attempt();
    }

    /// How many milliseconds the handler may go on before the host interrupts it.
    pub fn timeLeft(m: Message) u64 {
        m.use();
        return @intCast(@max(0, host.v1.deadline_ms()));
    }

    /// What surrounds the payload. That costs more than `header` and `attempt`, which ask for one value each.
    pub fn meta(m: Message) Allocator.Error!Meta {
        m.use();
        const text = try host.read(m.arena, 1024, host.v1.meta, .{}) orelse "";
        return std.json.parseFromSliceLeaky(Meta, m.arena, text, .{ .ignore_unknown_fields = true, .parse_numbers = false }) catch |err| switch (err) {
            error.OutOfMemory => error.OutOfMemory,
            else => std.debug.panic("the host's meta is no JSON: {s}", .{@errorName(err)}),
        };
    }

    /// In a batch: decides about this message. Those that nothing was decided about come to what the handler returns.
    pub fn settle(m: Message, result: anyerror!outcome.Outcome) void {
        m.use();
        _ = host.v1.outcome(outcome.settle(result));
    }

    /// Makes this message the one that the host's functions are about.
    fn use(m: Message) void {
        const i = m.index orelse return;
        if (current == i) return;
        current = i;
        _ = host.v1.message(i);
    }
};

/// What surrounds a message's payload.
pub const Meta = struct {
    /// The handler's name in inbox.toml.
    subscription: []const u8,
    /// The table that the row lies in.
    table: []const u8,
    /// Its group, empty where the table has none.
    group: []const u8 = "",
    /// The row's key: a number, a string, bytes, or an array for a key of several columns. Numbers are `number_string`.
    id: std.json.Value,
    /// As `Message.attempt`.
    attempt: i64 = 0,
    /// 0 where there is no cap.
    max_attempts: i64 = 0,
    /// Null where the row has none.
    partition_key: ?[]const u8 = null,
    /// An object.
    headers: std.json.Value = .null,
};

/// The messages of a batch.
pub fn batch(arena: Allocator, count: usize) Allocator.Error![]Message {
    current = null;
    const messages = try arena.alloc(Message, count);
    for (messages, 0..) |*m, i| m.* = .{ .arena = arena, .index = @intCast(i) };
    return messages;
}
