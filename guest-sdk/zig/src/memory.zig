//! Where memory comes from.

const std = @import("std");
const Allocator = std.mem.Allocator;

/// Memory that stays as long as the instance.
pub const lasting = if (@import("host.zig").is_real) std.heap.wasm_allocator else std.heap.page_allocator;

var arena = std.heap.ArenaAllocator.init(lasting);

/// The memory of the call, which the next one uses again.
pub fn ofCall() Allocator {
    return arena.allocator();
}

/// Begins a call: nothing is in its memory.
pub fn begin() Allocator {
    _ = arena.reset(.retain_capacity);
    return arena.allocator();
}
