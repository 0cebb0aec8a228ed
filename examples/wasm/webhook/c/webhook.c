/*
 * A handler for an inbox of GitHub webhooks: it accepts what is signed and well formed, and puts aside, with the
 * reason, what is not.
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry,--stack-first -o webhook.wasm webhook.c
 */
#include "../../../../guest-sdk/c/inbox.h"
#include "../../../../guest-sdk/c/inbox_sha256.h"

/* Settings, read once when the instance starts. */
static inbox_hmac key;
static char not_ready[1024]; /* with a comma before and after each type */
static int64_t retry_delay = 3600 * 1000;

/* A duration such as 90s or 1h, in milliseconds; 0 where it is none. */
static int64_t duration(inbox_text text) {
    int64_t n = 0;
    size_t i = 0;
    for (; i < text.length && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        n = n * 10 + (text.data[i] - '0');
    inbox_text unit = inbox_slice(text.data + i, text.length - i);
    return inbox_equal(unit, "ms") ? n : inbox_equal(unit, "s") ? n * 1000 : inbox_equal(unit, "m") ? n * 60000 : inbox_equal(unit, "h") ? n * 3600000 : 0;
}

static const char *init(void) {
    inbox_text secret = inbox_config("secret");
    if (secret.length == 0)
        return "config: secret is missing: set it to the webhook's secret";
    inbox_hmac_key(&key, secret.data, secret.length);

    inbox_text list = inbox_config("not_ready");
    size_t n = 0;
    if (list.length + 3 > sizeof not_ready)
        return "config: not_ready is too long";
    not_ready[n++] = ',';
    for (size_t i = 0; i < list.length; i++)
        if (list.data[i] != ' ')
            not_ready[n++] = list.data[i];
    not_ready[n++] = ',';

    inbox_text delay = inbox_config("retry_delay");
    if (delay.data != NULL && (retry_delay = duration(delay)) <= 0)
        return "config: retry_delay is no duration: write a positive one such as 1h";
    return NULL;
}

INBOX_INIT(init)

static bool is_not_ready(inbox_text name) {
    for (size_t i = 0; not_ready[i] != 0; i++) {
        size_t k = 0;
        while (k < name.length && not_ready[i + 1 + k] == name.data[k])
            k++;
        if (not_ready[i] == ',' && k == name.length && not_ready[i + 1 + k] == ',')
            return true;
    }
    return false;
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* Why the signature is not that of the body, or NULL. It compares in constant time. */
static const char *forged(inbox_text body, inbox_text signature) {
    static const char prefix[] = "sha256=";
    uint8_t sum[32], different = 0;
    if (signature.length == 0)
        return "forged: X-Hub-Signature-256 is missing";
    for (size_t i = 0; i < sizeof prefix - 1; i++)
        if (i >= signature.length || signature.data[i] != prefix[i])
            return "forged: X-Hub-Signature-256 does not start with sha256=";
    const char *digits = signature.data + sizeof prefix - 1;
    bool good = signature.length - (sizeof prefix - 1) == 64;
    for (int i = 0; good && i < 64; i++)
        good = hex(digits[i]) >= 0;
    if (!good)
        return "forged: X-Hub-Signature-256 is not 64 hexadecimal digits";
    inbox_hmac_sum(&key, body.data, body.length, sum);
    for (int i = 0; i < 32; i++)
        different |= sum[i] ^ (uint8_t)(hex(digits[2 * i]) << 4 | hex(digits[2 * i + 1]));
    return different == 0 ? NULL : "forged: X-Hub-Signature-256 is not the signature of this body";
}

/* What an event has to have: fields behind dots, those with a # are numbers. */
static const struct kind {
    const char *name, *fields[3];
} kinds[] = {
    {"ping", {"#hook_id"}},
    {"push", {"ref", "after", "repository.full_name"}},
    {"issues", {"action", "#issue.number", "repository.full_name"}},
    {"pull_request", {"action", "#number", "repository.full_name"}},
    {"deployment", {"action", "#deployment.id", "repository.full_name"}},
};

static bool has(inbox_text event, const char *field) {
    bool number = *field == '#';
    field += number;
    char part[32];
    size_t n = 0;
    for (;; field++) {
        if (*field != '.' && *field != 0) {
            part[n++] = *field;
            continue;
        }
        part[n] = 0;
        n = 0;
        event = inbox_json_member(event, part);
        if (*field == 0)
            break;
    }
    if (number)
        return event.length > 0 && event.data[0] != '"' && inbox_json_number(event, 0) != 0;
    return event.length > 2 && event.data[0] == '"';
}

/* A text of several pieces. */
static inbox_text joined(const char *a, inbox_text b, const char *c, const char *d) {
    inbox_json j = INBOX_ZERO;
    inbox_json_raw(&j, a, inbox_strlen(a));
    inbox_json_raw(&j, b.data, b.length);
    inbox_json_raw(&j, c, inbox_strlen(c));
    inbox_json_raw(&j, d, inbox_strlen(d));
    return inbox_json_text(&j);
}

static inbox_outcome because(inbox_outcome outcome, inbox_text why) {
    inbox_reason(why);
    return outcome;
}

/*
 * Nothing is trusted before the signature is checked, and the body is read before it is seen whether the event can be
 * taken: a broken event should not wait for an hour first.
 */
static inbox_outcome handle(void) {
    inbox_text body = inbox_payload();
    const char *why = forged(body, inbox_header("X-Hub-Signature-256"));
    if (why != NULL)
        return inbox_because(INBOX_DEAD_LETTER, why);
    inbox_text name = inbox_header("X-GitHub-Event");
    if (name.length == 0)
        return inbox_because(INBOX_DEAD_LETTER, "malformed: X-GitHub-Event is missing");
    const struct kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (inbox_equal(name, kinds[i].name))
            kind = &kinds[i];
    if (kind == NULL)
        return because(INBOX_DROP, joined("nothing here handles this type of event: ", name, "", ""));
    if (body.length == 0)
        return because(INBOX_DEAD_LETTER, joined("malformed: the body of the ", name, " event is empty", ""));
    if (!inbox_json_is_valid(body))
        return because(INBOX_DEAD_LETTER, joined("malformed: the body of the ", name, " event is no JSON", ""));
    for (int i = 0; i < 3 && kind->fields[i] != NULL; i++)
        if (!has(body, kind->fields[i]))
            return because(INBOX_DEAD_LETTER, joined("malformed: the body of the ", name, " event has no ", kind->fields[i] + (kind->fields[i][0] == '#')));
    if (is_not_ready(name)) {
        inbox_delay(retry_delay);
        return because(INBOX_RETRY_AFTER, joined("", name, " events are not taken yet", ""));
    }
    return INBOX_ACK;
}

INBOX_HANDLER(handle)
