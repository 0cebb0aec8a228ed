//! What a handler does outside of its message: SQL, rows for other tables, requests.

const std = @import("std");
const host = @import("host.zig");
const failure = @import("failure.zig");
const Allocator = std.mem.Allocator;

/// What SQL, `publish` and `send` fail with: as the host answers, or because the answer is of another type than it is read
/// as. `failure` has the rest of what the host says.
pub const Error = failure.HostError || std.json.ParseError(std.json.Scanner);

/// Bytes, as an argument of a statement, in a row and in what is read: JSON has them as `{"base64":".."}`.
pub const Bytes = struct {
    data: []const u8,

    pub fn jsonStringify(b: Bytes, jws: anytype) !void {
        try jws.beginObject();
        try jws.objectField("base64");
        try writeBase64(jws, b.data);
        try jws.endObject();
    }

    pub fn jsonParse(allocator: Allocator, source: anytype, options: std.json.ParseOptions) !Bytes {
        return decoded(allocator, try std.json.innerParse(Encoded, allocator, source, options));
    }

    pub fn jsonParseFromValue(allocator: Allocator, source: std.json.Value, options: std.json.ParseOptions) !Bytes {
        return decoded(allocator, try std.json.innerParseFromValue(Encoded, allocator, source, options));
    }

    const Encoded = struct { base64: []const u8 };

    fn decoded(allocator: Allocator, encoded: Encoded) !Bytes {
        return .{ .data = try decodeBase64(allocator, encoded.base64) };
    }
};

fn writeBase64(jws: anytype, data: []const u8) !void {
    try jws.beginWriteRaw();
    try jws.stream.writeByte('"');
    try std.base64.standard.Encoder.encodeWriter(jws.stream, data);
    try jws.stream.writeByte('"');
    jws.endWriteRaw();
}

fn decodeBase64(allocator: Allocator, text: []const u8) ![]u8 {
    const decoder = std.base64.standard.Decoder;
    const data = try allocator.alloc(u8, decoder.calcSizeForSlice(text) catch return error.InvalidCharacter);
    decoder.decode(data, text) catch return error.InvalidCharacter;
    return data;
}

/// A header of a row or a request.
pub const Header = struct { name: []const u8, value: []const u8 };

fn writeMember(jws: anytype, name: []const u8, value: anytype) !void {
    try jws.objectField(name);
    try jws.write(value);
}

fn writeHeaders(jws: anytype, headers: []const Header) !void {
    if (headers.len == 0) return;
    try jws.objectField("headers");
    try jws.beginObject();
    for (headers) |h| try writeMember(jws, h.name, h.value);
    try jws.endObject();
}

/// Text as it is, any other bytes in base64.
fn writeContent(jws: anytype, comptime name: []const u8, content: []const u8) !void {
    if (std.unicode.utf8ValidateSlice(content)) return writeMember(jws, name, content);
    try jws.objectField(name ++ "_base64");
    try writeBase64(jws, content);
}

/// Refuses texts that are none, which `std.json` would write as arrays of numbers.
fn checkTexts(comptime what: []const u8, values: anytype) error{BadArgument}!void {
    inline for (values) |value| {
        if (!std.unicode.utf8ValidateSlice(asText(value) orelse "")) {
            return failure.explained(error.BadArgument, what ++ ": a text is no UTF-8: bytes are inbox.Bytes");
        }
    }
}

fn asText(value: anytype) ?[]const u8 {
    return switch (@typeInfo(@TypeOf(value))) {
        .optional => asText(value orelse return null),
        .pointer => |p| if (p.child == u8 or isArrayOfBytes(p.child)) value else null,
        else => null,
    };
}

fn isArrayOfBytes(comptime T: type) bool {
    return @typeInfo(T) == .array and @typeInfo(T).array.child == u8;
}

/// The last result, which is JSON.
fn result(comptime T: type, allocator: Allocator, comptime what: []const u8) Error!T {
    const json = try host.read(allocator, 4096, host.v1.result, .{}) orelse "";
    return std.json.parseFromSliceLeaky(T, allocator, json, .{ .ignore_unknown_fields = true, .parse_numbers = false }) catch |err| {
        return failure.explained(err, what ++ ": the answer is of another type");
    };
}

/// A connection of the handler to the database.
pub const Conn = enum(i32) {
    /// The thread's own, for `allow = { db = "pool" }`: a statement commits on its own. The statements of one call share a
    /// session; what is left in it is gone before the next call.
    pool,
    /// The delivery's transaction, for `transactional = true` and `allow = { db = "tx" }`: what is written is committed by
    /// the ack, together with the row's end, and rolled back by every other end.
    tx,

    /// Runs one statement and gives all of its rows. After one has failed in the transaction, the delivery cannot be acked
    /// any more. `Row` is a tuple with a type for each column, or `[]const std.json.Value`, in which numbers are
    /// `number_string` and keep their digits. `args` is a tuple.
    ///
    ///     const found = try inbox.Conn.tx.query(struct { i64, ?[]const u8 }, m.arena, "SELECT id, name FROM t WHERE n = $1", .{n});
    pub fn query(conn: Conn, comptime Row: type, allocator: Allocator, sql: []const u8, args: anytype) Error!Rows(Row) {
        try conn.run(allocator, sql, args);
        return result(Rows(Row), allocator, "SQL");
    }

    /// Runs one statement and says how many rows it changed.
    pub fn execute(conn: Conn, allocator: Allocator, sql: []const u8, args: anytype) Error!i64 {
        try conn.run(allocator, sql, args);
        return (try result(struct { affected: i64 = 0 }, allocator, "SQL")).affected;
    }

    fn run(conn: Conn, allocator: Allocator, sql: []const u8, args: anytype) Error!void {
        try checkTexts("SQL", args);
        const json = if (args.len == 0) "" else try std.json.stringifyAlloc(allocator, args, .{});
        defer allocator.free(json);
        const n = host.v1.db(@intFromEnum(conn), sql.ptr, sql.len, json.ptr, json.len);
        if (n < 0) return failure.refused(n, "SQL");
    }
};

