//! A fake host for `cargo test`, where there is no real one.
//!
//! ```
//! use inbox::testing::{deliver, Delivery};
//!
//! fn handle(m: &inbox::Message) -> inbox::Result {
//!     let name = m.header("name").ok_or_else(|| inbox::Outcome::dead_letter("nobody"))?;
//!     inbox::log(inbox::Level::Info, &format!("hello {name}"));
//!     Ok(())
//! }
//!
//! let r = deliver(handle, Delivery::new("{}").header("name", "ada"));
//! assert_eq!((r.code, r.log[0].as_str()), (0, "hello ada"));
//! assert_eq!(deliver(handle, Delivery::new("{}")).code, 4);
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use crate::{outcome, Message, Value};

/// A message as a test delivers it, with the world that its handler finds.
#[derive(Default)]
pub struct Delivery {
    payload: Vec<u8>,
    headers: HashMap<String, String>,
    config: HashMap<String, String>,
    attempt: i32,
    answers: HashMap<&'static str, (i32, String)>,
}

impl Delivery {
    pub fn new(payload: impl Into<Vec<u8>>) -> Self {
        Delivery { payload: payload.into(), attempt: 1, ..Delivery::default() }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A setting of the handler's `config`.
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.config.insert(key.to_owned(), value.to_owned());
        self
    }

    pub fn attempt(mut self, attempt: i32) -> Self {
        self.attempt = attempt;
        self
    }

    /// What a function with a side effect, "db", "publish" or "http", answers: its result as JSON, and 0, or an error such
    /// as -4. Without it the function is not allowed.
    pub fn answer(mut self, function: &'static str, code: i32, result: &str) -> Self {
        self.answers.insert(function, (code, result.to_owned()));
        self
    }
}

/// What a handler has made of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The outcome's code: 0 ack, 1 retry, 2 retry_after, 3 drop, 4 dead_letter, 5 snooze.
    pub code: i32,
    pub reason: String,
    pub delay: Option<Duration>,
    pub log: Vec<String>,
    /// What was asked of db, publish and http, each with its name in front.
    pub asked: Vec<String>,
}

#[derive(Default)]
struct Fake {
    delivery: Delivery,
    delivered: Delivered,
    result: Option<String>,
}

thread_local! {
    static FAKE: RefCell<Fake> = RefCell::default();
}

/// Runs a handler on a message.
pub fn deliver(handler: fn(&Message) -> crate::Result, delivery: Delivery) -> Delivered {
    FAKE.with(|f| *f.borrow_mut() = Fake { delivery, ..Fake::default() });
    let code = outcome::settle(&handler(&Message::single()));
    FAKE.with(|f| {
        let mut delivered = std::mem::take(&mut f.borrow_mut().delivered);
        delivered.code = code;
        delivered
    })
}

pub(crate) mod calls {
    use super::*;
    use crate::host::{ABSENT, NOT_ALLOWED};

    fn with<T>(f: impl FnOnce(&mut Fake) -> T) -> T {
        FAKE.with(|fake| f(&mut fake.borrow_mut()))
    }

    fn give(value: Option<&[u8]>, buf: &mut [u8]) -> i32 {
        match value {
            None => ABSENT,
            Some(v) => {
                if v.len() <= buf.len() {
                    buf[..v.len()].copy_from_slice(v);
                }
                v.len() as i32
            }
        }
    }

    fn ask(function: &'static str, what: String) -> i32 {
        with(|f| {
            f.delivered.asked.push(format!("{function} {what}"));
            f.result = None;
            match f.delivery.answers.get(function) {
                None => NOT_ALLOWED,
                Some((0, result)) => {
                    f.result = Some(result.clone());
                    if function == "publish" { 0 } else { result.len() as i32 }
                }
                Some((code, result)) => {
                    f.result = Some(result.clone());
                    *code
                }
            }
        })
    }

    pub fn payload(buf: &mut [u8]) -> i32 {
        with(|f| give(Some(&f.delivery.payload), buf))
    }
    pub fn header(name: &str, buf: &mut [u8]) -> i32 {
        with(|f| give(f.delivery.headers.get(name).map(String::as_bytes), buf))
    }
    pub fn meta(buf: &mut [u8]) -> i32 {
        with(|f| {
            let headers = f.delivery.headers.iter().map(|(n, v)| (n.clone(), v.as_str().into())).collect();
            let meta = Value::Object(vec![
                ("subscription".into(), "test".into()),
                ("table".into(), "test".into()),
                ("group".into(), "test".into()),
                ("id".into(), 1.into()),
                ("attempt".into(), f.delivery.attempt.into()),
                ("headers".into(), Value::Object(headers)),
            ]);
            give(Some(meta.to_string().as_bytes()), buf)
        })
    }
    pub fn attempt() -> i32 {
        with(|f| f.delivery.attempt)
    }
    pub fn deadline_ms() -> i64 {
        30_000
    }
    pub fn message(_: i32) -> i32 {
        0
    }
    pub fn outcome(_: i32) -> i32 {
        0
    }
    pub fn retry_after(ms: i64) -> i32 {
        with(|f| f.delivered.delay = Some(Duration::from_millis(ms as u64)));
        0
    }
    pub fn reason(text: &str) -> i32 {
        with(|f| f.delivered.reason = text.to_owned());
        0
    }
    pub fn log(_: i32, line: &str) -> i32 {
        with(|f| f.delivered.log.push(line.to_owned()));
        0
    }
    pub fn log_enabled(_: i32) -> i32 {
        1
    }
    pub fn config(key: &str, buf: &mut [u8]) -> i32 {
        with(|f| give(f.delivery.config.get(key).map(String::as_bytes), buf))
    }
    pub fn now_ms() -> i64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
    }
    pub fn random(bytes: &mut [u8]) -> i32 {
        bytes.fill(7);
        0
    }
    pub fn db(conn: i32, sql: &str, args: &str) -> i32 {
        ask("db", format!("{conn} {sql} {args}"))
    }
    pub fn publish(table: &str, message: &str) -> i32 {
        ask("publish", format!("{table} {message}"))
    }
    pub fn http(request: &str) -> i32 {
        ask("http", request.to_owned())
    }
    pub fn result(buf: &mut [u8]) -> i32 {
        with(|f| give(f.result.as_deref().map(str::as_bytes), buf))
    }
}
