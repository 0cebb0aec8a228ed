/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it, for handlers that check signatures. It needs no library. */
#ifndef INBOX_SHA256_H
#define INBOX_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct inbox_sha256 {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t length;
} inbox_sha256;

static const uint32_t inbox_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t inbox_rotated(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void inbox_sha256_begin(inbox_sha256 *h) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int i = 0; i < 8; i++)
        h->state[i] = first[i];
    h->length = 0;
}

static inline void inbox_sha256_mix(inbox_sha256 *h) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)h->block[4 * i] << 24 | (uint32_t)h->block[4 * i + 1] << 16 | (uint32_t)h->block[4 * i + 2] << 8 | h->block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = (inbox_rotated(w[i - 2], 17) ^ inbox_rotated(w[i - 2], 19) ^ w[i - 2] >> 10) + w[i - 7] +
               (inbox_rotated(w[i - 15], 7) ^ inbox_rotated(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 16];
    for (int i = 0; i < 8; i++)
        s[i] = h->state[i];
    for (int i = 0; i < 64; i++) {
        uint32_t one = s[7] + (inbox_rotated(s[4], 6) ^ inbox_rotated(s[4], 11) ^ inbox_rotated(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + inbox_sha256_constants[i] + w[i];
        uint32_t two = (inbox_rotated(s[0], 2) ^ inbox_rotated(s[0], 13) ^ inbox_rotated(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; k--)
            s[k] = s[k - 1];
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h->state[i] += s[i];
}

static inline void inbox_sha256_add(inbox_sha256 *h, const void *data, size_t length) {
    const uint8_t *p = (const uint8_t *)data;
    for (size_t i = 0; i < length; i++) {
        h->block[h->length++ % 64] = p[i];
        if (h->length % 64 == 0)
            inbox_sha256_mix(h);
    }
}

static inline void inbox_sha256_end(inbox_sha256 *h, uint8_t sum[32]) {
    uint64_t bits = h->length * 8;
    uint8_t padding = 0x80, zero = 0, tail[8];
    inbox_sha256_add(h, &padding, 1);
    while (h->length % 64 != 56)
        inbox_sha256_add(h, &zero, 1);
    for (int i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    inbox_sha256_add(h, tail, 8);
    for (int i = 0; i < 32; i++)
        sum[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* A key, ready for messages: the hashes that have taken its two pads. */
typedef struct inbox_hmac {
    inbox_sha256 inner, outer;
} inbox_hmac;

static inline void inbox_hmac_key(inbox_hmac *m, const char *key, size_t length) {
    uint8_t pad[64] = {0}, sum[32];
    if (length > 64) {
        inbox_sha256_begin(&m->inner);
        inbox_sha256_add(&m->inner, key, length);
        inbox_sha256_end(&m->inner, sum);
        key = (const char *)sum;
        length = 32;
    }
    inbox_sha256_begin(&m->inner);
    inbox_sha256_begin(&m->outer);
    for (size_t i = 0; i < 64; i++)
        pad[i] = (i < length ? (uint8_t)key[i] : 0) ^ 0x36;
    inbox_sha256_add(&m->inner, pad, 64);
    for (size_t i = 0; i < 64; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    inbox_sha256_add(&m->outer, pad, 64);
}

static inline void inbox_hmac_sum(const inbox_hmac *m, const void *data, size_t length, uint8_t sum[32]) {
    inbox_sha256 inner = m->inner, outer = m->outer;
    inbox_sha256_add(&inner, data, length);
    inbox_sha256_end(&inner, sum);
    inbox_sha256_add(&outer, sum, 32);
    inbox_sha256_end(&outer, sum);
}

#endif
