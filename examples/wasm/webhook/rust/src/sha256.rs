//! SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it.

const CONSTANTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

#[derive(Clone)]
struct Sha256 {
    state: [u32; 8],
    block: [u8; 64],
    length: usize,
}

impl Sha256 {
    fn new() -> Self {
        let state = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
        Sha256 { state, block: [0; 64], length: 0 }
    }

    fn add(&mut self, data: &[u8]) {
        for byte in data {
            self.block[self.length % 64] = *byte;
            self.length += 1;
            if self.length % 64 == 0 {
                self.mix();
            }
        }
    }

    fn mix(&mut self) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(self.block.chunks(4)) {
            *word = u32::from_be_bytes(bytes.try_into().unwrap());
        }
        for i in 16..64 {
            let a = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ w[i - 15] >> 3;
            let b = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16].wrapping_add(a).wrapping_add(w[i - 7]).wrapping_add(b);
        }
        let mut s = self.state;
        for i in 0..64 {
            let e = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
            let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
            let one = s[7].wrapping_add(e).wrapping_add(choice).wrapping_add(CONSTANTS[i]).wrapping_add(w[i]);
            let a = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            s.rotate_right(1);
            s[4] = s[4].wrapping_add(one);
            s[0] = one.wrapping_add(a).wrapping_add(majority);
        }
        for (state, mixed) in self.state.iter_mut().zip(s) {
            *state = state.wrapping_add(mixed);
        }
    }

    fn sum(mut self) -> [u8; 32] {
        let bits = (self.length as u64) * 8;
        self.add(&[0x80]);
        while self.length % 64 != 56 {
            self.add(&[0]);
        }
        self.add(&bits.to_be_bytes());
        let mut sum = [0; 32];
        for (bytes, word) in sum.chunks_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        sum
    }
}

/// A key, ready for messages: the hashes that have taken its two pads.
pub struct Hmac {
    inner: Sha256,
    outer: Sha256,
}

impl Hmac {
    pub fn new(key: &[u8]) -> Self {
        let mut pad = [0u8; 64];
        if key.len() > pad.len() {
            let mut h = Sha256::new();
            h.add(key);
            pad[..32].copy_from_slice(&h.sum());
        } else {
            pad[..key.len()].copy_from_slice(key);
        }
        let (mut inner, mut outer) = (Sha256::new(), Sha256::new());
        inner.add(&pad.map(|b| b ^ 0x36));
        outer.add(&pad.map(|b| b ^ 0x5c));
        Hmac { inner, outer }
    }

    pub fn sum(&self, message: &[u8]) -> [u8; 32] {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        inner.add(message);
        outer.add(&inner.sum());
        outer.sum()
    }
}
