//! JSON as the contract needs it: numbers keep their digits, and bytes are `{"base64":".."}`.

use std::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// The digits as they are written, so that no number loses any.
    Number(String),
    String(String),
    /// Written as `{"base64":".."}`; read with [`Value::to_bytes`].
    Bytes(Vec<u8>),
    Array(Vec<Value>),
    /// Members in their order.
    Object(Vec<(String, Value)>),
}

static NULL: Value = Value::Null;

impl Value {
    /// A member of an object, or null.
    pub fn get(&self, name: &str) -> &Value {
        match self {
            Value::Object(members) => members.iter().find(|(n, _)| n == name).map_or(&NULL, |(_, v)| v),
            _ => &NULL,
        }
    }

    /// An element of an array, or null.
    pub fn at(&self, index: usize) -> &Value {
        match self {
            Value::Array(list) => list.get(index).unwrap_or(&NULL),
            _ => &NULL,
        }
    }

    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// A whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// A number, with the digits that an f64 keeps.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// The bytes of `{"base64":".."}`, or of a string.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Value::Bytes(b) => Some(b.clone()),
            Value::String(s) => Some(s.clone().into_bytes()),
            _ => self.get("base64").as_str().and_then(decode_base64),
        }
    }
}

macro_rules! numbers {
    ($($t:ty),*) => { $(impl From<$t> for Value { fn from(n: $t) -> Self { Value::Number(n.to_string()) } })* };
}
numbers!(i32, i64, u32, u64, usize);

impl From<f64> for Value {
    /// NaN and the infinities have no form in JSON, and become null.
    fn from(n: f64) -> Self {
        if n.is_finite() {
            Value::Number(format!("{n:?}"))
        } else {
            Value::Null
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::String(s.to_owned())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Value::String(s)
    }
}

impl From<Vec<u8>> for Value {
    fn from(b: Vec<u8>) -> Self {
        Value::Bytes(b)
    }
}

impl From<&[u8]> for Value {
    fn from(b: &[u8]) -> Self {
        Value::Bytes(b.to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Value::Null, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Number(n) => f.write_str(n),
            Value::String(s) => write_string(f, s),
            Value::Bytes(b) => write!(f, "{{\"base64\":\"{}\"}}", encode_base64(b)),
            Value::Array(list) => {
                f.write_str("[")?;
                for (i, v) in list.iter().enumerate() {
                    write!(f, "{}{v}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (i, (name, v)) in members.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    write_string(f, name)?;
                    write!(f, ":{v}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, s: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in s.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base64, with padding.
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity((bytes.len() + 2) / 3 * 4);
    for group in bytes.chunks(3) {
        let n = group.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            out.push(if i <= group.len() { LETTERS[(n >> (18 - 6 * i) & 63) as usize] as char } else { '=' });
        }
    }
    out
}

/// The bytes of base64, none where it is none.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        let mut n = 0u32;
        for c in group {
            n = n << 6 | LETTERS.iter().position(|l| l == c)? as u32;
        }
        n <<= 6 * (4 - group.len());
        out.extend_from_slice(&n.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

/// What is wrong with a text that is no JSON, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub at: usize,
    pub what: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JSON: {} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for ParseError {}

/// Reads a JSON text.
pub fn parse(text: &str) -> Result<Value, ParseError> {
    let mut p = Parser { text, at: 0 };
    let value = p.value(0)?;
    p.blank();
    if p.at < text.len() {
        return Err(p.error("something follows the value"));
    }
    Ok(value)
}

/// How deep values may nest.
const MAX_DEPTH: usize = 128;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn error(&self, what: &'static str) -> ParseError {
        ParseError { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, c: u8) -> bool {
        self.blank();
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, ParseError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error("no value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value, ParseError> {
        if depth > MAX_DEPTH {
            return Err(self.error("values nest too deep"));
        }
        self.blank();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.error("no value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, ParseError> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.blank();
            if self.peek() != Some(b'"') {
                return Err(self.error("no name of a member"));
            }
            let name = self.string()?;
            if !self.take(b':') {
                return Err(self.error("no colon"));
            }
            members.push((name, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.error("no comma"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, ParseError> {
        self.at += 1;
        let mut list = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Value::Array(list));
            }
            if !self.take(b',') {
                return Err(self.error("no comma"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, ParseError> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let whole = self.at;
        let mut good = self.digits() && (self.text.as_bytes()[whole] != b'0' || self.at == whole + 1);
        if self.peek() == Some(b'.') {
            self.at += 1;
            good &= self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'-' | b'+')));
            good &= self.digits();
        }
        if !good {
            return Err(self.error("no number"));
        }
        Ok(Value::Number(self.text[start..self.at].to_owned()))
    }

    /// Passes over digits, and says whether there were any.
    fn digits(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > start
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let end = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').ok_or_else(|| self.error("a string does not end"))?;
            out.push_str(&rest[..end]);
            self.at += end + 1;
            match rest.as_bytes()[end] {
                b'"' => return Ok(out),
                b'\\' => out.push(self.escaped()?),
                _ => return Err(self.error("a control character in a string")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, ParseError> {
        let c = self.peek().ok_or_else(|| self.error("a string does not end"))?;
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => c as char,
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let mut n = self.hex()?;
                if (0xd800..0xdc00).contains(&n) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        n = 0x10000 + ((n - 0xd800) << 10) + (low - 0xdc00);
                    }
                }
                char::from_u32(n).unwrap_or('\u{fffd}')
            }
            _ => return Err(self.error("an unknown escape")),
        })
    }

    fn hex(&mut self) -> Result<u32, ParseError> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.error("a string does not end"))?;
        let n = u32::from_str_radix(digits, 16).map_err(|_| self.error("no hexadecimal digits"))?;
        self.at += 4;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_were_read() {
        for text in [
            "null", "true", "-0", "9223372036854775807", "1.50", "1e400", "\"\"", "[]", "{}", "[1,[2],{\"a\":[]}]", "{\"a\":1,\"b\":{\"c\":\"d\"}}", "\"ü🦀\"",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse(" [ 1 , \"a\\u00e4\\ud83e\\udd80\\n\\\"\\/\" ] ").unwrap(), Value::Array(vec![1.into(), "aä🦀\n\"/".into()]));
        assert_eq!(Value::from("\u{1}\n\"\\").to_string(), "\"\\u0001\\u000a\\\"\\\\\"");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "nul", "[1", "[1,]", "{\"a\"}", "{a:1}", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "-", "01", "-01", "1.", ".5", "1e", "1e+", "--1", "+1", "\"\n\"", "{\"a\":1,}", "\"\\"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn bytes_go_through_base64() {
        for (bytes, text) in [(&b""[..], ""), (b"\0", "AA=="), (b"\0\xff", "AP8="), (b"\0\xffa", "AP9h"), (b"any carnal pleas", "YW55IGNhcm5hbCBwbGVhcw==")] {
            assert_eq!(encode_base64(bytes), text);
            assert_eq!(decode_base64(text).unwrap(), bytes);
        }
        assert_eq!(decode_base64("a*"), None);
        assert_eq!(parse("{\"base64\":\"AP8=\"}").unwrap().to_bytes().unwrap(), b"\0\xff");
    }
}
