/*
 * inbox.h: handlers for inbox-wasm in C and C++. One header, no library behind it.
 *
 *     #include "inbox.h"
 *
 *     static inbox_outcome handle(void) {
 *         inbox_text payload = inbox_payload();
 *         if (payload.length == 0)
 *             return inbox_because(INBOX_DEAD_LETTER, "the payload is empty");
 *         return INBOX_ACK;
 *     }
 *
 *     INBOX_HANDLER(handle)
 *
 * Build it without a C library,
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry,--stack-first -o handler.wasm handler.c
 *
 * or with one, as a reactor:
 *
 *     clang --target=wasm32-wasi -O2 -mbulk-memory -mexec-model=reactor -o handler.wasm handler.c
 *
 * Texts that functions return lie in the memory of the message: they are there until the handler returns, and
 * nobody frees them. Those that INBOX_INIT reads stay as long as the instance. A module imports only what it uses. A function that the handler is not granted in inbox.toml keeps the
 * module from loading.
 */
#ifndef INBOX_H
#define INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef __wasm__
#include <stdlib.h>
#endif

#ifdef __cplusplus
extern "C" {
#define INBOX_ZERO {}
#else
#define INBOX_ZERO {0}
#endif

/* ---- Outcomes -------------------------------------------------------------------------------------------- */

/* What becomes of the row. Any other number is a failure, settled by on_failure.outcome. */
typedef int32_t inbox_outcome;
#define INBOX_ACK ((inbox_outcome)0)         /* finished */
#define INBOX_RETRY ((inbox_outcome)1)       /* again at once */
#define INBOX_RETRY_AFTER ((inbox_outcome)2) /* again after inbox_delay, or the subscription's backoff */
#define INBOX_DROP ((inbox_outcome)3)        /* finished, counted apart */
#define INBOX_DEAD_LETTER ((inbox_outcome)4) /* moved to the dead letters */
#define INBOX_SNOOZE ((inbox_outcome)5)      /* as INBOX_RETRY_AFTER, without spending the attempt */

/* What functions of the host answer instead of a length or 0. */
typedef int32_t inbox_error;
#define INBOX_ABSENT ((inbox_error)-1)          /* there is none, or NULL */
#define INBOX_BAD_ARGUMENT ((inbox_error)-2)    /* no UTF-8, no JSON, an unknown name */
#define INBOX_NOT_ALLOWED ((inbox_error)-3)     /* not in the handler's allow */
#define INBOX_FAILED ((inbox_error)-4)          /* the result says why, as JSON */
#define INBOX_DEADLINE_PASSED ((inbox_error)-5) /* the delivery's time is over */
#define INBOX_TOO_LARGE ((inbox_error)-6)       /* beyond a limit of the handler */

/* ---- Texts ----------------------------------------------------------------------------------------------- */

/* Bytes with their number; data is NULL where there is no value. A NUL follows them, for functions of C. */
typedef struct inbox_text {
    const char *data;
    size_t length;
} inbox_text;

static inline size_t inbox_strlen(const char *s) {
    size_t n = 0;
    while (s[n] != 0)
        n++;
    return n;
}

/* The text of a C string. */
static inline inbox_text inbox_string(const char *s) {
    inbox_text t;
    t.data = s;
    t.length = s == NULL ? 0 : inbox_strlen(s);
    return t;
}

static inline inbox_text inbox_slice(const char *data, size_t length) {
    inbox_text t;
    t.data = data;
    t.length = length;
    return t;
}

static inline bool inbox_equal(inbox_text a, const char *b) {
    size_t n = inbox_strlen(b);
    if (a.data == NULL || a.length != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (a.data[i] != b[i])
            return false;
    return true;
}

/* ---- The functions of the host, as they are: see the table in package abi ------------------------------------- */

#ifdef __wasm__
#define INBOX_IMPORT(name) __attribute__((import_module("inbox_v1"), import_name(name)))
#else
#define INBOX_IMPORT(name) /* for tests with the machine's own compiler: see inbox_test.h */
#endif

INBOX_IMPORT("payload") int32_t inbox_v1_payload(void *buf, uint32_t cap);
INBOX_IMPORT("header") int32_t inbox_v1_header(const void *name, uint32_t name_len, void *buf, uint32_t cap);
INBOX_IMPORT("meta") int32_t inbox_v1_meta(void *buf, uint32_t cap);
INBOX_IMPORT("attempt") int32_t inbox_v1_attempt(void);
INBOX_IMPORT("deadline_ms") int64_t inbox_v1_deadline_ms(void);
INBOX_IMPORT("message") int32_t inbox_v1_message(int32_t i);
INBOX_IMPORT("outcome") int32_t inbox_v1_outcome(int32_t code);
INBOX_IMPORT("retry_after") int32_t inbox_v1_retry_after(int64_t ms);
INBOX_IMPORT("reason") int32_t inbox_v1_reason(const void *ptr, uint32_t len);
INBOX_IMPORT("log") int32_t inbox_v1_log(int32_t level, const void *ptr, uint32_t len);
INBOX_IMPORT("log_enabled") int32_t inbox_v1_log_enabled(int32_t level);
INBOX_IMPORT("config") int32_t inbox_v1_config(const void *key, uint32_t key_len, void *buf, uint32_t cap);
INBOX_IMPORT("now_ms") int64_t inbox_v1_now_ms(void);
INBOX_IMPORT("random") int32_t inbox_v1_random(void *ptr, uint32_t len);
INBOX_IMPORT("db") int32_t inbox_v1_db(int32_t conn, const void *sql, uint32_t sql_len, const void *args, uint32_t args_len);
INBOX_IMPORT("publish") int32_t inbox_v1_publish(const void *table, uint32_t table_len, const void *msg, uint32_t msg_len);
INBOX_IMPORT("http") int32_t inbox_v1_http(const void *req, uint32_t req_len);
INBOX_IMPORT("result") int32_t inbox_v1_result(void *buf, uint32_t cap);

/* ---- Giving up ------------------------------------------------------------------------------------------- */

/* Says why the row comes to what it does: logged, and kept in the table's error column. */
static inline void inbox_reason(inbox_text why) { (void)inbox_v1_reason(why.data, (uint32_t)why.length); }

/* An outcome with its reason. */
static inline inbox_outcome inbox_because(inbox_outcome outcome, const char *why) {
    inbox_reason(inbox_string(why));
    return outcome;
}

/* Fails the message with a reason and ends the instance; the next message has a new one. */
__attribute__((noreturn)) static inline void inbox_panic(const char *why) {
    inbox_reason(inbox_string(why));
    __builtin_trap();
}

/* ---- The memory of a message --------------------------------------------------------------------------------- */

typedef struct inbox_memory {
    char *base;
    size_t used, size;
    size_t kept; /* of the initialization, in front */
} inbox_memory;

/* More pages for the module, its number as it was before; (size_t)-1 where there are none. */
static inline size_t inbox_more_pages(size_t pages) {
#ifdef __wasm__
    return __builtin_wasm_memory_grow(0, pages);
#else
    void *p = NULL;
    return posix_memalign(&p, 65536, pages * 65536) == 0 ? (size_t)p / 65536 : (size_t)-1;
#endif
}

/* One for each translation unit that includes this header: a handler is best kept in one. */
static inbox_memory inbox_message_memory;

/* Room in the memory of the message, which grows by what the module's own memory may. */
static inline char *inbox_allocate(size_t n) {
    inbox_memory *m = &inbox_message_memory;
    n = (n + 15) & ~(size_t)15;
    if (m->size - m->used < n) {
        /* Twice as much each time, so that what is left behind is less than what is used. */
        size_t want = n > 2 * m->size ? n : 2 * m->size;
        size_t pages = (want + 65535) / 65536;
        size_t at = inbox_more_pages(pages);
        if (at == (size_t)-1)
            inbox_panic("out of memory");
        if (m->base == NULL || at * 65536 != (size_t)m->base + m->size) {
            m->base = (char *)(at * 65536);
            m->used = m->size = m->kept = 0;
        }
        m->size += pages * 65536;
    }
    char *p = m->base + m->used;
    m->used += n;
    return p;
}

static inline void inbox_forget(void) { inbox_message_memory.used = inbox_message_memory.kept; }
static inline void inbox_keep(void) { inbox_message_memory.kept = inbox_message_memory.used; }

/* Calls the host until its answer fits. */
#define INBOX_READ(first, ...)                                                                                            \
    size_t cap = (first);                                                                                                 \
    for (;;) {                                                                                                            \
        char *buf = inbox_allocate(cap + 1);                                                                              \
        int32_t n = (__VA_ARGS__);                                                                                        \
        if (n < 0)                                                                                                        \
            return inbox_slice(NULL, 0);                                                                                  \
        if ((size_t)n <= cap) {                                                                                           \
            buf[n] = 0;                                                                                                   \
            return inbox_slice(buf, (size_t)n);                                                                           \
        }                                                                                                                 \
        cap = (size_t)n;                                                                                                  \
    }

/* ---- The message ----------------------------------------------------------------------------------------- */

/* The payload, or in row mode the row as a JSON object; without data where the column is NULL. */
static inline inbox_text inbox_payload(void) { INBOX_READ(4096, inbox_v1_payload(buf, (uint32_t)cap)) }

/* One header; a value that is no string is its JSON text. Without data where there is none. */
static inline inbox_text inbox_header(const char *name) {
    uint32_t length = (uint32_t)inbox_strlen(name);
    INBOX_READ(256, inbox_v1_header(name, length, buf, (uint32_t)cap))
}

/* A JSON object: subscription, table, group, id, attempt, max_attempts, partition_key, headers, deadline_ms. */
static inline inbox_text inbox_meta(void) { INBOX_READ(1024, inbox_v1_meta(buf, (uint32_t)cap)) }

/* The number of this delivery, 1 for the first; 0 where the table counts none. */
static inline int32_t inbox_attempt(void) { return inbox_v1_attempt(); }

/* How many milliseconds the handler has left. */
static inline int64_t inbox_time_left(void) { return inbox_v1_deadline_ms(); }

/* The delay of INBOX_RETRY_AFTER and INBOX_SNOOZE, in milliseconds. */
static inline inbox_error inbox_delay(int64_t ms) { return inbox_v1_retry_after(ms); }

/* In a batch: makes message i, from 0, the one that every function here is about. */
static inline inbox_error inbox_use(int32_t i) { return inbox_v1_message(i); }

/* In a batch: decides about the message in use. The others come to what the handler returns. */
static inline inbox_error inbox_settle(inbox_outcome outcome) { return inbox_v1_outcome(outcome); }

/* ---- The world ------------------------------------------------------------------------------------------- */

/* The weight of a line of the log. */
typedef int32_t inbox_level;
#define INBOX_TRACE ((inbox_level)0)
#define INBOX_DEBUG ((inbox_level)1)
#define INBOX_INFO ((inbox_level)2)
#define INBOX_WARN ((inbox_level)3)
#define INBOX_ERROR ((inbox_level)4)

/* Writes a line to the host's log, which adds subscription, row and attempt. */
static inline void inbox_log(inbox_level level, const char *line) { (void)inbox_v1_log(level, line, (uint32_t)inbox_strlen(line)); }
static inline void inbox_log_text(inbox_level level, inbox_text line) { (void)inbox_v1_log(level, line.data, (uint32_t)line.length); }

/* Whether a line of that weight would be written. */
static inline bool inbox_log_enabled(inbox_level level) { return inbox_v1_log_enabled(level) == 1; }

/* One of the handler's own settings; without data where there is none. */
static inline inbox_text inbox_config(const char *key) {
    uint32_t length = (uint32_t)inbox_strlen(key);
    INBOX_READ(256, inbox_v1_config(key, length, buf, (uint32_t)cap))
}

/* Milliseconds since 1970. */
static inline int64_t inbox_now(void) { return inbox_v1_now_ms(); }

/* Random bytes that are fit for cryptography. */
static inline void inbox_random(void *bytes, size_t length) {
    if (inbox_v1_random(bytes, (uint32_t)length) < 0)
        inbox_panic("the host refuses random bytes");
}

/* ---- Writing JSON ------------------------------------------------------------------------------------------ */

/*
 * A writer of JSON in the memory of the message:
 *
 *     inbox_json j = INBOX_ZERO;
 *     inbox_json_open(&j, '[');
 *     inbox_json_string(&j, inbox_payload());
 *     inbox_json_int(&j, 7);
 *     inbox_json_close(&j, ']');
 *     inbox_text args = inbox_json_text(&j);
 */
typedef struct inbox_json {
    char *data;
    size_t length, size;
    bool comma; /* before the next value */
} inbox_json;

static inline void inbox_json_raw(inbox_json *j, const char *data, size_t length) {
    if (j->size - j->length < length + 1) {
        size_t size = 2 * j->size + length + 256;
        char *data_before = j->data;
        j->data = inbox_allocate(size);
        j->size = size;
        if (j->length > 0)
            __builtin_memcpy(j->data, data_before, j->length);
    }
    if (length > 0)
        __builtin_memcpy(j->data + j->length, data, length);
    j->length += length;
    j->data[j->length] = 0;
}

static inline void inbox_json_separate(inbox_json *j) {
    if (j->comma)
        inbox_json_raw(j, ",", 1);
    j->comma = true;
}

/* A value that is JSON already; null where the text has no data, as of a member that is absent. */
static inline void inbox_json_value(inbox_json *j, inbox_text json) {
    if (json.data == NULL)
        json = inbox_string("null");
    inbox_json_separate(j);
    inbox_json_raw(j, json.data, json.length);
}

/* Opens an array, '[', or an object, '{'. */
static inline void inbox_json_open(inbox_json *j, char bracket) {
    inbox_json_separate(j);
    inbox_json_raw(j, &bracket, 1);
    j->comma = false;
}

static inline void inbox_json_close(inbox_json *j, char bracket) {
    inbox_json_raw(j, &bracket, 1);
    j->comma = true;
}

static inline void inbox_json_quoted(inbox_json *j, inbox_text s) {
    static const char digits[] = "0123456789abcdef";
    inbox_json_raw(j, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < s.length; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        char escaped[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        inbox_json_raw(j, s.data + from, i - from);
        inbox_json_raw(j, escaped, 6);
        from = i + 1;
    }
    inbox_json_raw(j, s.data + from, s.length - from);
    inbox_json_raw(j, "\"", 1);
}

/* A string, which has to be UTF-8; null where the text has no data. */
static inline void inbox_json_string(inbox_json *j, inbox_text s) {
    inbox_json_separate(j);
    if (s.data == NULL)
        inbox_json_raw(j, "null", 4);
    else
        inbox_json_quoted(j, s);
}

/* The name of a member; its value follows. */
static inline void inbox_json_name(inbox_json *j, const char *name) {
    inbox_json_separate(j);
    inbox_json_quoted(j, inbox_string(name));
    inbox_json_raw(j, ":", 1);
    j->comma = false;
}

static inline void inbox_json_int(inbox_json *j, int64_t n) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    inbox_json_separate(j);
    if (n < 0)
        inbox_json_raw(j, "-", 1);
    inbox_json_raw(j, digits + at, sizeof digits - at);
}

static inline void inbox_json_bool(inbox_json *j, bool b) {
    inbox_json_separate(j);
    inbox_json_raw(j, b ? "true" : "false", b ? 4 : 5);
}

static inline void inbox_json_base64(inbox_json *j, inbox_text bytes) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    inbox_json_separate(j);
    inbox_json_raw(j, "\"", 1);
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t have = bytes.length - i < 3 ? bytes.length - i : 3;
        uint32_t group = (uint32_t)(unsigned char)bytes.data[i] << 16;
        if (have > 1)
            group |= (uint32_t)(unsigned char)bytes.data[i + 1] << 8;
        if (have > 2)
            group |= (uint32_t)(unsigned char)bytes.data[i + 2];
        char four[4] = {letters[group >> 18], letters[group >> 12 & 63], have > 1 ? letters[group >> 6 & 63] : '=', have > 2 ? letters[group & 63] : '='};
        inbox_json_raw(j, four, 4);
    }
    inbox_json_raw(j, "\"", 1);
}

