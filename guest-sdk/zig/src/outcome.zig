const std = @import("std");
const host = @import("host.zig");
const failure = @import("failure.zig");

/// What becomes of a message, as a handler returns it. An error in its place is `backoff` with the error as the reason.
pub const Outcome = struct {
    code: Code,
    /// Logged, and kept in the table's error column.
    reason: []const u8 = "",
    /// The subscription's backoff where it is null.
    delay_ms: ?u64 = null,

    /// The numbers are the host's.
    pub const Code = enum(i32) { ack, retry, retry_after, drop, dead_letter, snooze };

    /// Finishes the message.
    pub const ack: Outcome = .{ .code = .ack };

    /// Delivers the message again at once, on its next attempt.
    pub fn retry(why: []const u8) Outcome {
        return .{ .code = .retry, .reason = why };
    }

    /// Delivers the message again after the subscription's backoff, on its next attempt.
    pub fn backoff(why: []const u8) Outcome {
        return .{ .code = .retry_after, .reason = why };
    }

    /// Delivers the message again after the delay, such as `5 * std.time.ms_per_min`, on its next attempt.
    pub fn retryAfter(delay_ms: u64, why: []const u8) Outcome {
        return .{ .code = .retry_after, .reason = why, .delay_ms = delay_ms };
    }

    /// Finishes the message as `ack` does, counted and logged apart.
    pub fn drop(why: []const u8) Outcome {
        return .{ .code = .drop, .reason = why };
    }

    /// Moves the message to the subscription's dead letters.
    pub fn deadLetter(why: []const u8) Outcome {
        return .{ .code = .dead_letter, .reason = why };
    }

    /// Delivers the message again after the delay without spending the attempt: for messages that came too early.
    pub fn snooze(delay_ms: u64, why: []const u8) Outcome {
        return .{ .code = .snooze, .reason = why, .delay_ms = delay_ms };
    }
};

/// Tells the host what a handler has returned, about the current message, and gives the outcome's code.
pub fn settle(result: anyerror!Outcome) i32 {
    const outcome = result catch |err| Outcome.backoff(failure.describe(err));
    if (outcome.reason.len > 0) host.reason(outcome.reason);
    if (outcome.delay_ms) |ms| _ = host.v1.retry_after(std.math.cast(i64, ms) orelse std.math.maxInt(i64));
    return @intFromEnum(outcome.code);
}
