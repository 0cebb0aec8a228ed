const std = @import("std");

pub fn build(b: *std.Build) void {
    const inbox = b.createModule(.{ .root_source_file = b.path("../../../../guest-sdk/zig/src/inbox.zig") });

    const handler = b.addExecutable(.{
        .name = "webhook",
        .root_source_file = b.path("webhook.zig"),
        .target = b.resolveTargetQuery(.{
            .cpu_arch = .wasm32,
            .os_tag = .freestanding,
            .cpu_features_add = std.Target.wasm.featureSet(&.{.bulk_memory}),
        }),
        .optimize = .ReleaseSafe,
        .strip = true,
    });
    handler.root_module.addImport("inbox", inbox);
    handler.entry = .disabled;
    handler.rdynamic = true;
    handler.stack_size = 64 << 10;
    b.installArtifact(handler);

    const tests = b.addTest(.{ .root_source_file = b.path("webhook.zig") });
    tests.root_module.addImport("inbox", inbox);
    b.step("test", "Run the tests").dependOn(&b.addRunArtifact(tests).step);
}