/* Bytes as the contract has them in an argument or a row: {"base64":".."}. */
static inline void inbox_json_bytes(inbox_json *j, inbox_text bytes) {
    inbox_json_open(j, '{');
    inbox_json_name(j, "base64");
    inbox_json_base64(j, bytes);
    inbox_json_close(j, '}');
}

static inline inbox_text inbox_json_text(const inbox_json *j) { return inbox_slice(j->data, j->length); }

/* ---- Reading JSON ------------------------------------------------------------------------------------------ */

static inline const char *inbox_json_skip(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* The end of the value that starts at p, NULL where there is none. */
static inline const char *inbox_json_end(const char *p, const char *end) {
    int depth = 0;
    do {
        p = inbox_json_skip(p, end);
        if (p >= end)
            return NULL;
        char c = *p++;
        if (c == '"') {
            while (p < end && *p != '"')
                p += *p == '\\' ? 2 : 1;
            if (p >= end)
                return NULL;
            p++;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c != ',' && c != ':') {
            while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ':' && *p > ' ')
                p++;
        }
    } while (depth > 0);
    return depth == 0 ? p : NULL;
}

static inline const char *inbox_json_check(const char *p, const char *end, int depth);

/* Whether a text is one JSON value. The functions below read what is none as far as they can. */
static inline bool inbox_json_is_valid(inbox_text json) {
    if (json.data == NULL)
        return false;
    const char *end = json.data + json.length, *p = inbox_json_check(json.data, end, 0);
    return p != NULL && inbox_json_skip(p, end) == end;
}

