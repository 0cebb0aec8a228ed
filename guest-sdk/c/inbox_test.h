/*
 * inbox_test.h: a fake host for tests of a handler with the machine's own compiler. Include it after the handler, once:
 *
 *     #include "handler.c"
 *     #include "inbox_test.h"
 *
 *     int main(void) {
 *         inbox_test_payload("{}");
 *         return inbox_export_handle() == INBOX_ACK ? 0 : 1;
 *     }
 */
#ifndef INBOX_TEST_H
#define INBOX_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *payload, *headers[2 * 16], *config[2 * 16];
    int header_count, config_count;
    const char *result; /* of db, publish and http */
    int32_t code;       /* that they answer instead, 0 for none */
    char reason[4096], log[65536], asked[65536];
    int64_t delay;
    int32_t attempt;
} inbox_test;

/* Begins a new message. A NULL is a payload that is NULL. */
static inline void inbox_test_payload(const char *payload) {
    memset(&inbox_test, 0, sizeof inbox_test);
    inbox_test.payload = payload;
    inbox_test.attempt = 1;
    inbox_test.delay = -1;
    inbox_test.code = INBOX_NOT_ALLOWED;
}

/* Adds a header to the message, and a setting to the handler's config. */
static inline void inbox_test_header(const char *name, const char *value) {
    inbox_test.headers[2 * inbox_test.header_count] = name;
    inbox_test.headers[2 * inbox_test.header_count++ + 1] = value;
}
static inline void inbox_test_config(const char *key, const char *value) {
    inbox_test.config[2 * inbox_test.config_count] = key;
    inbox_test.config[2 * inbox_test.config_count++ + 1] = value;
}

/* What db, publish and http answer: 0 or an error, and the result's JSON. At first they are not allowed. */
static inline void inbox_test_answer(int32_t code, const char *result) {
    inbox_test.code = code;
    inbox_test.result = result;
}

/* What the handler has said: its reason, the lines of its log, and what it asked of db, publish and http. */
static inline const char *inbox_test_reason(void) { return inbox_test.reason; }
static inline const char *inbox_test_log(void) { return inbox_test.log; }
static inline const char *inbox_test_asked(void) { return inbox_test.asked; }
static inline int64_t inbox_test_delay(void) { return inbox_test.delay; }

static int32_t inbox_test_give(const char *value, void *buf, uint32_t cap) {
    if (value == NULL)
        return INBOX_ABSENT;
    size_t n = strlen(value);
    if (n <= cap)
        memcpy(buf, value, n);
    return (int32_t)n;
}

static const char *inbox_test_find(const char *const *pairs, int count, const void *name, uint32_t length) {
    for (int i = 0; i < count; i++)
        if (strlen(pairs[2 * i]) == length && memcmp(pairs[2 * i], name, length) == 0)
            return pairs[2 * i + 1];
    return NULL;
}

static void inbox_test_append(char *to, size_t size, const void *text, uint32_t length, const char *end) {
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%.*s%s", (int)length, (const char *)text, end);
}

int32_t inbox_v1_payload(void *buf, uint32_t cap) { return inbox_test_give(inbox_test.payload, buf, cap); }
int32_t inbox_v1_header(const void *name, uint32_t name_len, void *buf, uint32_t cap) {
    return inbox_test_give(inbox_test_find(inbox_test.headers, inbox_test.header_count, name, name_len), buf, cap);
}
int32_t inbox_v1_meta(void *buf, uint32_t cap) {
    return inbox_test_give("{\"subscription\":\"test\",\"table\":\"test\",\"group\":\"test\",\"id\":1,\"attempt\":1}", buf, cap);
}
int32_t inbox_v1_attempt(void) { return inbox_test.attempt; }
int64_t inbox_v1_deadline_ms(void) { return 30000; }
int32_t inbox_v1_message(int32_t i) { return i == 0 ? 0 : INBOX_BAD_ARGUMENT; }
int32_t inbox_v1_outcome(int32_t code) { return code < 0 || code > 5 ? INBOX_BAD_ARGUMENT : 0; }
int32_t inbox_v1_retry_after(int64_t ms) {
    inbox_test.delay = ms;
    return 0;
}
int32_t inbox_v1_reason(const void *ptr, uint32_t len) {
    inbox_test.reason[0] = 0;
    inbox_test_append(inbox_test.reason, sizeof inbox_test.reason, ptr, len, "");
    return 0;
}
int32_t inbox_v1_log(int32_t level, const void *ptr, uint32_t len) {
    (void)level;
    inbox_test_append(inbox_test.log, sizeof inbox_test.log, ptr, len, "\n");
    return 0;
}
int32_t inbox_v1_log_enabled(int32_t level) { return level >= 0; }
int32_t inbox_v1_config(const void *key, uint32_t key_len, void *buf, uint32_t cap) {
    return inbox_test_give(inbox_test_find(inbox_test.config, inbox_test.config_count, key, key_len), buf, cap);
}
int64_t inbox_v1_now_ms(void) { return 1700000000000; }
int32_t inbox_v1_random(void *ptr, uint32_t len) {
    memset(ptr, 7, len);
    return 0;
}
static int32_t inbox_test_ask(const char *what, const void *text, uint32_t length) {
    inbox_test_append(inbox_test.asked, sizeof inbox_test.asked, what, (uint32_t)strlen(what), " ");
    inbox_test_append(inbox_test.asked, sizeof inbox_test.asked, text, length, "\n");
    return inbox_test.code;
}
int32_t inbox_v1_db(int32_t conn, const void *sql, uint32_t sql_len, const void *args, uint32_t args_len) {
    (void)args, (void)args_len;
    int32_t code = inbox_test_ask(conn == INBOX_POOL ? "pool" : "tx", sql, sql_len);
    return code == 0 ? (int32_t)strlen(inbox_test.result) : code;
}
int32_t inbox_v1_publish(const void *table, uint32_t table_len, const void *msg, uint32_t msg_len) {
    (void)table, (void)table_len;
    return inbox_test_ask("publish", msg, msg_len);
}
int32_t inbox_v1_http(const void *req, uint32_t req_len) {
    int32_t code = inbox_test_ask("http", req, req_len);
    return code == 0 ? (int32_t)strlen(inbox_test.result) : code;
}
int32_t inbox_v1_result(void *buf, uint32_t cap) { return inbox_test_give(inbox_test.result, buf, cap); }

#endif /* INBOX_TEST_H */
