//! A handler for an inbox of GitHub webhooks: it accepts what is signed and well formed, and puts aside, with the
//! reason, what is not.

const std = @import("std");
const inbox = @import("inbox");
const Hmac = std.crypto.auth.hmac.sha2.HmacSha256;

pub const panic = inbox.panic;

comptime {
    inbox.exports(.{ .init = start, .handle = handle });
}

/// Read once, when the instance starts.
var settings: struct {
    key: Hmac,
    not_ready: []const u8, // event types behind commas, that the receiving side cannot take yet
    retry_delay_ms: u64,
} = undefined;

fn start(gpa: std.mem.Allocator) !void {
    const secret = try inbox.config(gpa, "secret") orelse "";
    if (secret.len == 0) return inbox.fail("config: secret is missing: set it to the webhook's secret", .{});
    const retry_delay = try inbox.config(gpa, "retry_delay") orelse "1h";
    settings = .{
        .key = Hmac.init(secret),
        .not_ready = try inbox.config(gpa, "not_ready") orelse "",
        .retry_delay_ms = duration(retry_delay) orelse
            return inbox.fail("config: retry_delay is \"{s}\": write a positive duration such as 1h", .{retry_delay}),
    };
}

/// A positive duration such as 90s or 1h, in milliseconds.
fn duration(text: []const u8) ?u64 {
    const digits = std.mem.trimRight(u8, text, "hms");
    const units = std.StaticStringMap(u64).initComptime(.{
        .{ "ms", 1 }, .{ "s", std.time.ms_per_s }, .{ "m", std.time.ms_per_min }, .{ "h", std.time.ms_per_hour },
    });
    const unit = units.get(text[digits.len..]) orelse return null;
    const n = std.fmt.parseInt(u64, digits, 10) catch return null;
    return if (n == 0) null else std.math.mul(u64, n, unit) catch null;
}

/// Nothing is trusted before the signature is checked, and the body is read before it is seen whether the event can be
/// taken: a broken event should not wait for an hour first.
fn handle(m: inbox.Message) !inbox.Outcome {
    const body = try m.payload() orelse "";
    if (forged(body, try m.header("X-Hub-Signature-256") orelse "")) |why| return .deadLetter(why);

    const name = try m.header("X-GitHub-Event") orelse "";
    if (name.len == 0) return .deadLetter("malformed: X-GitHub-Event is missing");
    const required = kinds.get(name) orelse return .drop(try print(m, "nothing here handles this type of event: {s}", .{name}));
    if (body.len == 0) return .deadLetter(try print(m, "malformed: the body of the {s} event is empty", .{name}));
    const event = std.json.parseFromSliceLeaky(std.json.Value, m.arena, body, .{ .duplicate_field_behavior = .use_last }) catch |err| switch (err) {
        error.OutOfMemory => return err,
        else => return .deadLetter(try print(m, "malformed: the body of the {s} event is no JSON", .{name})),
    };
    for (required) |field| {
        if (!field.isIn(event)) return .deadLetter(try print(m, "malformed: the body of the {s} event has no {s}", .{ name, field.path }));
    }
    if (isNotReady(name)) return .retryAfter(settings.retry_delay_ms, try print(m, "{s} events are not taken yet", .{name}));
    return .ack;
}

fn print(m: inbox.Message, comptime format: []const u8, args: anytype) ![]const u8 {
    return std.fmt.allocPrint(m.arena, format, args);
}

/// Why the signature is not that of the body, or null. It compares in constant time, so that nobody can guess a signature
/// byte by byte.
fn forged(body: []const u8, signature: []const u8) ?[]const u8 {
    const prefix = "sha256=";
    if (signature.len == 0) return "forged: X-Hub-Signature-256 is missing";
    if (!std.mem.startsWith(u8, signature, prefix)) return "forged: X-Hub-Signature-256 does not start with sha256=";
    const digits = signature[prefix.len..];
    var claimed: [Hmac.mac_length]u8 = undefined;
    if (digits.len != 2 * claimed.len) return no_digits;
    _ = std.fmt.hexToBytes(&claimed, digits) catch return no_digits;

    var mac = settings.key;
    mac.update(body);
    var sum: [Hmac.mac_length]u8 = undefined;
    mac.final(&sum);
    if (!std.crypto.timing_safe.eql([Hmac.mac_length]u8, sum, claimed)) return "forged: X-Hub-Signature-256 is not the signature of this body";
    return null;
}

const no_digits = "forged: X-Hub-Signature-256 is not 64 hexadecimal digits";

/// What an event has to have: a text that is not empty, or a whole number that is not 0.
const Field = struct {
    path: []const u8, // behind dots
    is_number: bool = false,

    fn isIn(field: Field, event: std.json.Value) bool {
        var value = event;
        var names = std.mem.splitScalar(u8, field.path, '.');
        while (names.next()) |name| {
            if (value != .object) return false;
            value = value.object.get(name) orelse return false;
        }
        return switch (value) {
            .integer => |n| field.is_number and n != 0,
            .string => |s| !field.is_number and s.len > 0,
            else => false,
        };
    }
};

const repository: Field = .{ .path = "repository.full_name" };
const action: Field = .{ .path = "action" };

const kinds = std.StaticStringMap([]const Field).initComptime(.{
    .{ "ping", &.{Field{ .path = "hook_id", .is_number = true }} },
    .{ "push", &.{ Field{ .path = "ref" }, Field{ .path = "after" }, repository } },
    .{ "issues", &.{ action, Field{ .path = "issue.number", .is_number = true }, repository } },
    .{ "pull_request", &.{ action, Field{ .path = "number", .is_number = true }, repository } },
    .{ "deployment", &.{ action, Field{ .path = "deployment.id", .is_number = true }, repository } },
});

fn isNotReady(name: []const u8) bool {
    var names = std.mem.tokenizeAny(u8, settings.not_ready, ", ");
    while (names.next()) |one| if (std.mem.eql(u8, one, name)) return true;
    return false;
}

test "forged and good signatures" {
    const config = &.{ inbox.Header{ .name = "secret", .value = "It's a Secret to Everybody" }, inbox.Header{ .name = "not_ready", .value = "push" } };
    try std.testing.expectEqual(null, inbox.testing.start(start, .{ .config = config }));
    // The example of GitHub's documentation, "Validating webhook deliveries".
    const signature: inbox.Header = .{ .name = "X-Hub-Signature-256", .value = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" };
    const event: inbox.Header = .{ .name = "X-GitHub-Event", .value = "ping" };
    const good = inbox.testing.deliver(handle, .{ .payload = "Hello, World!", .headers = &.{ signature, event } });
    try std.testing.expectEqualStrings("malformed: the body of the ping event is no JSON", good.reason);
    const bad = inbox.testing.deliver(handle, .{ .payload = "Hello, Word!", .headers = &.{ signature, event } });
    try std.testing.expectEqualStrings("forged: X-Hub-Signature-256 is not the signature of this body", bad.reason);
}

test "durations" {
    try std.testing.expectEqual(90_000, duration("90s"));
    try std.testing.expectEqual(3_600_000, duration("1h"));
    try std.testing.expectEqual(20, duration("20ms"));
    for ([_][]const u8{ "", "1", "0s", "h", "-1s", "1d", "1hm", "99999999999999999999h" }) |text| try std.testing.expectEqual(null, duration(text));
}