static inline const char *inbox_json_check_string(const char *p, const char *end) {
    while (p < end && *p != '"') {
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p++ != '\\')
            continue;
        if (p >= end)
            return NULL;
        char c = *p++;
        if (c == 'u') {
            for (int i = 0; i < 4; i++, p++)
                if (p >= end || !((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f') || (*p >= 'A' && *p <= 'F')))
                    return NULL;
        } else if (c != '"' && c != '\\' && c != '/' && c != 'b' && c != 'f' && c != 'n' && c != 'r' && c != 't') {
            return NULL;
        }
    }
    return p < end ? p + 1 : NULL;
}

static inline const char *inbox_json_check_digits(const char *p, const char *end) {
    const char *first = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p == first ? NULL : p;
}

static inline const char *inbox_json_check_number(const char *p, const char *end) {
    p += *p == '-';
    const char *whole = p;
    p = inbox_json_check_digits(p, end);
    if (p == NULL || (*whole == '0' && p > whole + 1))
        return NULL;
    if (p < end && *p == '.' && (p = inbox_json_check_digits(p + 1, end)) == NULL)
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        p = inbox_json_check_digits(p, end);
    }
    return p;
}

static inline const char *inbox_json_check_word(const char *p, const char *end, const char *word) {
    for (; *word != 0; word++, p++)
        if (p >= end || *p != *word)
            return NULL;
    return p;
}

/* The end of a valid value, NULL where there is none. */
static inline const char *inbox_json_check(const char *p, const char *end, int depth) {
    p = inbox_json_skip(p, end);
    if (p >= end || depth > 128)
        return NULL;
    char open = *p, close = open == '{' ? '}' : ']';
    if (open == '"')
        return inbox_json_check_string(p + 1, end);
    if (open == 't')
        return inbox_json_check_word(p, end, "true");
    if (open == 'f')
        return inbox_json_check_word(p, end, "false");
    if (open == 'n')
        return inbox_json_check_word(p, end, "null");
    if (open != '{' && open != '[')
        return inbox_json_check_number(p, end);
    p = inbox_json_skip(p + 1, end);
    if (p < end && *p == close)
        return p + 1;
    for (;;) {
        if (open == '{') {
            p = inbox_json_skip(p, end);
            if (p >= end || *p != '"' || (p = inbox_json_check_string(p + 1, end)) == NULL)
                return NULL;
            p = inbox_json_skip(p, end);
            if (p >= end || *p++ != ':')
                return NULL;
        }
        p = inbox_json_check(p, end, depth + 1);
        if (p == NULL || (p = inbox_json_skip(p, end)) >= end)
            return NULL;
        if (*p == close)
            return p + 1;
        if (*p++ != ',')
            return NULL;
    }
}

static inline inbox_text inbox_json_decode(inbox_text json);

/* The JSON of a member of an object, without data where there is none. */
static inline inbox_text inbox_json_member(inbox_text object, const char *name) {
    const char *p = object.data, *end = object.data + object.length;
    if (p != NULL)
        p = inbox_json_skip(p, end);
    if (p == NULL || p >= end || *p++ != '{')
        return inbox_slice(NULL, 0);
    while ((p = inbox_json_skip(p, end)) < end && *p != '}') {
        const char *key_end = inbox_json_end(p, end);
        if (key_end == NULL)
            break;
        bool found = inbox_equal(inbox_json_decode(inbox_slice(p, (size_t)(key_end - p))), name);
        p = inbox_json_skip(key_end, end);
        if (p >= end || *p++ != ':')
            break;
        p = inbox_json_skip(p, end);
        const char *value_end = inbox_json_end(p, end);
        if (value_end == NULL)
            break;
        if (found)
            return inbox_slice(p, (size_t)(value_end - p));
        p = inbox_json_skip(value_end, end);
        if (p < end && *p == ',')
            p++;
    }
    return inbox_slice(NULL, 0);
}

/* An element of an array, from 0. */
static inline inbox_text inbox_json_element(inbox_text array, size_t index) {
    const char *p = array.data, *end = array.data + array.length;
    if (p != NULL)
        p = inbox_json_skip(p, end);
    if (p == NULL || p >= end || *p++ != '[')
        return inbox_slice(NULL, 0);
    while ((p = inbox_json_skip(p, end)) < end && *p != ']') {
        const char *value_end = inbox_json_end(p, end);
        if (value_end == NULL)
            break;
        if (index-- == 0)
            return inbox_slice(p, (size_t)(value_end - p));
        p = inbox_json_skip(value_end, end);
        if (p < end && *p == ',')
            p++;
    }
    return inbox_slice(NULL, 0);
}

static inline uint32_t inbox_json_hex(const char *p, const char *end) {
    uint32_t n = 0;
    for (int i = 0; i < 4 && p < end; i++, p++)
        n = n << 4 | (uint32_t)(*p >= 'a' ? *p - 'a' + 10 : *p >= 'A' ? *p - 'A' + 10 : *p - '0');
    return n;
}

/* The content of a JSON string; any other value is its own text, and null has no data. */
static inline inbox_text inbox_json_decode(inbox_text json) {
    if (json.data == NULL || inbox_equal(json, "null"))
        return inbox_slice(NULL, 0);
    if (json.length < 2 || json.data[0] != '"')
        return json;
    const char *p = json.data + 1, *end = json.data + json.length - 1;
    char *out = inbox_allocate(json.length + 1), *q = out;
    while (p < end) {
        if (*p != '\\') {
            *q++ = *p++;
            continue;
        }
        p++;
        char c = *p++;
        if (c != 'u') {
            *q++ = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
            continue;
        }
        uint32_t n = inbox_json_hex(p, end);
        p += 4;
        if (n >= 0xd800 && n < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
            n = 0x10000 + ((n - 0xd800) << 10) + (inbox_json_hex(p + 2, end) - 0xdc00);
            p += 6;
        }
        if (n < 0x80) {
            *q++ = (char)n;
        } else if (n < 0x800) {
            *q++ = (char)(0xc0 | n >> 6);
            *q++ = (char)(0x80 | (n & 63));
        } else if (n < 0x10000) {
            *q++ = (char)(0xe0 | n >> 12);
            *q++ = (char)(0x80 | (n >> 6 & 63));
            *q++ = (char)(0x80 | (n & 63));
        } else {
            *q++ = (char)(0xf0 | n >> 18);
            *q++ = (char)(0x80 | (n >> 12 & 63));
            *q++ = (char)(0x80 | (n >> 6 & 63));
            *q++ = (char)(0x80 | (n & 63));
        }
    }
    *q = 0;
    return inbox_slice(out, (size_t)(q - out));
}

/* The bytes of a JSON string in base64. */
static inline inbox_text inbox_json_decode_base64(inbox_text json) {
    inbox_text s = inbox_json_decode(json);
    if (s.data == NULL)
        return s;
    char *out = inbox_allocate(s.length + 1), *q = out;
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < s.length; i++) {
        char c = s.data[i];
        int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
        if (v < 0)
            break;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            *q++ = (char)(bits >> have);
        }
    }
    *q = 0;
    return inbox_slice(out, (size_t)(q - out));
}

