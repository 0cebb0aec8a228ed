use std::cell::Cell;
use std::time::Duration;

use crate::json::{self, Value};
use crate::{host, outcome};

thread_local! {
    /// The message of the batch that the host's functions are about, -1 for none yet.
    static CURRENT: Cell<i32> = Cell::new(-1);
}

/// One delivery of a row.
#[derive(Debug)]
pub struct Message {
    index: Option<i32>, // in its batch
}

impl Message {
    pub(crate) fn single() -> Self {
        Message { index: None }
    }

    pub(crate) fn of_batch(index: i32) -> Self {
        Message { index: Some(index) }
    }

    pub(crate) fn begin_batch() {
        CURRENT.with(|c| c.set(-1));
    }

    /// Makes this message the one that the host's functions are about.
    fn current(&self) {
        if let Some(i) = self.index {
            CURRENT.with(|c| {
                if c.replace(i) != i {
                    host::message(i);
                }
            });
        }
    }

    /// The payload, or in row mode the row as a JSON object; none where the column is NULL.
    pub fn payload(&self) -> Option<Vec<u8>> {
        self.current();
        host::read(4096, host::payload)
    }

    /// One header; a value that is no string is its JSON text.
    pub fn header(&self, name: &str) -> Option<String> {
        self.current();
        host::read(128, |buf| host::header(name, buf)).map(host::text)
    }

    /// The number of this delivery, 1 for the first; 0 where the table counts none.
    pub fn attempt(&self) -> i32 {
        self.current();
        host::attempt()
    }

    /// How long the handler may go on before the host interrupts it.
    pub fn time_left(&self) -> Duration {
        self.current();
        Duration::from_millis(host::deadline_ms().max(0) as u64)
    }

    /// What surrounds the payload. That costs more than [`Message::header`] and [`Message::attempt`], which ask for one
    /// value each.
    pub fn meta(&self) -> Meta {
        self.current();
        let text = host::read(1024, host::meta).map(host::text).unwrap_or_default();
        let value = json::parse(&text).expect("the host's meta is JSON");
        let string = |name: &str| value.get(name).as_str().unwrap_or_default().to_owned();
        Meta {
            subscription: string("subscription"),
            table: string("table"),
            group: string("group"),
            id: value.get("id").clone(),
            attempt: value.get("attempt").as_i64().unwrap_or_default(),
            max_attempts: value.get("max_attempts").as_i64().unwrap_or_default(),
            partition_key: value.get("partition_key").as_str().map(str::to_owned),
            headers: value.get("headers").clone(),
        }
    }

    /// In a batch: decides about this message. Those that nothing was decided about come to what the handler returns.
    pub fn settle(&self, result: crate::Result) {
        self.current();
        let code = outcome::settle(&result);
        host::outcome(code);
    }
}

/// What surrounds a message's payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// The handler's name in inbox.toml.
    pub subscription: String,
    /// The table that the row lies in.
    pub table: String,
    /// Its group, empty where the table has none.
    pub group: String,
    /// The row's key: a number, a string, bytes, or an array for a key of several columns.
    pub id: Value,
    /// As [`Message::attempt`].
    pub attempt: i64,
    /// 0 where there is no cap.
    pub max_attempts: i64,
    /// None where the row has none.
    pub partition_key: Option<String>,
    /// An object.
    pub headers: Value,
}
