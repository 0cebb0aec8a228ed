/*
 * The engine of handlers in JavaScript: QuickJS, and what its scripts see of the host, the functions of inbox_v1.
 *
 * It runs twice. When a handler is built, build.mjs has it load the handler's script, and keeps its memory as it is then
 * as the handler's module. When the handler runs, the script is there already, and so is what its top level has made.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs.h"
#include "../../c/inbox_sha256.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define HOST(name) __attribute__((import_module("inbox_v1"), import_name(#name))) extern

HOST(payload) int32_t host_payload(char *buf, size_t cap);
HOST(header) int32_t host_header(const char *name, size_t name_len, char *buf, size_t cap);
HOST(meta) int32_t host_meta(char *buf, size_t cap);
HOST(attempt) int32_t host_attempt(void);
HOST(deadline_ms) int64_t host_deadline_ms(void);
HOST(message) int32_t host_message(int32_t i);
HOST(outcome) int32_t host_outcome(int32_t code);
HOST(retry_after) int32_t host_retry_after(int64_t ms);
HOST(reason) int32_t host_reason(const char *text, size_t len);
HOST(log) int32_t host_log(int32_t level, const char *text, size_t len);
HOST(log_enabled) int32_t host_log_enabled(int32_t level);
HOST(config) int32_t host_config(const char *key, size_t key_len, char *buf, size_t cap);
HOST(now_ms) int64_t host_now_ms(void);
HOST(random) int32_t host_random(char *buf, size_t len);
HOST(db) int32_t host_db(int32_t conn, const char *sql, size_t sql_len, const char *args, size_t args_len);
HOST(publish) int32_t host_publish(const char *table, size_t table_len, const char *message, size_t message_len);
HOST(http) int32_t host_http(const char *request, size_t len);
HOST(result) int32_t host_result(char *buf, size_t cap);

/* How much of the stack scripts may use: less than the linker gives it. */
enum { SCRIPT_STACK = 448 * 1024 };

/* What the host gives is copied here first. A larger buffer than this one is given back. */
enum { ROOM = 64 * 1024 };
static char room[ROOM];

static JSRuntime *runtime;
static JSContext *context;
/*
 * The script's: run(count) handles a message, or a batch of count; finish() tells what a run came to that had to wait;
 * lost(error) ends the instance for a promise that was rejected while nobody waited for it.
 */
static JSValue run, finish, init, lost;

/* Ends the instance, as a failure with a reason. */
static _Noreturn void fail(const char *reason) {
    host_reason(reason, strlen(reason));
    __builtin_trap();
}

/* Ends the instance for an exception that nobody has caught. */
static _Noreturn void fail_exception(void) {
    const char *text = JS_ToCString(context, JS_GetException(context));
    fail(text == NULL ? "an exception without a text" : text);
}

/* A block of a script's, with its size in front: QuickJS decides by what is in use when to look for garbage. */
typedef struct {
    size_t size;
    _Alignas(8) char data[];
} block;

static block *block_of(const void *data) {
    return (block *)((char *)data - offsetof(block, data));
}

static size_t block_size(const void *data) {
    return data == NULL ? 0 : block_of(data)->size;
}

static void *block_resize(JSMallocState *state, void *data, size_t size) {
    size_t old = block_size(data);
    block *b = realloc(data == NULL ? NULL : block_of(data), offsetof(block, data) + size);
    if (b == NULL)
        return NULL;
    b->size = size;
    state->malloc_count += data == NULL;
    state->malloc_size += size - old;
    return b->data;
}

static void *block_new(JSMallocState *state, size_t size) {
    return block_resize(state, NULL, size);
}

static void block_free(JSMallocState *state, void *data) {
    if (data == NULL)
        return;
    state->malloc_count--;
    state->malloc_size -= block_size(data);
    free(block_of(data));
}

static void *block_change(JSMallocState *state, void *data, size_t size) {
    if (size > 0)
        return block_resize(state, data, size);
    block_free(state, data);
    return NULL;
}

static const JSMallocFunctions blocks = {block_new, block_free, block_change, block_size};