/* The whole number that a value is, or other where it is none. */
static inline int64_t inbox_json_number(inbox_text json, int64_t other) {
    inbox_text s = inbox_json_decode(json);
    size_t i = s.length > 0 && s.data[0] == '-' ? 1 : 0;
    uint64_t n = 0;
    if (s.data == NULL || i == s.length)
        return other;
    for (; i < s.length; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return other;
        n = n * 10 + (uint64_t)(s.data[i] - '0');
    }
    return s.data[0] == '-' ? (int64_t)(0 - n) : (int64_t)n;
}

/* ---- SQL, publishing, HTTP --------------------------------------------------------------------------------- */

static inline inbox_text inbox_result(void) { INBOX_READ(4096, inbox_v1_result(buf, (uint32_t)cap)) }

/* The connections of inbox_db. */
#define INBOX_POOL 0        /* the thread's own: a statement commits on its own. allow.db = "pool" */
#define INBOX_TRANSACTION 1 /* the delivery's: kept with the ack alone. allow.db = "tx" */

/*
 * Runs one statement with a JSON array of arguments, which may be empty. Answers 0 and leaves {"columns":[..],"rows":[[..]],
 * "affected":n} as the result, INBOX_FAILED and leaves {"message":"..","sqlstate":"..","number":n}, or another error.
 */
