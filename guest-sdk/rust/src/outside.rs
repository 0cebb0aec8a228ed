//! What a handler does outside of its message: SQL, rows for other tables, requests.

use std::fmt;
use std::str;
use std::time::Duration;

use crate::host;
use crate::json::{self, encode_base64, Value};

/// Why the host did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What the host's function answered, such as -3 where the handler is not allowed it.
    pub code: i32,
    /// What it says, for people.
    pub message: String,
    /// The database's SQLSTATE, empty where it has none.
    pub sqlstate: String,
    /// The database's own number, 0 where it has none.
    pub number: i64,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.number, self.sqlstate.as_str()) {
            (0, "") => Ok(()),
            (0, state) => write!(f, " ({state})"),
            (number, _) => write!(f, " ({number})"),
        }
    }
}

impl std::error::Error for Error {}

/// The error that a code says, with the result where it has one.
fn refused(code: i32, what: &str) -> Error {
    let said = match code {
        host::FAILED => result(),
        _ => Value::Null,
    };
    let message = match code {
        host::BAD_ARGUMENT => format!("{what}: the host cannot read it"),
        host::NOT_ALLOWED => format!("{what}: the handler is not allowed it, see allow in inbox.toml"),
        host::DEADLINE_PASSED => format!("{what}: the deadline passed"),
        host::TOO_LARGE => format!("{what}: beyond a limit of the handler"),
        _ => said.get("message").as_str().unwrap_or("the host does not say why").to_owned(),
    };
    Error {
        code,
        message,
        sqlstate: said.get("sqlstate").as_str().unwrap_or_default().to_owned(),
        number: said.get("number").as_i64().unwrap_or_default(),
    }
}

fn result() -> Value {
    let text = host::read(4096, host::result).map(host::text).unwrap_or_default();
    json::parse(&text).unwrap_or(Value::Null)
}

/// A connection of the handler to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conn {
    /// The thread's own, for `allow = { db = "pool" }`: a statement commits on its own. The statements of one call share a
    /// session; what is left in it is gone before the next call.
    Pool = 0,
    /// The delivery's transaction, for `transactional = true` and `allow = { db = "tx" }`: what is written is committed by
    /// the ack, together with the row's end, and rolled back by every other end.
    Tx = 1,
}

/// The answer to a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// How many rows the statement has changed.
    pub affected: i64,
}

impl Conn {
    /// Runs one statement and gives all of its rows. After one has failed in the transaction, the delivery cannot be acked
    /// any more.
    pub fn query(self, sql: &str, args: &[Value]) -> Result<Rows, Error> {
        let args = if args.is_empty() { String::new() } else { Value::Array(args.to_vec()).to_string() };
        let n = host::db(self as i32, sql, &args);
        if n < 0 {
            return Err(refused(n, "SQL"));
        }
        let answer = result();
        let columns = match answer.get("columns") {
            Value::Array(list) => list.iter().map(|c| c.as_str().unwrap_or_default().to_owned()).collect(),
            _ => Vec::new(),
        };
        let affected = answer.get("affected").as_i64().unwrap_or_default();
        let rows = match answer {
            Value::Object(members) => members.into_iter().find(|(name, _)| name == "rows").map_or(Value::Null, |(_, v)| v),
            other => other,
        };
        let list = if let Value::Array(list) = rows { list } else { Vec::new() };
        let rows = list.into_iter().map(|row| if let Value::Array(values) = row { values } else { Vec::new() }).collect();
        Ok(Rows { columns, rows, affected })
    }

    /// Runs one statement and says how many rows it changed.
    pub fn execute(self, sql: &str, args: &[Value]) -> Result<i64, Error> {
        self.query(sql, args).map(|rows| rows.affected)
    }
}

/// Content as JSON carries it: text as it is, any other bytes in base64.
fn content(members: &mut Vec<(String, Value)>, name: &str, bytes: &[u8]) {
    match str::from_utf8(bytes) {
        Ok(text) => members.push((name.to_owned(), text.into())),
        Err(_) => members.push((format!("{name}_base64"), encode_base64(bytes).into())),
    }
}

fn pairs(members: &mut Vec<(String, Value)>, list: &[(String, String)]) {
    if !list.is_empty() {
        let headers = list.iter().map(|(n, v)| (n.clone(), v.as_str().into())).collect();
        members.push(("headers".to_owned(), Value::Object(headers)));
    }
}

/// A row for another table, for `allow = { publish = ["TABLE"] }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Publication {
    pub payload: Vec<u8>,
    /// In place of a payload, for a table of rows: columns with their values.
    pub row: Option<Vec<(String, Value)>>,
    /// Empty is that of the table's only handler.
    pub group: String,
    pub headers: Vec<(String, String)>,
    /// Hides the row.
    pub delay: Duration,
    pub priority: Option<i64>,
    pub partition_key: Option<String>,
}

/// Writes a row into a table and wakes its handlers. In a transactional handler it is committed by the ack; in another one
/// it is there whatever becomes of the message: one that is delivered again publishes again.
pub fn publish(table: &str, p: &Publication) -> Result<(), Error> {
    let mut members = Vec::new();
    match &p.row {
        Some(row) => members.push(("row".to_owned(), Value::Object(row.clone()))),
        None => content(&mut members, "payload", &p.payload),
    }
    if !p.group.is_empty() {
        members.push(("group".to_owned(), p.group.as_str().into()));
    }
    pairs(&mut members, &p.headers);
    if !p.delay.is_zero() {
        members.push(("delay_ms".to_owned(), (p.delay.as_millis() as u64).into()));
    }
    if let Some(priority) = p.priority {
        members.push(("priority".to_owned(), priority.into()));
    }
    if let Some(key) = &p.partition_key {
        members.push(("partition_key".to_owned(), key.as_str().into()));
    }
    match host::publish(table, &Value::Object(members).to_string()) {
        0 => Ok(()),
        code => Err(refused(code, "publish")),
    }
}

/// An HTTP request, for `allow = { http = ["https://.."] }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Empty is GET.
    pub method: String,
    /// Of an origin that the handler allows.
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Zero is the delivery's own.
    pub timeout: Duration,
}

/// The answer to a request, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: i64,
    /// By names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// One header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Sends a request. A response that says no, such as 503, is no error.
pub fn send(r: &Request) -> Result<Response, Error> {
    let mut members = Vec::new();
    if !r.method.is_empty() {
        members.push(("method".to_owned(), r.method.as_str().into()));
    }
    members.push(("url".to_owned(), r.url.as_str().into()));
    pairs(&mut members, &r.headers);
    content(&mut members, "body", &r.body);
    if !r.timeout.is_zero() {
        members.push(("timeout_ms".to_owned(), (r.timeout.as_millis().max(1) as u64).into()));
    }
    let n = host::http(&Value::Object(members).to_string());
    if n < 0 {
        return Err(refused(n, "http"));
    }
    let answer = result();
    let headers = match answer.get("headers") {
        Value::Object(list) => list.iter().map(|(n, v)| (n.clone(), v.as_str().unwrap_or_default().to_owned())).collect(),
        _ => Vec::new(),
    };
    let body = match answer.get("body_base64").as_str() {
        Some(text) => json::decode_base64(text).unwrap_or_default(),
        None => answer.get("body").as_str().unwrap_or_default().as_bytes().to_vec(),
    };
    Ok(Response { status: answer.get("status").as_i64().unwrap_or_default(), headers, body })
}