static JSValue out_of_memory(void) {
    return JS_ThrowOutOfMemory(context);
}

/* A text from a script. It is JS_FreeCString's to free. */
typedef struct {
    const char *data;
    size_t length;
} text;

static text text_of(JSContext *c, JSValueConst value) {
    text t;
    t.data = JS_ToCStringLen(c, &t.length, value);
    return t;
}

/* A value that one of the host's functions copies. */
typedef int32_t (*reader)(const text *name, char *buf, size_t cap);

/* Reads a value and makes it one of JavaScript; null where the host says that there is none. */
static JSValue read_value(JSContext *c, reader get, const text *name, int is_text) {
    char *buf = room;
    size_t cap = ROOM;
    int32_t n = get(name, buf, cap);
    if (n < 0)
        return JS_NULL;
    if ((size_t)n > cap) {
        cap = (size_t)n;
        buf = malloc(cap);
        if (buf == NULL)
            return out_of_memory();
        n = get(name, buf, cap);
    }
    JSValue value = is_text ? JS_NewStringLen(c, buf, (size_t)n) : JS_NewArrayBufferCopy(c, (const uint8_t *)buf, (size_t)n);
    if (buf != room)
        free(buf);
    return value;
}

static int32_t get_payload(const text *name, char *buf, size_t cap) {
    (void)name;
    return host_payload(buf, cap);
}

static int32_t get_meta(const text *name, char *buf, size_t cap) {
    (void)name;
    return host_meta(buf, cap);
}

static int32_t get_result(const text *name, char *buf, size_t cap) {
    (void)name;
    return host_result(buf, cap);
}

static int32_t get_header(const text *name, char *buf, size_t cap) {
    return host_header(name->data, name->length, buf, cap);
}

static int32_t get_config(const text *name, char *buf, size_t cap) {
    return host_config(name->data, name->length, buf, cap);
}

/* The type of a function that scripts call, with the arguments that it asks for. */
#define SCRIPT(name) static JSValue name(JSContext *c, JSValueConst self, int argc, JSValueConst *argv)
#define UNUSED (void)self, (void)argc, (void)argv

SCRIPT(js_payload) {
    UNUSED;
    return read_value(c, get_payload, NULL, 0);
}

SCRIPT(js_payload_text) {
    UNUSED;
    return read_value(c, get_payload, NULL, 1);
}

SCRIPT(js_meta) {
    UNUSED;
    return read_value(c, get_meta, NULL, 1);
}

SCRIPT(js_result) {
    UNUSED;
    return read_value(c, get_result, NULL, 1);
}

static JSValue read_named(JSContext *c, reader get, JSValueConst name) {
    text t = text_of(c, name);
    if (t.data == NULL)
        return JS_EXCEPTION;
    JSValue value = read_value(c, get, &t, 1);
    JS_FreeCString(c, t.data);
    return value;
}

SCRIPT(js_header) {
    UNUSED;
    return read_named(c, get_header, argv[0]);
}

SCRIPT(js_config) {
    UNUSED;
    return read_named(c, get_config, argv[0]);
}

SCRIPT(js_attempt) {
    UNUSED;
    return JS_NewInt32(c, host_attempt());
}

SCRIPT(js_time_left) {
    UNUSED;
    return JS_NewInt64(c, host_deadline_ms());
}

SCRIPT(js_now) {
    UNUSED;
    return JS_NewInt64(c, host_now_ms());
}

/* A whole number from a script. */
static int number_of(JSContext *c, JSValueConst value, int64_t *n) {
    return JS_ToInt64(c, n, value);
}

SCRIPT(js_message) {
    UNUSED;
    int64_t i;
    if (number_of(c, argv[0], &i) < 0)
        return JS_EXCEPTION;
    return JS_NewInt32(c, host_message((int32_t)i));
}

SCRIPT(js_outcome) {
    UNUSED;
    int64_t code;
    if (number_of(c, argv[0], &code) < 0)
        return JS_EXCEPTION;
    return JS_NewInt32(c, host_outcome((int32_t)code));
}

