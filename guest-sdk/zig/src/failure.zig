//! Errors of Zig are names. What else there is to say about the last one is kept here.

const std = @import("std");
const host = @import("host.zig");
const memory = @import("memory.zig");

/// What the host answers to a statement, a publication or a request that it does not carry out.
pub const HostError = error{
    /// It cannot read what it was asked.
    BadArgument,
    /// It is not in the handler's `allow`.
    NotAllowed,
    /// What was asked for failed: `failure` says why.
    Failed,
    /// The delivery's time is over.
    DeadlinePassed,
    /// It is beyond a limit of the handler.
    TooLarge,
};

/// Why the host did not do what it was asked.
pub const Failure = struct {
    /// What the host's function answered, such as -3 for `error.NotAllowed`; 0 where it was not asked.
    code: i32,
    /// What it says, for people.
    message: []const u8,
    /// The database's SQLSTATE, empty where it has none.
    sqlstate: []const u8 = "",
    /// The database's own number, 0 where it has none.
    number: i64 = 0,
};

var last: ?struct { err: anyerror, what: Failure, text: []const u8 } = null;

/// Begins a call, before which nothing has failed.
pub fn begin() void {
    last = null;
}

/// Of the last error that has one, until the handler returns.
pub fn failure() ?Failure {
    return if (last) |l| l.what else null;
}

/// What an error says, for people: what there is to say about the last one, or its name.
pub fn describe(err: anyerror) []const u8 {
    if (last) |l| if (l.err == err) return l.text;
    return @errorName(err);
}

/// An error whose text is the reason, where a handler or its initialization returns it:
///
///     return inbox.fail("no setting {s}", .{key});
pub fn fail(comptime format: []const u8, args: anytype) error{Failed} {
    return explained(error.Failed, print(format, args));
}

/// An error with more to say than its name.
pub fn explained(err: anytype, message: []const u8) @TypeOf(err) {
    last = .{ .err = err, .what = .{ .code = 0, .message = message }, .text = message };
    return err;
}

/// The error that a code of the host says, with the result where it has one.
pub fn refused(code: i32, comptime what: []const u8) HostError {
    var f: Failure = .{ .code = code, .message = what ++ ": the host does not say why" };
    var err: HostError = error.Failed;
    switch (code) {
        -2 => {
            err = error.BadArgument;
            f.message = what ++ ": the host cannot read it";
        },
        -3 => {
            err = error.NotAllowed;
            f.message = what ++ ": the handler is not allowed it, see allow in inbox.toml";
        },
        -5 => {
            err = error.DeadlinePassed;
            f.message = what ++ ": the deadline passed";
        },
        -6 => {
            err = error.TooLarge;
            f.message = what ++ ": beyond a limit of the handler";
        },
        else => if (said()) |s| {
            f.message = s.message;
            f.sqlstate = s.sqlstate;
            f.number = s.number;
        },
    }
    last = .{ .err = err, .what = f, .text = described(&f) };
    return err;
}

const Said = struct { message: []const u8, sqlstate: []const u8 = "", number: i64 = 0 };

fn said() ?Said {
    const arena = memory.ofCall();
    const json = host.read(arena, 512, host.v1.result, .{}) catch return null;
    return std.json.parseFromSliceLeaky(Said, arena, json orelse return null, .{ .ignore_unknown_fields = true }) catch null;
}

fn described(f: *const Failure) []const u8 {
    if (f.number != 0) return print("{s} ({d})", .{ f.message, f.number });
    if (f.sqlstate.len > 0) return print("{s} ({s})", .{ f.message, f.sqlstate });
    return f.message;
}

/// A text in the memory of the call.
pub fn print(comptime format: []const u8, args: anytype) []const u8 {
    return std.fmt.allocPrint(memory.ofCall(), format, args) catch format;
}
