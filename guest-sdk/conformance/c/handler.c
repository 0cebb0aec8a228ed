/* The conformance handler in C: see ../conformance_test.go for what each command has to do. */
#include "../../c/inbox.h"

static char greeting[64];

static const char *init(void) {
    inbox_text g = inbox_config("greeting");
    if (g.data == NULL || g.length >= sizeof greeting)
        return "no greeting";
    __builtin_memcpy(greeting, g.data, g.length + 1);
    return NULL;
}

INBOX_INIT(init)

/* Tells what was found out as the reason of a dead letter. */
static inbox_outcome tell(inbox_text found) {
    inbox_reason(found.data == NULL ? inbox_string("absent") : found);
    return INBOX_DEAD_LETTER;
}

static inbox_outcome tell_int(int64_t n) {
    inbox_json j = INBOX_ZERO;
    inbox_json_int(&j, n);
    return tell(inbox_json_text(&j));
}

/* An error as {"code":n} with the members of its result. */
static inbox_outcome tell_error(inbox_error code, inbox_text result) {
    static const char *names[] = {"message", "sqlstate", "number"};
    inbox_json j = INBOX_ZERO;
    inbox_json_open(&j, '{');
    inbox_json_name(&j, "code");
    inbox_json_int(&j, code);
    for (int i = 0; i < 3; i++) {
        inbox_text value = inbox_json_member(result, names[i]);
        if (value.data == NULL)
            continue;
        inbox_json_name(&j, names[i]);
        inbox_json_value(&j, value);
    }
    inbox_json_close(&j, '}');
    return tell(inbox_json_text(&j));
}

static const char *optional(const char *header) {
    inbox_text t = inbox_header(header);
    return t.data;
}

static inbox_outcome publish(void) {
    inbox_pair pairs[] = {{"trace", "42"}, {"quoted", "a \"b\"\n\\"}};
    int64_t priority = -7;
    inbox_publication p = INBOX_ZERO;
    p.payload = inbox_payload();
    p.group = optional("group");
    if (p.group != NULL) {
        p.partition_key = "ada";
        p.headers = pairs;
        p.header_count = 2;
        p.delay_ms = 1500;
        p.priority = &priority;
    }
    if (optional("row") != NULL) {
        inbox_json j = INBOX_ZERO;
        inbox_json_open(&j, '{');
        inbox_json_name(&j, "n");
        inbox_json_int(&j, INT64_C(4611686018427387905));
        inbox_json_name(&j, "blob");
        inbox_json_bytes(&j, p.payload);
        inbox_json_close(&j, '}');
        p.row = inbox_json_text(&j);
    }
    inbox_error code = inbox_publish(optional("table"), &p);
    return code == 0 ? INBOX_ACK : tell_error(code, code == INBOX_FAILED ? inbox_result() : inbox_slice(NULL, 0));
}

static inbox_outcome http(void) {
    inbox_pair pairs[] = {{"idempotency-key", "7"}};
    inbox_request r = INBOX_ZERO;
    inbox_response response;
    r.method = "POST";
    r.url = optional("url");
    r.headers = pairs;
    r.header_count = 1;
    r.body = inbox_payload();
    r.timeout_ms = 250;
    inbox_error code = inbox_http(&r, &response);
    if (code != 0)
        return tell_error(code, code == INBOX_FAILED ? inbox_result() : inbox_slice(NULL, 0));
    inbox_json j = INBOX_ZERO;
    inbox_json_open(&j, '{');
    inbox_json_name(&j, "status");
    inbox_json_int(&j, response.status);
    inbox_json_name(&j, "type");
    inbox_json_string(&j, inbox_json_decode(inbox_json_member(response.headers, "content-type")));
    inbox_json_name(&j, "body");
    inbox_json_base64(&j, response.body);
    inbox_json_close(&j, '}');
    return tell(inbox_json_text(&j));
}

static inbox_outcome db(void) {
    inbox_json j = INBOX_ZERO;
    inbox_json_open(&j, '[');
    inbox_json_int(&j, INT64_C(4611686018427387905));
    inbox_json_string(&j, inbox_string("ü\n"));
    inbox_json_bytes(&j, inbox_slice("\0\377", 2));
    inbox_json_bool(&j, true);
    inbox_json_string(&j, inbox_slice(NULL, 0));
    inbox_json_close(&j, ']');
    inbox_text result;
    int32_t conn = optional("pool") != NULL ? INBOX_POOL : INBOX_TRANSACTION;
    inbox_error code = inbox_db(conn, optional("sql"), inbox_json_text(&j), &result);
    if (optional("length") != NULL) /* of the first column's name */
        return tell_int((int64_t)inbox_json_decode(inbox_json_element(inbox_json_member(result, "columns"), 0)).length);
    return code == 0 ? tell(result) : tell_error(code, result);
}

static inbox_outcome handle(void) {
    inbox_text command = inbox_header("do");
    const char *why = optional("why");
    if (why != NULL)
        inbox_reason(inbox_string(why));
    if (optional("ms") != NULL)
        inbox_delay(inbox_json_number(inbox_header("ms"), -1));
    if (inbox_equal(command, "ack"))
        return INBOX_ACK;
    if (inbox_equal(command, "retry"))
        return INBOX_RETRY;
    if (inbox_equal(command, "retry_after"))
        return INBOX_RETRY_AFTER;
    if (inbox_equal(command, "drop"))
        return INBOX_DROP;
    if (inbox_equal(command, "dead_letter"))
        return INBOX_DEAD_LETTER;
    if (inbox_equal(command, "snooze"))
        return INBOX_SNOOZE;
    if (inbox_equal(command, "panic"))
        inbox_panic("on purpose");
    if (inbox_equal(command, "payload"))
        return tell(inbox_payload());
    if (inbox_equal(command, "length"))
        return tell_int((int64_t)inbox_payload().length);
    if (inbox_equal(command, "header"))
        return tell(inbox_header(optional("name")));
    if (inbox_equal(command, "meta"))
        return tell(inbox_meta());
    if (inbox_equal(command, "attempt"))
        return tell_int(inbox_attempt());
    if (inbox_equal(command, "time_left"))
        return tell_int(inbox_time_left());
    if (inbox_equal(command, "now"))
        return tell_int(inbox_now());
    if (inbox_equal(command, "config"))
        return tell(inbox_config(optional("name")));
    if (inbox_equal(command, "greeting"))
        return tell(inbox_string(greeting));
    if (inbox_equal(command, "log")) {
        static const char *lines[] = {"a trace", "a debug line", "an info", "a warning", "an error"};
        for (inbox_level level = INBOX_TRACE; level <= INBOX_ERROR; level++)
            if (inbox_log_enabled(level))
                inbox_log(level, lines[level]);
        return INBOX_ACK;
    }
    if (inbox_equal(command, "random")) {
        char bytes[16];
        inbox_random(bytes, sizeof bytes);
        inbox_json j = INBOX_ZERO;
        inbox_json_base64(&j, inbox_slice(bytes, sizeof bytes));
        return tell(inbox_json_decode(inbox_json_text(&j)));
    }
    if (inbox_equal(command, "db"))
        return db();
    if (inbox_equal(command, "publish"))
        return publish();
    if (inbox_equal(command, "http"))
        return http();
    return INBOX_DROP;
}

INBOX_HANDLER(handle)

/* Each message says what becomes of it; those that say nothing come to what the call returns. */
static inbox_outcome handle_batch(int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        inbox_use(i);
        if (inbox_header("do").data != NULL)
            inbox_settle(handle());
    }
    return INBOX_RETRY;
}

INBOX_BATCH_HANDLER(handle_batch)