/// The answer to a statement.
pub fn Rows(comptime Row: type) type {
    return struct {
        columns: []const []const u8 = &.{},
        rows: []const Row = &.{},
        /// How many rows the statement has changed.
        affected: i64 = 0,
    };
}

/// What goes with a row for another table.
pub const Publication = struct {
    /// Null is that of the table's only handler.
    group: ?[]const u8 = null,
    headers: []const Header = &.{},
    /// Hides the row for so long.
    delay_ms: u64 = 0,
    priority: ?i64 = null,
    partition_key: ?[]const u8 = null,
};

/// Writes a row into a table and wakes its handlers, for `allow = { publish = ["TABLE"] }`. In a transactional handler it is
/// committed by the ack; in another one it is there whatever becomes of the message: one that is delivered again publishes
/// again.
pub fn publish(allocator: Allocator, table: []const u8, payload: []const u8, with: Publication) Error!void {
    var text = std.ArrayList(u8).init(allocator);
    defer text.deinit();
    var jws = std.json.writeStreamMaxDepth(text.writer(), .{}, null);
    try jws.beginObject();
    try writeContent(&jws, "payload", payload);
    try writePublication(&jws, with);
    try put(table, text.items);
}

/// As `publish`, for a table of rows: the fields of a struct are its columns.
///
///     try inbox.publishRow(m.arena, "mails", .{ .recipient = "ada@example.com", .body = inbox.Bytes{ .data = body } }, .{});
pub fn publishRow(allocator: Allocator, table: []const u8, row: anytype, with: Publication) Error!void {
    inline for (comptime std.meta.fieldNames(@TypeOf(row))) |name| try checkTexts("publish", .{@field(row, name)});
    var text = std.ArrayList(u8).init(allocator);
    defer text.deinit();
    var jws = std.json.writeStreamMaxDepth(text.writer(), .{}, null);
    try jws.beginObject();
    try writeMember(&jws, "row", row);
    try writePublication(&jws, with);
    try put(table, text.items);
}

fn writePublication(jws: anytype, p: Publication) !void {
    if (p.group) |group| try writeMember(jws, "group", group);
    try writeHeaders(jws, p.headers);
    if (p.delay_ms > 0) try writeMember(jws, "delay_ms", p.delay_ms);
    if (p.priority) |priority| try writeMember(jws, "priority", priority);
    if (p.partition_key) |key| try writeMember(jws, "partition_key", key);
    try jws.endObject();
}

fn put(table: []const u8, json: []const u8) Error!void {
    const code = host.v1.publish(table.ptr, table.len, json.ptr, json.len);
    if (code != 0) return failure.refused(code, "publish");
}

/// An HTTP request, for `allow = { http = ["https://.."] }`.
pub const Request = struct {
    method: []const u8 = "GET",
    /// Of an origin that the handler allows.
    url: []const u8,
    headers: []const Header = &.{},
    body: []const u8 = "",
    /// Null is the delivery's own.
    timeout_ms: ?u64 = null,
};

/// The answer to a request, whatever its status.
pub const Response = struct {
    status: u16,
    /// By names in lower case.
    headers: std.json.ArrayHashMap([]const u8),
    body: []const u8,

    /// One header, by its name in lower case.
    pub fn header(r: Response, name: []const u8) ?[]const u8 {
        return r.headers.map.get(name);
    }
};

/// Sends a request. A response that says no, such as 503, is no error.
pub fn send(allocator: Allocator, request: Request) Error!Response {
    var text = std.ArrayList(u8).init(allocator);
    defer text.deinit();
    var jws = std.json.writeStreamMaxDepth(text.writer(), .{}, null);
    try jws.beginObject();
    try writeMember(&jws, "method", request.method);
    try writeMember(&jws, "url", request.url);
    try writeHeaders(&jws, request.headers);
    try writeContent(&jws, "body", request.body);
    if (request.timeout_ms) |ms| try writeMember(&jws, "timeout_ms", ms);
    try jws.endObject();

    const n = host.v1.http(text.items.ptr, text.items.len);
    if (n < 0) return failure.refused(n, "http");
    const answer = try result(Answer, allocator, "http");
    return .{
        .status = answer.status,
        .headers = answer.headers,
        .body = if (answer.body_base64) |encoded| try decodeBase64(allocator, encoded) else answer.body,
    };
}

const Answer = struct {
    status: u16,
    headers: std.json.ArrayHashMap([]const u8) = .{},
    body: []const u8 = "",
    body_base64: ?[]const u8 = null,
};
