/* The handler that the bench drains its rows through, unless it is given another: it parses the payload and acks. */
#include "../../../guest-sdk/c/inbox.h"

static inbox_outcome handle(void) {
    inbox_text payload = inbox_payload();
    if (!inbox_json_is_valid(payload))
        return inbox_because(INBOX_DROP, "no JSON");
    inbox_text to = inbox_json_decode(inbox_json_member(payload, "to"));
    if (to.data == NULL || to.length == 0)
        return inbox_because(INBOX_DROP, "nobody to write to");
    return INBOX_ACK;
}

INBOX_HANDLER(handle)