SCRIPT(js_retry_after) {
    UNUSED;
    int64_t ms;
    if (number_of(c, argv[0], &ms) < 0)
        return JS_EXCEPTION;
    return JS_NewInt32(c, host_retry_after(ms));
}

SCRIPT(js_reason) {
    UNUSED;
    text t = text_of(c, argv[0]);
    if (t.data == NULL)
        return JS_EXCEPTION;
    int32_t code = host_reason(t.data, t.length);
    JS_FreeCString(c, t.data);
    return JS_NewInt32(c, code);
}

SCRIPT(js_log) {
    UNUSED;
    int64_t level;
    if (number_of(c, argv[0], &level) < 0)
        return JS_EXCEPTION;
    text t = text_of(c, argv[1]);
    if (t.data == NULL)
        return JS_EXCEPTION;
    int32_t code = host_log((int32_t)level, t.data, t.length);
    JS_FreeCString(c, t.data);
    return JS_NewInt32(c, code);
}

SCRIPT(js_log_enabled) {
    UNUSED;
    int64_t level;
    if (number_of(c, argv[0], &level) < 0)
        return JS_EXCEPTION;
    return JS_NewBool(c, host_log_enabled((int32_t)level));
}

SCRIPT(js_random) {
    UNUSED;
    int64_t n;
    if (number_of(c, argv[0], &n) < 0)
        return JS_EXCEPTION;
    if (n < 0 || n > ROOM)
        return JS_ThrowRangeError(c, "%d random bytes at once are the most", ROOM);
    host_random(room, (size_t)n);
    return JS_NewArrayBufferCopy(c, (const uint8_t *)room, (size_t)n);
}

SCRIPT(js_db) {
    UNUSED;
    int64_t conn;
    if (number_of(c, argv[0], &conn) < 0)
        return JS_EXCEPTION;
    text sql = text_of(c, argv[1]), args = text_of(c, argv[2]);
    if (sql.data == NULL || args.data == NULL)
        return JS_EXCEPTION;
    int32_t code = host_db((int32_t)conn, sql.data, sql.length, args.data, args.length);
    JS_FreeCString(c, sql.data);
    JS_FreeCString(c, args.data);
    return JS_NewInt32(c, code);
}

SCRIPT(js_publish) {
    UNUSED;
    text table = text_of(c, argv[0]), message = text_of(c, argv[1]);
    if (table.data == NULL || message.data == NULL)
        return JS_EXCEPTION;
    int32_t code = host_publish(table.data, table.length, message.data, message.length);
    JS_FreeCString(c, table.data);
    JS_FreeCString(c, message.data);
    return JS_NewInt32(c, code);
}

SCRIPT(js_http) {
    UNUSED;
    text request = text_of(c, argv[0]);
    if (request.data == NULL)
        return JS_EXCEPTION;
    int32_t code = host_http(request.data, request.length);
    JS_FreeCString(c, request.data);
    return JS_NewInt32(c, code);
}

/* The bytes of an ArrayBuffer from an offset on. */
static const uint8_t *bytes_of(JSContext *c, JSValueConst *argv, size_t *length) {
    size_t size;
    int64_t from, n;
    const uint8_t *data = JS_GetArrayBuffer(c, &size, argv[0]);
    if (data == NULL || number_of(c, argv[1], &from) < 0 || number_of(c, argv[2], &n) < 0)
        return NULL;
    if (from < 0 || n < 0 || (uint64_t)from + (uint64_t)n > size) {
        JS_ThrowRangeError(c, "beyond the buffer");
        return NULL;
    }
    *length = (size_t)n;
    return data + from;
}

SCRIPT(js_encode_text) {
    UNUSED;
    text t = text_of(c, argv[0]);
    if (t.data == NULL)
        return JS_EXCEPTION;
    JSValue value = JS_NewArrayBufferCopy(c, (const uint8_t *)t.data, t.length);
    JS_FreeCString(c, t.data);
    return value;
}

