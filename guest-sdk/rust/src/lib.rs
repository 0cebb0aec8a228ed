//! Handlers for [inbox-wasm](https://github.com/inbox-wasm/inbox-wasm) in Rust.
//!
//! ```ignore
//! use inbox::{Message, Outcome};
//!
//! inbox::handler!(handle);
//!
//! fn handle(m: &Message) -> inbox::Result {
//!     if m.payload().unwrap_or_default().is_empty() {
//!         return Err(Outcome::dead_letter("the payload is empty"));
//!     }
//!     Ok(()) // ack: the row is finished
//! }
//! ```
//!
//! In a crate with `crate-type = ["cdylib"]`:
//!
//! ```text
//! cargo build --release --target wasm32-unknown-unknown
//! ```
//!
//! What the function returns decides about the row: `Ok` finishes it, an [`Outcome`] does as it says, and any other
//! error, by `?`, tries again after the subscription's backoff with the error's text as the reason. A panic fails the
//! message with the panic's text as the reason; the next message has a new instance.
//!
//! An instance handles one message at a time. What is costly to prepare belongs into [`init!`]. A module imports only
//! what it uses; a function that the handler is not granted in inbox.toml keeps the module from loading.

mod host;
pub mod json;
mod message;
mod outcome;
mod outside;
#[doc(hidden)]
pub mod run;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use json::Value;
pub use message::{Message, Meta};
pub use outcome::{Outcome, Result};
pub use outside::{publish, send, Conn, Error, Publication, Request, Response, Rows};

use std::time::Duration;

/// The weight of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// Writes a line to the host's log, which adds subscription, row and attempt.
pub fn log(level: Level, line: &str) {
    host::log(level as i32, line);
}

/// Whether a line of that weight would be written, for lines that are costly to make.
pub fn log_enabled(level: Level) -> bool {
    host::log_enabled(level as i32) == 1
}

/// One of the handler's own settings, which stand under `config` in inbox.toml.
pub fn config(key: &str) -> Option<String> {
    host::read(128, |buf| host::config(key, buf)).map(host::text)
}

/// The host's time, since 1970-01-01T00:00:00Z.
pub fn now() -> Duration {
    Duration::from_millis(host::now_ms().max(0) as u64)
}

/// Fills a slice with random bytes that are fit for cryptography.
pub fn random(bytes: &mut [u8]) {
    if host::random(bytes) < 0 {
        panic!("the host refuses random bytes");
    }
}

/// Has the host call `fn(&Message) -> inbox::Result` with each message. Once in a module.
#[macro_export]
macro_rules! handler {
    ($handler:path) => {
        #[cfg(target_family = "wasm")]
        #[no_mangle]
        pub extern "C" fn inbox_handle() -> i32 {
            $crate::run::single($handler)
        }
    };
}

/// Has the host call `fn(&[Message]) -> inbox::Result` with each batch, for a handler with `batch = n`. What the function
/// returns is for the messages that [`Message::settle`] has not decided about. A module may have both.
#[macro_export]
macro_rules! batch_handler {
    ($handler:path) => {
        #[cfg(target_family = "wasm")]
        #[no_mangle]
        pub extern "C" fn inbox_handle_batch(count: i32) -> i32 {
            $crate::run::batch($handler, count)
        }
    };
}

/// Has the host call `fn() -> Result<(), String>` once in each instance before its first message. An error refuses the
/// instance: claims pause, and no message spends an attempt.
#[macro_export]
macro_rules! init {
    ($init:path) => {
        #[cfg(target_family = "wasm")]
        #[no_mangle]
        pub extern "C" fn inbox_init() -> i32 {
            $crate::run::init($init)
        }
    };
}
