//! A handler for an inbox of GitHub webhooks: it accepts what is signed and well formed, and puts aside, with the
//! reason, what is not.

mod sha256;

use std::cell::RefCell;
use std::time::Duration;

use inbox::{json, Message, Outcome, Value};
use sha256::Hmac;

inbox::init!(init);
inbox::handler!(handle);

/// Read once, when the instance starts.
struct Settings {
    key: Hmac,
    not_ready: Vec<String>,
    retry_delay: Duration,
}

thread_local! {
    static SETTINGS: RefCell<Option<Settings>> = RefCell::new(None);
}

fn init() -> Result<(), String> {
    let secret = inbox::config("secret").filter(|s| !s.is_empty()).ok_or("config: secret is missing: set it to the webhook's secret")?;
    let not_ready = inbox::config("not_ready").unwrap_or_default();
    let retry_delay = match inbox::config("retry_delay") {
        None => Duration::from_secs(3600),
        Some(text) => duration(&text).ok_or_else(|| format!("config: retry_delay is {text:?}: write a positive duration such as 1h"))?,
    };
    let settings = Settings {
        key: Hmac::new(secret.as_bytes()),
        not_ready: not_ready.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
        retry_delay,
    };
    SETTINGS.with(|s| s.replace(Some(settings)));
    Ok(())
}

/// A positive duration such as 90s or 1h.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let n: u64 = digits.parse().ok().filter(|n| *n > 0)?;
    match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(n)),
        "s" => Some(Duration::from_secs(n)),
        "m" => Some(Duration::from_secs(60 * n)),
        "h" => Some(Duration::from_secs(3600 * n)),
        _ => None,
    }
}

/// Nothing is trusted before the signature is checked, and the body is read before it is seen whether the event can be
/// taken: a broken event should not wait for an hour first.
fn handle(m: &Message) -> inbox::Result {
    SETTINGS.with(|s| {
        let s = s.borrow();
        let s = s.as_ref().expect("init has run");
        let body = m.payload().unwrap_or_default();
        check(&s.key, &body, &m.header("X-Hub-Signature-256").unwrap_or_default()).map_err(|why| Outcome::dead_letter(format!("forged: {why}")))?;
        let name = m.header("X-GitHub-Event").unwrap_or_default();
        parse(&name, &body)?;
        if s.not_ready.contains(&name) {
            return Err(Outcome::retry_after(s.retry_delay, format!("{name} events are not taken yet")));
        }
        Ok(())
    })
}

/// Why the signature is not that of the body. It compares in constant time, so that nobody can guess a signature byte by
/// byte.
fn check(key: &Hmac, body: &[u8], signature: &str) -> Result<(), &'static str> {
    if signature.is_empty() {
        return Err("X-Hub-Signature-256 is missing");
    }
    let digits = signature.strip_prefix("sha256=").ok_or("X-Hub-Signature-256 does not start with sha256=")?;
    if digits.len() != 64 || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        return Err("X-Hub-Signature-256 is not 64 hexadecimal digits");
    }
    let mut different = 0;
    for (i, byte) in key.sum(body).iter().enumerate() {
        different |= byte ^ u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap_or_default();
    }
    if different == 0 {
        Ok(())
    } else {
        Err("X-Hub-Signature-256 is not the signature of this body")
    }
}

/// What an event has to have: fields behind dots, those that are numbers with a #.
fn required(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "ping" => &["#hook_id"],
        "push" => &["ref", "after", "repository.full_name"],
        "issues" => &["action", "#issue.number", "repository.full_name"],
        "pull_request" => &["action", "#number", "repository.full_name"],
        "deployment" => &["action", "#deployment.id", "repository.full_name"],
        _ => return None,
    })
}

fn has(event: &Value, field: &str) -> bool {
    let (field, number) = field.strip_prefix('#').map_or((field, false), |field| (field, true));
    let value = field.split('.').fold(event, |v, part| v.get(part));
    if number {
        value.as_i64().unwrap_or_default() != 0
    } else {
        !value.as_str().unwrap_or_default().is_empty()
    }
}

fn parse(name: &str, body: &[u8]) -> inbox::Result {
    let malformed = |why: String| Outcome::dead_letter(format!("malformed: {why}"));
    if name.is_empty() {
        return Err(malformed("X-GitHub-Event is missing".to_owned()));
    }
    let fields = required(name).ok_or_else(|| Outcome::drop(format!("nothing here handles this type of event: {name}")))?;
    if body.is_empty() {
        return Err(malformed(format!("the body of the {name} event is empty")));
    }
    let no_json = || malformed(format!("the body of the {name} event is no JSON"));
    let text = std::str::from_utf8(body).map_err(|_| no_json())?;
    let event = json::parse(text).map_err(|_| no_json())?;
    match fields.iter().find(|field| !has(&event, field)) {
        None => Ok(()),
        Some(field) => Err(malformed(format!("the body of the {name} event has no {}", field.trim_start_matches('#')))),
    }
}
