// SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it.

const CONSTANTS: StaticArray<u32> = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

// Room for the mixing of a block, so that it makes no garbage.
const w = new StaticArray<u32>(64);

class Sha256 {
  private state: StaticArray<u32> = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
  private block: StaticArray<u8> = new StaticArray<u8>(64);
  private length: i32 = 0;

  clone(): Sha256 {
    const copy = new Sha256();
    for (let i = 0; i < 8; i++) copy.state[i] = this.state[i];
    for (let i = 0; i < 64; i++) copy.block[i] = this.block[i];
    copy.length = this.length;
    return copy;
  }

  addByte(byte: u8): void {
    this.block[this.length++ % 64] = byte;
    if (this.length % 64 == 0) this.mix();
  }

  add(data: Uint8Array): void {
    for (let i = 0; i < data.length; i++) this.addByte(data[i]);
  }

  private mix(): void {
    for (let i = 0; i < 16; i++) w[i] = bswap<u32>(load<u32>(changetype<usize>(this.block) + 4 * i));
    for (let i = 16; i < 64; i++) {
      const a = rotr<u32>(w[i - 15], 7) ^ rotr<u32>(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const b = rotr<u32>(w[i - 2], 17) ^ rotr<u32>(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    const state = this.state;
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (let i = 0; i < 64; i++) {
      const one = h + (rotr<u32>(e, 6) ^ rotr<u32>(e, 11) ^ rotr<u32>(e, 25)) + ((e & f) ^ (~e & g)) + unchecked(CONSTANTS[i]) + unchecked(w[i]);
      const two = (rotr<u32>(a, 2) ^ rotr<u32>(a, 13) ^ rotr<u32>(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + one;
      d = c;
      c = b;
      b = a;
      a = one + two;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }

  sum(): Uint8Array {
    const bits = (<u64>this.length) * 8;
    this.addByte(0x80);
    while (this.length % 64 != 56) this.addByte(0);
    for (let shift: u64 = 56; ; shift -= 8) {
      this.addByte(<u8>(bits >> shift));
      if (shift == 0) break;
    }
    const sum = new Uint8Array(32);
    for (let i = 0; i < 32; i++) sum[i] = <u8>(this.state[i >> 2] >> (24 - 8 * (i & 3)));
    return sum;
  }
}

/** A key, ready for messages: the hashes that have taken its two pads. */
export class Hmac {
  private inner: Sha256 = new Sha256();
  private outer: Sha256 = new Sha256();

  constructor(key: Uint8Array) {
    if (key.length > 64) {
      const h = new Sha256();
      h.add(key);
      key = h.sum();
    }
    for (let i = 0; i < 64; i++) {
      const byte: u8 = i < key.length ? key[i] : 0;
      this.inner.addByte(byte ^ 0x36);
      this.outer.addByte(byte ^ 0x5c);
    }
  }

  sum(message: Uint8Array): Uint8Array {
    const inner = this.inner.clone();
    const outer = this.outer.clone();
    inner.add(message);
    outer.add(inner.sum());
    return outer.sum();
  }
}
