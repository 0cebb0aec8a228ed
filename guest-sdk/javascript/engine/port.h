/* What QuickJS expects of a C library and WASI's has not. WebAssembly rounds to the nearest, always. */
#include <stddef.h>

#define FE_DOWNWARD 0x400
#define FE_UPWARD 0x800

/* Only asked of the allocator that engine.c replaces. */
static inline size_t malloc_usable_size(const void *block) {
    (void)block;
    return 0;
}
