// What C++ adds to the SDK of C: globals that have to be made. See ../cpp_test.go.
#include "../../c/inbox.h"

namespace {
struct Settings {
    int messages = 0;
    inbox_text greeting;
    Settings() : greeting(inbox_string("made")) { inbox_log(INBOX_INFO, "made"); }
};
Settings settings;

const char *init() {
    inbox_text greeting = inbox_config("greeting");
    if (greeting.data == nullptr)
        return "no greeting";
    settings.greeting = greeting;
    return nullptr;
}

inbox_outcome handle() {
    inbox_text payload = inbox_payload();
    inbox_json j = INBOX_ZERO;
    inbox_json_open(&j, '[');
    inbox_json_string(&j, settings.greeting);
    inbox_json_int(&j, ++settings.messages);
    inbox_json_value(&j, inbox_json_member(payload, "absent"));
    inbox_json_close(&j, ']');
    inbox_reason(inbox_json_text(&j));
    return INBOX_DEAD_LETTER;
}
} // namespace

INBOX_INIT(init)
INBOX_HANDLER(handle)
