const std = @import("std");

/// Offers the module `inbox`. `zig build test` runs its own tests.
pub fn build(b: *std.Build) void {
    const inbox = b.addModule("inbox", .{ .root_source_file = b.path("src/inbox.zig") });

    const tests = b.addTest(.{ .root_source_file = b.path("test.zig") });
    tests.root_module.addImport("inbox", inbox);
    b.step("test", "Run the tests").dependOn(&b.addRunArtifact(tests).step);
}
