//! The conformance handler in Zig: see ../conformance_test.go for what each command has to do.

const std = @import("std");
const inbox = @import("inbox");

pub const panic = inbox.panic;

comptime {
    inbox.exports(.{ .init = start, .handle = handle, .handle_batch = handleBatch });
}

var greeting: []const u8 = "";

fn start(gpa: std.mem.Allocator) !void {
    greeting = try inbox.config(gpa, "greeting") orelse return inbox.fail("no greeting", .{});
}

/// Tells what was found out as the reason of a dead letter.
fn tell(found: ?[]const u8) inbox.Outcome {
    return .deadLetter(found orelse "absent");
}

fn tellNumber(m: inbox.Message, n: anytype) !inbox.Outcome {
    return tell(try std.fmt.allocPrint(m.arena, "{d}", .{n}));
}

fn tellJson(m: inbox.Message, value: anytype) !inbox.Outcome {
    return tell(try std.json.stringifyAlloc(m.arena, value, .{ .emit_null_optional_fields = false }));
}

/// Tells of the error of the host's that was kept, or gives the error back.
fn tellError(m: inbox.Message, err: inbox.Error) !inbox.Outcome {
    const f = inbox.failure() orelse return err;
    return tellJson(m, .{
        .code = f.code,
        .message = f.message,
        .sqlstate = if (f.sqlstate.len > 0) f.sqlstate else null,
        .number = if (f.number != 0) f.number else null,
    });
}

fn base64(m: inbox.Message, bytes: []const u8) ![]const u8 {
    const encoder = std.base64.standard.Encoder;
    return encoder.encode(try m.arena.alloc(u8, encoder.calcSize(bytes.len)), bytes);
}

const Command = enum { ack, retry, retry_after, drop, dead_letter, snooze, panic, payload, length, header, meta, attempt, time_left, now, config, greeting, log, random, db, publish, http };

fn handle(m: inbox.Message) !inbox.Outcome {
    const command = std.meta.stringToEnum(Command, try m.header("do") orelse "") orelse return .drop("");
    const why = try m.header("why") orelse "";
    const name = try m.header("name") orelse "";
    const ms: ?u64 = if (try m.header("ms")) |text| try std.fmt.parseInt(u64, text, 10) else null;
    switch (command) {
        .ack => return .ack,
        .retry => return .retry(why),
        .retry_after => return if (ms) |delay| .retryAfter(delay, why) else .backoff(why),
        .drop => return .drop(why),
        .dead_letter => return .deadLetter(why),
        .snooze => return .snooze(ms.?, why),
        .panic => @panic("on purpose"),
        .payload => return tell(try m.payload()),
        .length => return tellNumber(m, (try m.payload()).?.len),
        .header => return tell(try m.header(name)),
        .meta => return tellJson(m, try m.meta()),
        .attempt => return tellNumber(m, m.attempt()),
        .time_left => return tellNumber(m, m.timeLeft()),
        .now => return tellNumber(m, inbox.now()),
        .config => return tell(try inbox.config(m.arena, name)),
        .greeting => return tell(greeting),
        .log => {
            const lines = .{ "a trace", "a debug line", "an info", "a warning", "an error" };
            inline for (lines, comptime std.enums.values(inbox.Level)) |line, level| {
                if (inbox.logEnabled(level)) inbox.log(level, line, .{});
            }
            return .ack;
        },
        .random => {
            var bytes: [16]u8 = undefined;
            inbox.random(&bytes);
            return tell(try base64(m, &bytes));
        },
        .db => return db(m) catch |err| tellError(m, err),
        .publish => return publish(m) catch |err| tellError(m, err),
        .http => return http(m) catch |err| tellError(m, err),
    }
}

fn db(m: inbox.Message) !inbox.Outcome {
    const conn: inbox.Conn = if (try m.header("pool") != null) .pool else .tx;
    const sql = (try m.header("sql")).?;
    const args = .{ (1 << 62) + 1, "ü\n", inbox.Bytes{ .data = "\x00\xff" }, true, null };
    const found = try conn.query([]const std.json.Value, m.arena, sql, args);
    if (try m.header("length") != null) return tellNumber(m, found.columns[0].len);
    return tellJson(m, found);
}

fn publish(m: inbox.Message) !inbox.Outcome {
    const payload = try m.payload() orelse "";
    var with: inbox.Publication = .{ .group = try m.header("group") };
    if (with.group != null) {
        with.partition_key = "ada";
        with.headers = &.{ .{ .name = "trace", .value = "42" }, .{ .name = "quoted", .value = "a \"b\"\n\\" } };
        with.delay_ms = 1500;
        with.priority = -7;
    }
    const table = (try m.header("table")).?;
    if (try m.header("row") != null) {
        try inbox.publishRow(m.arena, table, .{ .n = (1 << 62) + 1, .blob = inbox.Bytes{ .data = payload } }, with);
    } else {
        try inbox.publish(m.arena, table, payload, with);
    }
    return .ack;
}

fn http(m: inbox.Message) !inbox.Outcome {
    const response = try inbox.send(m.arena, .{
        .method = "POST",
        .url = (try m.header("url")).?,
        .headers = &.{.{ .name = "idempotency-key", .value = "7" }},
        .body = try m.payload() orelse "",
        .timeout_ms = 250,
    });
    return tellJson(m, .{ .status = response.status, .type = response.header("content-type"), .body = try base64(m, response.body) });
}

/// Each message says what becomes of it; those that say nothing come to what the call returns.
fn handleBatch(batch: []const inbox.Message) !inbox.Outcome {
    for (batch) |m| {
        if (try m.header("do") != null) m.settle(handle(m));
    }
    return .retry("");
}