SCRIPT(js_decode_text) {
    UNUSED;
    size_t n;
    const uint8_t *data = bytes_of(c, argv, &n);
    return data == NULL ? JS_EXCEPTION : JS_NewStringLen(c, (const char *)data, n);
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

SCRIPT(js_encode_base64) {
    UNUSED;
    size_t n;
    const uint8_t *data = bytes_of(c, argv, &n);
    if (data == NULL)
        return JS_EXCEPTION;
    char *out = malloc((n + 2) / 3 * 4 + 1), *at = out;
    if (out == NULL)
        return out_of_memory();
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t group = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        *at++ = letters[group >> 18];
        *at++ = letters[group >> 12 & 63];
        *at++ = left > 1 ? letters[group >> 6 & 63] : '=';
        *at++ = left > 2 ? letters[group & 63] : '=';
    }
    JSValue value = JS_NewStringLen(c, out, (size_t)(at - out));
    free(out);
    return value;
}

/* The bytes of base64, null where it is none. */
SCRIPT(js_decode_base64) {
    UNUSED;
    text t = text_of(c, argv[0]);
    if (t.data == NULL)
        return JS_EXCEPTION;
    while (t.length > 0 && t.data[t.length - 1] == '=')
        t.length--;
    uint8_t *out = malloc(t.length / 4 * 3 + 3);
    size_t n = 0;
    uint32_t group = 0;
    int bits = 0, good = out != NULL && t.length % 4 != 1;
    for (size_t i = 0; good && i < t.length; i++) {
        const char *found = t.data[i] == 0 ? NULL : strchr(letters, t.data[i]);
        good = found != NULL;
        group = group << 6 | (good ? (uint32_t)(found - letters) : 0);
        if ((bits += 6) >= 8)
            out[n++] = (uint8_t)(group >> (bits -= 8));
    }
    JSValue value = out == NULL ? out_of_memory() : good ? JS_NewArrayBufferCopy(c, out, n) : JS_NULL;
    free(out);
    JS_FreeCString(c, t.data);
    return value;
}

SCRIPT(js_sha256) {
    UNUSED;
    size_t n;
    const uint8_t *data = bytes_of(c, argv, &n);
    if (data == NULL)
        return JS_EXCEPTION;
    inbox_sha256 hash;
    uint8_t digest[32];
    inbox_sha256_begin(&hash);
    inbox_sha256_add(&hash, data, n);
    inbox_sha256_end(&hash, digest);
    return JS_NewArrayBufferCopy(c, digest, sizeof digest);
}

SCRIPT(js_fail) {
    UNUSED;
    text t = text_of(c, argv[0]);
    fail(t.data == NULL ? "an exception without a text" : t.data);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("payload", 0, js_payload),
    JS_CFUNC_DEF("payloadText", 0, js_payload_text),
    JS_CFUNC_DEF("header", 1, js_header),
    JS_CFUNC_DEF("meta", 0, js_meta),
    JS_CFUNC_DEF("attempt", 0, js_attempt),
    JS_CFUNC_DEF("timeLeft", 0, js_time_left),
    JS_CFUNC_DEF("message", 1, js_message),
    JS_CFUNC_DEF("outcome", 1, js_outcome),
    JS_CFUNC_DEF("retryAfter", 1, js_retry_after),
    JS_CFUNC_DEF("reason", 1, js_reason),
    JS_CFUNC_DEF("log", 2, js_log),
    JS_CFUNC_DEF("logEnabled", 1, js_log_enabled),
    JS_CFUNC_DEF("config", 1, js_config),
    JS_CFUNC_DEF("now", 0, js_now),
    JS_CFUNC_DEF("random", 1, js_random),
    JS_CFUNC_DEF("db", 3, js_db),
    JS_CFUNC_DEF("publish", 2, js_publish),
    JS_CFUNC_DEF("http", 1, js_http),
    JS_CFUNC_DEF("result", 0, js_result),
    JS_CFUNC_DEF("encodeText", 1, js_encode_text),
    JS_CFUNC_DEF("decodeText", 3, js_decode_text),
    JS_CFUNC_DEF("encodeBase64", 3, js_encode_base64),
    JS_CFUNC_DEF("decodeBase64", 1, js_decode_base64),
    JS_CFUNC_DEF("sha256", 3, js_sha256),
    JS_CFUNC_DEF("fail", 1, js_fail),
};

