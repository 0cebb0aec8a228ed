//! What the exports of a module call.

use std::panic;
use std::sync::Once;

use crate::{host, outcome, Message};

/// Has a panic tell the host why before it ends the instance.
fn explain_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            host::reason(&info.to_string());
        }));
    });
}

pub fn single(handler: fn(&Message) -> crate::Result) -> i32 {
    explain_panics();
    outcome::settle(&handler(&Message::single()))
}

pub fn batch(handler: fn(&[Message]) -> crate::Result, count: i32) -> i32 {
    explain_panics();
    Message::begin_batch();
    let messages: Vec<Message> = (0..count).map(Message::of_batch).collect();
    outcome::settle(&handler(&messages))
}

pub fn init(init: fn() -> Result<(), String>) -> i32 {
    explain_panics();
    match init() {
        Ok(()) => 0,
        Err(why) => {
            host::reason(&why);
            1
        }
    }
}