static inline inbox_error inbox_db(int32_t conn, const char *sql, inbox_text args, inbox_text *result) {
    int32_t n = inbox_v1_db(conn, sql, (uint32_t)inbox_strlen(sql), args.data, (uint32_t)args.length);
    *result = n >= 0 || n == INBOX_FAILED ? inbox_result() : inbox_slice(NULL, 0);
    return n < 0 ? n : 0;
}

/* A header of a message or a request. */
typedef struct inbox_pair {
    const char *name, *value;
} inbox_pair;

static inline void inbox_json_pairs(inbox_json *j, const char *name, const inbox_pair *pairs, size_t count) {
    if (count == 0)
        return;
    inbox_json_name(j, name);
    inbox_json_open(j, '{');
    for (size_t i = 0; i < count; i++) {
        inbox_json_name(j, pairs[i].name);
        inbox_json_string(j, inbox_string(pairs[i].value));
    }
    inbox_json_close(j, '}');
}

/* Whether the bytes are UTF-8, which JSON can carry as they are. */
static inline bool inbox_is_utf8(inbox_text s) {
    for (size_t i = 0; i < s.length;) {
        unsigned char c = (unsigned char)s.data[i++];
        int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
        if (more < 0 || s.length - i < (size_t)more)
            return false;
        for (int k = 0; k < more; k++) {
            unsigned char d = (unsigned char)s.data[i + (size_t)k];
            if ((d & 0xc0) != 0x80 || (k == 0 && ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f))))
                return false;
        }
        i += (size_t)more;
    }
    return true;
}

