//! The kernels of the Go package beside this one, in Rust with its standard library. Each export runs one, n times,
//! and returns a check sum.

use std::collections::BTreeMap;

#[no_mangle]
pub extern "C" fn hash(n: i32) -> i32 {
    // BLAKE2s's mixing (RFC 7693, 3.1) over 64 KiB.
    let block: Vec<u32> = (0..16 << 10).map(|i: u32| i.wrapping_mul(0x9e37_79b9)).collect();
    let mut v = [0x6a09_e667u32; 16];
    let mix = |v: &mut [u32; 16], at: [usize; 4], x: u32, y: u32| {
        let [a, b, c, d] = at;
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
        v[d] = (v[d] ^ v[a]).rotate_right(16);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(12);
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
        v[d] = (v[d] ^ v[a]).rotate_right(8);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(7);
    };
    for _ in 0..n {
        for m in block.chunks_exact(16) {
            for i in 0..4 {
                mix(&mut v, [i, i + 4, i + 8, i + 12], m[2 * i], m[2 * i + 1]);
            }
            for i in 0..4 {
                mix(&mut v, [i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12], m[8 + 2 * i], m[9 + 2 * i]);
            }
        }
    }
    v[0] as i32
}

enum Json {
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl Parser<'_> {
    fn skip(&mut self) -> u8 {
        let first = self.rest[0];
        self.rest = &self.rest[1..];
        first
    }

    fn text(&mut self) -> String {
        self.skip();
        let end = self.rest.iter().position(|&b| b == b'"').unwrap();
        let text = std::str::from_utf8(&self.rest[..end]).unwrap().to_owned();
        self.rest = &self.rest[end + 1..];
        text
    }

    fn value(&mut self) -> Json {
        match self.rest[0] {
            b'"' => Json::Text(self.text()),
            b'[' => {
                let mut list = Vec::new();
                while self.skip() != b']' {
                    list.push(self.value());
                }
                Json::List(list)
            }
            b'{' => {
                let mut object = BTreeMap::new();
                while self.skip() != b'}' {
                    let key = self.text();
                    self.skip();
                    object.insert(key, self.value());
                }
                Json::Object(object)
            }
            _ => {
                let end = self.rest.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap();
                let number = std::str::from_utf8(&self.rest[..end]).unwrap().parse().unwrap();
                self.rest = &self.rest[end..];
                Json::Number(number)
            }
        }
    }
}

fn sum(v: &Json) -> i32 {
    match v {
        Json::Number(n) => (n * 100.0) as i32,
        Json::Text(t) => t.len() as i32,
        Json::List(l) => l.iter().map(sum).sum(),
        Json::Object(o) => o.iter().map(|(k, v)| k.len() as i32 + sum(v)).sum(),
    }
}

#[no_mangle]
pub extern "C" fn json(n: i32) -> i32 {
    let line = r#"{"sku":"ABC-12345","count":3,"price":19.95}"#;
    let document = format!("[{}]", vec![line; 40].join(","));
    (0..n).map(|_| sum(&Parser { rest: document.as_bytes() }.value())).fold(0, i32::wrapping_add)
}

#[no_mangle]
pub extern "C" fn sort(n: i32) -> i32 {
    let mut total = 0i32;
    for _ in 0..n {
        let mut x = 12345u32;
        let mut list: Vec<i32> = (0..20_000)
            .map(|_| {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (x >> 1) as i32
            })
            .collect();
        list.sort();
        total = total.wrapping_add(list[10_000]);
    }
    total
}

#[no_mangle]
pub extern "C" fn scale(n: i32) -> i32 {
    let from: Vec<u8> = (0..256 * 256 * 4).map(|i| (i * 7) as u8).collect();
    let mut to = vec![0u8; 100 * 100 * 4];
    let mut total = 0;
    for _ in 0..n {
        for y in 0..100 {
            for x in 0..100 {
                let (fx, fy) = (x * 256 * 255 / 100, y * 256 * 255 / 100);
                let (u, v) = (fx & 255, fy & 255);
                let at = ((fy >> 8) * 256 + (fx >> 8)) * 4;
                for c in 0..4 {
                    let p = |i: usize| from[at + c + i] as usize;
                    let top = p(0) * (256 - u) + p(4) * u;
                    let bottom = p(1024) * (256 - u) + p(1028) * u;
                    to[(y * 100 + x) * 4 + c] = ((top * (256 - v) + bottom * v) >> 16) as u8;
                }
            }
        }
        total += to[4000] as i32;
    }
    total
}

/// Matches one or more of a class, as `(class, literal)` pairs, by backtracking.
fn find(pattern: &[(fn(u8) -> bool, u8)], s: &[u8]) -> Option<usize> {
    let (class, literal) = match pattern.first() {
        Some(part) => part,
        None => return Some(0),
    };
    let mut end = s.iter().take_while(|&&b| class(b)).count();
    while end > 0 {
        if s.get(end) == Some(literal) {
            if let Some(more) = find(&pattern[1..], &s[end + 1..]) {
                return Some(end + 1 + more);
            }
        }
        end -= 1;
    }
    None
}

#[no_mangle]
pub extern "C" fn regexp(n: i32) -> i32 {
    let text = "Contact us at nobody at example dot com or write to ada.lovelace@mail.example.com today. ".repeat(2);
    let word: fn(u8) -> bool = |b| b.is_ascii_lowercase() || b == b'.';
    let pattern = [(word, b'@'), (word, b'.'), (word, b' ')];
    let mut total = 0;
    for _ in 0..n {
        total += (0..text.len()).filter_map(|at| find(&pattern, &text.as_bytes()[at..])).sum::<usize>();
    }
    total as i32
}
