const std = @import("std");

pub fn build(b: *std.Build) void {
    const handler = b.addExecutable(.{
        .name = "conformance",
        .root_source_file = b.path("handler.zig"),
        .target = b.resolveTargetQuery(.{
            .cpu_arch = .wasm32,
            .os_tag = .freestanding,
            .cpu_features_add = std.Target.wasm.featureSet(&.{.bulk_memory}),
        }),
        .optimize = .ReleaseSafe,
        .strip = true,
    });
    handler.root_module.addAnonymousImport("inbox", .{ .root_source_file = b.path("../../zig/src/inbox.zig") });
    handler.entry = .disabled;
    handler.rdynamic = true;
    handler.stack_size = 64 << 10;
    b.installArtifact(handler);
}
