//! The conformance handler in Rust: see ../conformance_test.go for what each command has to do.

use std::cell::RefCell;
use std::time::Duration;

use inbox::json::encode_base64;
use inbox::{Conn, Level, Message, Outcome, Publication, Request, Value};

inbox::init!(init);
inbox::handler!(handle);
inbox::batch_handler!(handle_batch);

thread_local! {
    static GREETING: RefCell<String> = RefCell::default();
}

fn init() -> Result<(), String> {
    let greeting = inbox::config("greeting").ok_or("no greeting")?;
    GREETING.with(|g| g.replace(greeting));
    Ok(())
}

/// Tells what was found out as the reason of a dead letter.
fn tell(found: impl ToString) -> inbox::Result {
    Err(Outcome::dead_letter(found.to_string()))
}

fn tell_optional(found: Option<String>) -> inbox::Result {
    tell(found.unwrap_or_else(|| "absent".to_owned()))
}

fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
}

fn tell_error(e: &inbox::Error) -> inbox::Result {
    let mut members = vec![("code", e.code.into()), ("message", e.message.as_str().into())];
    if !e.sqlstate.is_empty() {
        members.push(("sqlstate", e.sqlstate.as_str().into()));
    }
    if e.number != 0 {
        members.push(("number", e.number.into()));
    }
    tell(object(members))
}

fn handle(m: &Message) -> inbox::Result {
    let why = m.header("why").unwrap_or_default();
    let delay = m.header("ms").map(|ms| Duration::from_millis(ms.parse().unwrap()));
    let name = || m.header("name").unwrap_or_default();
    match m.header("do").unwrap_or_default().as_str() {
        "ack" => Ok(()),
        "retry" => Err(Outcome::retry(why)),
        "retry_after" => Err(match delay {
            Some(delay) => Outcome::retry_after(delay, why),
            None => Outcome::backoff(why),
        }),
        "drop" => Err(Outcome::drop(why)),
        "dead_letter" => Err(Outcome::dead_letter(why)),
        "snooze" => Err(Outcome::snooze(delay.unwrap(), why)),
        "panic" => panic!("on purpose"),
        "payload" => tell_optional(m.payload().map(|p| String::from_utf8(p).unwrap())),
        "length" => tell(m.payload().unwrap().len()),
        "header" => tell_optional(m.header(&name())),
        "meta" => {
            let meta = m.meta();
            tell(object(vec![
                ("subscription", meta.subscription.into()),
                ("table", meta.table.into()),
                ("group", meta.group.into()),
                ("id", meta.id),
                ("attempt", meta.attempt.into()),
                ("max_attempts", meta.max_attempts.into()),
                ("partition_key", meta.partition_key.into()),
                ("headers", meta.headers),
            ]))
        }
        "attempt" => tell(m.attempt()),
        "time_left" => tell(m.time_left().as_millis()),
        "now" => tell(inbox::now().as_millis()),
        "config" => tell_optional(inbox::config(&name())),
        "greeting" => tell(GREETING.with(|g| g.borrow().clone())),
        "log" => {
            let levels = [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error];
            for (level, line) in levels.into_iter().zip(["a trace", "a debug line", "an info", "a warning", "an error"]) {
                if inbox::log_enabled(level) {
                    inbox::log(level, line);
                }
            }
            Ok(())
        }
        "random" => {
            let mut bytes = [0; 16];
            inbox::random(&mut bytes);
            tell(encode_base64(&bytes))
        }
        "db" => db(m),
        "publish" => publish(m),
        "http" => http(m),
        _ => Err(Outcome::drop("")),
    }
}

fn db(m: &Message) -> inbox::Result {
    let conn = if m.header("pool").is_some() { Conn::Pool } else { Conn::Tx };
    let args = [((1i64 << 62) + 1).into(), "ü\n".into(), (&b"\0\xff"[..]).into(), true.into(), Value::Null];
    match conn.query(&m.header("sql").unwrap(), &args) {
        Err(e) => tell_error(&e),
        Ok(rows) if m.header("length").is_some() => tell(rows.columns[0].len()),
        Ok(rows) => tell(object(vec![
            ("columns", Value::Array(rows.columns.into_iter().map(Value::from).collect())),
            ("rows", Value::Array(rows.rows.into_iter().map(Value::Array).collect())),
            ("affected", rows.affected.into()),
        ])),
    }
}

fn publish(m: &Message) -> inbox::Result {
    let mut p = Publication { payload: m.payload().unwrap_or_default(), ..Publication::default() };
    if let Some(group) = m.header("group") {
        p.group = group;
        p.partition_key = Some("ada".to_owned());
        p.headers = vec![("trace".to_owned(), "42".to_owned()), ("quoted".to_owned(), "a \"b\"\n\\".to_owned())];
        p.delay = Duration::from_millis(1500);
        p.priority = Some(-7);
    }
    if m.header("row").is_some() {
        p.row = Some(vec![("n".to_owned(), ((1i64 << 62) + 1).into()), ("blob".to_owned(), p.payload.clone().into())]);
    }
    match inbox::publish(&m.header("table").unwrap(), &p) {
        Err(e) => tell_error(&e),
        Ok(()) => Ok(()),
    }
}

fn http(m: &Message) -> inbox::Result {
    let request = Request {
        method: "POST".to_owned(),
        url: m.header("url").unwrap(),
        headers: vec![("idempotency-key".to_owned(), "7".to_owned())],
        body: m.payload().unwrap_or_default(),
        timeout: Duration::from_millis(250),
    };
    match inbox::send(&request) {
        Err(e) => tell_error(&e),
        Ok(r) => tell(object(vec![
            ("status", r.status.into()),
            ("type", r.header("content-type").into()),
            ("body", encode_base64(&r.body).into()),
        ])),
    }
}

/// Each message says what becomes of it; those that say nothing come to what the call returns.
fn handle_batch(messages: &[Message]) -> inbox::Result {
    for m in messages {
        if m.header("do").is_some() {
            m.settle(handle(m));
        }
    }
    Err(Outcome::retry(""))
}