/* A promise that was rejected, and that nobody waits for yet. */
typedef struct rejection {
    struct rejection *next;
    JSValue promise, reason;
} rejection;
static rejection *rejections;

static void track(JSContext *c, JSValueConst promise, JSValueConst reason, JS_BOOL is_handled, void *opaque) {
    (void)opaque;
    if (!is_handled) {
        rejection *r = malloc(sizeof *r);
        if (r == NULL)
            fail("out of memory");
        *r = (rejection){rejections, JS_DupValue(c, promise), JS_DupValue(c, reason)};
        rejections = r;
        return;
    }
    for (rejection **at = &rejections; *at != NULL; at = &(*at)->next) {
        rejection *r = *at;
        if (JS_VALUE_GET_PTR(r->promise) != JS_VALUE_GET_PTR(promise))
            continue;
        *at = r->next;
        JS_FreeValue(c, r->promise);
        JS_FreeValue(c, r->reason);
        free(r);
        return;
    }
}

/* Runs what promises have left to do. */
static void run_jobs(void) {
    JSContext *c;
    int n;
    while ((n = JS_ExecutePendingJob(runtime, &c)) > 0)
        ;
    if (n < 0)
        fail_exception();
    if (rejections == NULL)
        return;
    JS_Call(context, lost, JS_UNDEFINED, 1, &rejections->reason);
    fail_exception(); /* lost does not return */
}

/* Room for the script, when a handler is built. */
EXPORT(inbox_build_room) char *build_room(size_t length) {
    return malloc(length + 1);
}

/* Runs the script, which leaves globalThis.inbox_handler, when a handler is built. */
EXPORT(inbox_build_load) void build_load(char *script, size_t length) {
    runtime = JS_NewRuntime2(&blocks, NULL);
    context = runtime == NULL ? NULL : JS_NewContext(runtime);
    if (context == NULL)
        fail("out of memory");
    JS_SetMaxStackSize(runtime, SCRIPT_STACK);
    JS_SetHostPromiseRejectionTracker(runtime, track, NULL);
    JSValue global = JS_GetGlobalObject(context), host = JS_NewObject(context);
    JS_SetPropertyFunctionList(context, host, functions, sizeof functions / sizeof *functions);
    JS_SetPropertyStr(context, global, "inbox_v1", host);
    script[length] = 0;
    JSValue value = JS_Eval(context, script, length, "handler.js", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT);
    if (JS_IsException(value))
        fail_exception();
    JS_FreeValue(context, value);
    JSValue handler = JS_GetPropertyStr(context, global, "inbox_handler");
    run = JS_GetPropertyStr(context, handler, "run");
    finish = JS_GetPropertyStr(context, handler, "finish");
    init = JS_GetPropertyStr(context, handler, "init");
    lost = JS_GetPropertyStr(context, handler, "lost");
    JS_FreeValue(context, handler);
    JS_FreeValue(context, global);
    free(script);
    run_jobs();
    JS_RunGC(runtime);
}

/* The code that a function of the script gives, at once or by finish once its promises are kept. */
static int32_t code_of(JSValue function, int32_t count) {
    JS_UpdateStackTop(runtime);
    JSValue argument = JS_NewInt32(context, count);
    JSValue value = JS_Call(context, function, JS_UNDEFINED, 1, &argument);
    if (JS_IsException(value))
        fail_exception();
    run_jobs();
    if (JS_IsUndefined(value))
        value = JS_Call(context, finish, JS_UNDEFINED, 0, NULL);
    int32_t code;
    if (JS_IsException(value) || JS_ToInt32(context, &code, value) < 0)
        fail_exception();
    return code;
}

EXPORT(inbox_init) int32_t handler_init(void) {
    return code_of(init, 0);
}

EXPORT(inbox_handle) int32_t handle(void) {
    return code_of(run, -1);
}

EXPORT(inbox_handle_batch) int32_t handle_batch(int32_t count) {
    return code_of(run, count);
}