static inline void inbox_json_content(inbox_json *j, const char *name, const char *name_base64, inbox_text content) {
    if (inbox_is_utf8(content)) {
        inbox_json_name(j, name);
        inbox_json_string(j, content);
    } else {
        inbox_json_name(j, name_base64);
        inbox_json_base64(j, content);
    }
}

/* A row for a table of the handler's allow.publish. What is 0 or NULL is left out. */
typedef struct inbox_publication {
    inbox_text payload;
    inbox_text row; /* in place of a payload, a JSON object of columns */
    const char *group, *partition_key;
    const inbox_pair *headers;
    size_t header_count;
    int64_t delay_ms;
    const int64_t *priority;
} inbox_publication;

/*
 * Writes a row into another table and wakes its handlers; in a transactional handler with the ack alone. Answers 0 or an
 * error; INBOX_FAILED leaves {"message":".."} as inbox_result().
 */
static inline inbox_error inbox_publish(const char *table, const inbox_publication *p) {
    inbox_json j = INBOX_ZERO;
    inbox_json_open(&j, '{');
    if (p->row.data != NULL) {
        inbox_json_name(&j, "row");
        inbox_json_value(&j, p->row);
    } else if (p->payload.data != NULL) {
        inbox_json_content(&j, "payload", "payload_base64", p->payload);
    }
    if (p->group != NULL) {
        inbox_json_name(&j, "group");
        inbox_json_string(&j, inbox_string(p->group));
    }
    if (p->partition_key != NULL) {
        inbox_json_name(&j, "partition_key");
        inbox_json_string(&j, inbox_string(p->partition_key));
    }
    inbox_json_pairs(&j, "headers", p->headers, p->header_count);
    if (p->delay_ms != 0) {
        inbox_json_name(&j, "delay_ms");
        inbox_json_int(&j, p->delay_ms);
    }
    if (p->priority != NULL) {
        inbox_json_name(&j, "priority");
        inbox_json_int(&j, *p->priority);
    }
    inbox_json_close(&j, '}');
    return inbox_v1_publish(table, (uint32_t)inbox_strlen(table), j.data, (uint32_t)j.length);
}

