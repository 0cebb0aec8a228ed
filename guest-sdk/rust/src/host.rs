//! The functions of the host, and how their answers are read.

/// What functions of the host answer instead of a length or 0.
pub const ABSENT: i32 = -1;
pub const BAD_ARGUMENT: i32 = -2;
pub const NOT_ALLOWED: i32 = -3;
pub const FAILED: i32 = -4;
pub const DEADLINE_PASSED: i32 = -5;
pub const TOO_LARGE: i32 = -6;

#[cfg(target_family = "wasm")]
mod raw {
    #[link(wasm_import_module = "inbox_v1")]
    extern "C" {
        pub fn payload(buf: *mut u8, cap: usize) -> i32;
        pub fn header(name: *const u8, name_len: usize, buf: *mut u8, cap: usize) -> i32;
        pub fn meta(buf: *mut u8, cap: usize) -> i32;
        pub fn attempt() -> i32;
        pub fn deadline_ms() -> i64;
        pub fn message(i: i32) -> i32;
        pub fn outcome(code: i32) -> i32;
        pub fn retry_after(ms: i64) -> i32;
        pub fn reason(ptr: *const u8, len: usize) -> i32;
        pub fn log(level: i32, ptr: *const u8, len: usize) -> i32;
        pub fn log_enabled(level: i32) -> i32;
        pub fn config(key: *const u8, key_len: usize, buf: *mut u8, cap: usize) -> i32;
        pub fn now_ms() -> i64;
        pub fn random(ptr: *mut u8, len: usize) -> i32;
        pub fn db(conn: i32, sql: *const u8, sql_len: usize, args: *const u8, args_len: usize) -> i32;
        pub fn publish(table: *const u8, table_len: usize, msg: *const u8, msg_len: usize) -> i32;
        pub fn http(req: *const u8, req_len: usize) -> i32;
        pub fn result(buf: *mut u8, cap: usize) -> i32;
    }
}

// Each wrapper hands over slices, which are as long as they say.
#[cfg(target_family = "wasm")]
mod calls {
    use super::raw;

    pub fn payload(buf: &mut [u8]) -> i32 {
        unsafe { raw::payload(buf.as_mut_ptr(), buf.len()) }
    }
    pub fn header(name: &str, buf: &mut [u8]) -> i32 {
        unsafe { raw::header(name.as_ptr(), name.len(), buf.as_mut_ptr(), buf.len()) }
    }
    pub fn meta(buf: &mut [u8]) -> i32 {
        unsafe { raw::meta(buf.as_mut_ptr(), buf.len()) }
    }
    pub fn attempt() -> i32 {
        unsafe { raw::attempt() }
    }
    pub fn deadline_ms() -> i64 {
        unsafe { raw::deadline_ms() }
    }
    pub fn message(i: i32) -> i32 {
        unsafe { raw::message(i) }
    }
    pub fn outcome(code: i32) -> i32 {
        unsafe { raw::outcome(code) }
    }
    pub fn retry_after(ms: i64) -> i32 {
        unsafe { raw::retry_after(ms) }
    }
    pub fn reason(text: &str) -> i32 {
        unsafe { raw::reason(text.as_ptr(), text.len()) }
    }
    pub fn log(level: i32, line: &str) -> i32 {
        unsafe { raw::log(level, line.as_ptr(), line.len()) }
    }
    pub fn log_enabled(level: i32) -> i32 {
        unsafe { raw::log_enabled(level) }
    }
    pub fn config(key: &str, buf: &mut [u8]) -> i32 {
        unsafe { raw::config(key.as_ptr(), key.len(), buf.as_mut_ptr(), buf.len()) }
    }
    pub fn now_ms() -> i64 {
        unsafe { raw::now_ms() }
    }
    pub fn random(bytes: &mut [u8]) -> i32 {
        unsafe { raw::random(bytes.as_mut_ptr(), bytes.len()) }
    }
    pub fn db(conn: i32, sql: &str, args: &str) -> i32 {
        unsafe { raw::db(conn, sql.as_ptr(), sql.len(), args.as_ptr(), args.len()) }
    }
    pub fn publish(table: &str, message: &str) -> i32 {
        unsafe { raw::publish(table.as_ptr(), table.len(), message.as_ptr(), message.len()) }
    }
    pub fn http(request: &str) -> i32 {
        unsafe { raw::http(request.as_ptr(), request.len()) }
    }
    pub fn result(buf: &mut [u8]) -> i32 {
        unsafe { raw::result(buf.as_mut_ptr(), buf.len()) }
    }
}

#[cfg(target_family = "wasm")]
pub use calls::*;

#[cfg(not(target_family = "wasm"))]
pub use crate::testing::calls::*;

/// Asks for a value in a buffer that grows until it fits; none where the host says that there is none.
pub fn read(first: usize, call: impl Fn(&mut [u8]) -> i32) -> Option<Vec<u8>> {
    let mut buf = vec![0; first];
    loop {
        let n = call(&mut buf);
        if n == ABSENT {
            return None;
        }
        let n = usize::try_from(n).unwrap_or_else(|_| panic!("the host refuses a value with {n}"));
        if n <= buf.len() {
            buf.truncate(n);
            return Some(buf);
        }
        buf = vec![0; n];
    }
}

/// The text of a value that the contract promises to be UTF-8.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
