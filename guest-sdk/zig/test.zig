//! What the SDK's functions ask of the host, and what they make of its answers.

const std = @import("std");
const inbox = @import("inbox");
const testing = inbox.testing;
const expectEqual = std.testing.expectEqual;
const expectEqualStrings = std.testing.expectEqualStrings;

fn outcomes(m: inbox.Message) !inbox.Outcome {
    const how = try m.payload() orelse return .drop("the payload is NULL");
    if (std.mem.eql(u8, how, "retry")) return .retry("once more");
    if (std.mem.eql(u8, how, "late")) return .retryAfter(1500, "late");
    if (std.mem.eql(u8, how, "early")) return .snooze(60_000, "early");
    if (std.mem.eql(u8, how, "error")) return error.Broken;
    if (std.mem.eql(u8, how, "fail")) return inbox.fail("no {s} in {d}", .{ "word", 3 });
    return .ack;
}

test "outcomes with reason and delay" {
    for ([_]struct { ?[]const u8, inbox.Outcome.Code, []const u8, ?i64 }{
        .{ "", .ack, "", null },
        .{ null, .drop, "the payload is NULL", null },
        .{ "retry", .retry, "once more", null },
        .{ "late", .retry_after, "late", 1500 },
        .{ "early", .snooze, "early", 60_000 },
        .{ "error", .retry_after, "Broken", null },
        .{ "fail", .retry_after, "no word in 3", null },
    }) |want| {
        const r = testing.deliver(outcomes, .{ .payload = want[0] });
        try expectEqual(want[1], r.code);
        try expectEqualStrings(want[2], r.reason);
        try expectEqual(want[3], r.delay_ms);
    }
}

fn reads(m: inbox.Message) !inbox.Outcome {
    const Order = struct { id: i64, note: ?[]const u8 = null };
    const order = try m.json(Order);
    const meta = try m.meta();
    inbox.log(.info, "{d} {?s} {s} {d} {s}", .{ order.id, order.note, meta.table, m.attempt(), meta.headers.object.get("a").?.string });
    inbox.log(.debug, "{?s} {?s}", .{ try m.header("a"), try m.header("b") });
    inbox.log(.debug, "{?s} {?s}", .{ try inbox.config(m.arena, "key"), try inbox.config(m.arena, "other") });
    return .ack;
}

test "what surrounds a message" {
    const long = "x" ** 5000;
    const r = testing.deliver(reads, .{
        .payload = "{\"id\":9007199254740993,\"more\":[]}",
        .headers = &.{.{ .name = "a", .value = long }},
        .config = &.{.{ .name = "key", .value = "value" }},
        .attempt = 3,
    });
    try expectEqualStrings("9007199254740993 null test 3 " ++ long, r.log[0]);
    try expectEqualStrings(long ++ " null", r.log[1]);
    try expectEqualStrings("value null", r.log[2]);
    try expectEqualStrings("JSON: SyntaxError at byte 6", testing.deliver(reads, .{ .payload = "{\"id\":x" }).reason);
    try expectEqualStrings("JSON: MissingField at byte 2", testing.deliver(reads, .{ .payload = "{}" }).reason);
}

fn queries(m: inbox.Message) !inbox.Outcome {
    const Row = struct { i64, ?[]const u8, inbox.Bytes };
    const found = try inbox.Conn.tx.query(Row, m.arena, "SELECT $1", .{ 7, "a", inbox.Bytes{ .data = "\xff" }, null, 1.5 });
    for (found.rows) |row| inbox.log(.info, "{d} {?s} {any}", .{ row[0], row[1], row[2].data });
    inbox.log(.info, "{s} {d}", .{ found.columns[0], try inbox.Conn.pool.execute(m.arena, "DELETE", .{}) });
    return .ack;
}