/* A request to an origin of the handler's allow.http. What is 0 or NULL is left out. */
typedef struct inbox_request {
    const char *method; /* NULL is GET */
    const char *url;
    const inbox_pair *headers;
    size_t header_count;
    inbox_text body;
    int64_t timeout_ms; /* 0 is the delivery's own */
} inbox_request;

/* A response, whatever its status. */
typedef struct inbox_response {
    int32_t status;
    inbox_text headers; /* a JSON object, by names in lower case: read one with inbox_json_member and inbox_json_decode */
    inbox_text body;
} inbox_response;

/* Sends a request. Answers 0 or an error; INBOX_FAILED leaves {"message":".."} as inbox_result(). */
static inline inbox_error inbox_http(const inbox_request *r, inbox_response *response) {
    inbox_json j = INBOX_ZERO;
    inbox_json_open(&j, '{');
    if (r->method != NULL) {
        inbox_json_name(&j, "method");
        inbox_json_string(&j, inbox_string(r->method));
    }
    inbox_json_name(&j, "url");
    inbox_json_string(&j, inbox_string(r->url));
    inbox_json_pairs(&j, "headers", r->headers, r->header_count);
    if (r->body.data != NULL)
        inbox_json_content(&j, "body", "body_base64", r->body);
    if (r->timeout_ms > 0) {
        inbox_json_name(&j, "timeout_ms");
        inbox_json_int(&j, r->timeout_ms);
    }
    inbox_json_close(&j, '}');
    int32_t n = inbox_v1_http(j.data, (uint32_t)j.length);
    if (n < 0)
        return n;
    inbox_text result = inbox_result();
    inbox_text body = inbox_json_member(result, "body"), bytes = inbox_json_member(result, "body_base64");
    response->status = (int32_t)inbox_json_number(inbox_json_member(result, "status"), 0);
    response->headers = inbox_json_member(result, "headers");
    response->body = bytes.data != NULL ? inbox_json_decode_base64(bytes) : inbox_json_decode(body);
    return 0;
}

/* ---- Exports --------------------------------------------------------------------------------------------- */

#ifdef __wasm__
#define INBOX_EXPORT(name) __attribute__((export_name(name), visibility("default")))
#else
#define INBOX_EXPORT(name)
#endif

#if defined(__wasm__) && !defined(__wasi__) && !defined(__EMSCRIPTEN__)
/*
 * Runs the constructors of globals once in an instance, as a C library's reactor does. Without it the linker has every
 * export run them, and they would undo with each message what the one before has left.
 */
void __wasm_call_ctors(void);
INBOX_EXPORT("_initialize") __attribute__((weak)) void _initialize(void) { __wasm_call_ctors(); }
#endif

#ifdef __cplusplus
#define INBOX_C extern "C"
}
#else
#define INBOX_C
#endif

/* Has the host call inbox_outcome handler(void) with each message. Once in a module, at file scope. */
#define INBOX_HANDLER(handler)                                                                                            \
    INBOX_C INBOX_EXPORT("inbox_handle") int32_t inbox_export_handle(void) {                                              \
        inbox_forget();                                                                                                   \
        return handler();                                                                                                 \
    }

/*
 * Has the host call inbox_outcome handler(int32_t count) with each batch; see inbox_use and inbox_settle. A handler
 * may have both: with batch = 1 in inbox.toml the host calls the one for single messages.
 */
#define INBOX_BATCH_HANDLER(handler)                                                                                      \
    INBOX_C INBOX_EXPORT("inbox_handle_batch") int32_t inbox_export_handle_batch(int32_t count) {                         \
        inbox_forget();                                                                                                   \
        return handler(count);                                                                                            \
    }

/*
 * Has the host call const char *init(void) once in each instance, before its first message. A text that it returns refuses
 * the instance: claims pause, and no message spends an attempt. What it reads, such as inbox_config, stays as long as the
 * instance.
 */
#define INBOX_INIT(init)                                                                                                  \
    INBOX_C INBOX_EXPORT("inbox_init") int32_t inbox_export_init(void) {                                                  \
        inbox_forget();                                                                                                   \
        const char *why = init();                                                                                         \
        inbox_keep();                                                                                                     \
        if (why != NULL)                                                                                                  \
            inbox_reason(inbox_string(why));                                                                              \
        return why != NULL;                                                                                               \
    }

#endif /* INBOX_H */