test "rows are read as tuples, without loss" {
    const r = testing.deliver(queries, .{ .db = .{ .result = 
    \\{"columns":["n","s","b"],"rows":[[9007199254740993,"ü",{"base64":"AP8="}],[-1,null,{"base64":""}]],"affected":2}
    } });
    try expectEqualStrings("", r.reason);
    try expectEqualStrings("db 1 SELECT $1 [7,\"a\",{\"base64\":\"/w==\"},null,1.5e0]", r.asked[0]);
    try expectEqualStrings("db 0 DELETE ", r.asked[1]);
    try expectEqualStrings("9007199254740993 ü { 0, 255 }", r.log[0]);
    try expectEqualStrings("-1 null {  }", r.log[1]);
    try expectEqualStrings("n 2", r.log[2]);
}

test "an answer that is no such row, and one that is an error" {
    const other = testing.deliver(queries, .{ .db = .{ .result = "{\"columns\":[\"n\"],\"rows\":[[1]]}" } });
    try expectEqualStrings("SQL: the answer is of another type", other.reason);
    const failed = testing.deliver(queries, .{ .db = .{ .code = -4, .result = "{\"message\":\"no table\",\"sqlstate\":\"42P01\"}" } });
    try expectEqual(.retry_after, failed.code);
    try expectEqualStrings("no table (42P01)", failed.reason);
    try expectEqual(-4, inbox.failure().?.code);
    try expectEqualStrings("SQL: the handler is not allowed it, see allow in inbox.toml", testing.deliver(queries, .{}).reason);
}

fn publishes(m: inbox.Message) !inbox.Outcome {
    const payload = try m.payload() orelse "";
    try inbox.publish(m.arena, "mails", payload, .{ .headers = &.{.{ .name = "a", .value = "\"" }}, .delay_ms = 5, .priority = 0, .partition_key = "k" });
    try inbox.publishRow(m.arena, "rows", .{ .n = @as(?i64, null), .s = payload }, .{ .group = "g" });
    return .ack;
}

test "rows for other tables" {
    const r = testing.deliver(publishes, .{ .payload = "ü", .publish = .{} });
    try expectEqualStrings("publish mails {\"payload\":\"ü\",\"headers\":{\"a\":\"\\\"\"},\"delay_ms\":5,\"priority\":0,\"partition_key\":\"k\"}", r.asked[0]);
    try expectEqualStrings("publish rows {\"row\":{\"n\":null,\"s\":\"ü\"},\"group\":\"g\"}", r.asked[1]);

    const bytes = testing.deliver(publishes, .{ .payload = "\xff", .publish = .{} });
    try expectEqualStrings("publish mails {\"payload_base64\":\"/w==\",\"headers\":{\"a\":\"\\\"\"},\"delay_ms\":5,\"priority\":0,\"partition_key\":\"k\"}", bytes.asked[0]);
    try expectEqual(1, bytes.asked.len);
    try expectEqualStrings("publish: a text is no UTF-8: bytes are inbox.Bytes", bytes.reason);
}

fn sends(m: inbox.Message) !inbox.Outcome {
    const r = try inbox.send(m.arena, .{ .url = "https://example.com/", .timeout_ms = 10 });
    inbox.log(.info, "{d} {?s} {?s} {s}", .{ r.status, r.header("a"), r.header("b"), r.body });
    return .ack;
}

test "requests" {
    const text = testing.deliver(sends, .{ .http = .{ .result = "{\"status\":503,\"headers\":{\"a\":\"1\"},\"body\":\"\\u00fc\"}" } });
    try expectEqualStrings("http {\"method\":\"GET\",\"url\":\"https://example.com/\",\"body\":\"\",\"timeout_ms\":10}", text.asked[0]);
    try expectEqualStrings("503 1 null ü", text.log[0]);
    const bytes = testing.deliver(sends, .{ .http = .{ .result = "{\"status\":200,\"body_base64\":\"/wD+\"}" } });
    try expectEqualStrings("200 null null \xff\x00\xfe", bytes.log[0]);
}

fn starts(gpa: std.mem.Allocator) !void {
    const key = try inbox.config(gpa, "key") orelse return inbox.fail("no key", .{});
    gpa.free(key);
}

test "an instance that is refused" {
    try expectEqualStrings("no key", testing.start(starts, .{}).?);
    try expectEqual(null, testing.start(starts, .{ .config = &.{.{ .name = "key", .value = "" }} }));
}
