// The kernels of the Go package beside this one, in C without a library. Each export runs one, n times, and returns
// a check sum.
#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// compress is SHA-256's function (FIPS 180-4, 6.2.2).
static void compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], s[8];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; i++)
    w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
           (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
  for (int i = 0; i < 8; i++) s[i] = state[i];
  for (int i = 0; i < 64; i++) {
    uint32_t a = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i] + w[i];
    uint32_t b = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += a;
    s[0] = a + b;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

EXPORT(hash) int32_t hash(int32_t n) {
  static uint8_t block[64 << 10];
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (size_t i = 0; i < sizeof block; i++) block[i] = (uint8_t)(i * 7);
  for (int32_t k = 0; k < n; k++)
    for (size_t at = 0; at < sizeof block; at += 64) compress(state, block + at);
  return (int32_t)state[0];
}

static const char line[] = "{\"sku\":\"ABC-12345\",\"count\":3,\"price\":19.95}";
static char document[4096];
static const char *at;

static void space(void) {
  while (*at == ' ' || *at == '\n') at++;
}

static double number(void) {
  double v = 0, unit = 1;
  while (*at >= '0' && *at <= '9') v = v * 10 + (*at++ - '0');
  if (*at == '.')
    for (at++; *at >= '0' && *at <= '9'; at++) v += (*at - '0') * (unit /= 10);
  return v;
}

static uint32_t text(void) {
  uint32_t h = 2166136261u;
  for (at++; *at != '"'; at++) {
    if (*at == '\\') at++;
    h = (h ^ (uint8_t)*at) * 16777619u;
  }
  at++;
  return h;
}

// json sums up a value: its texts' hashes and its numbers.
static uint32_t json(void) {
  uint32_t sum = 0;
  space();
  if (*at == '"') return text();
  if (*at != '{' && *at != '[') return (uint32_t)(number() * 100);
  char last = *at++ == '{' ? '}' : ']';
  for (space(); *at != last; space()) {
    if (last == '}') {
      sum += text();
      space();
      at++;
    }
    sum = sum * 31 + json();
    space();
    if (*at == ',') at++;
  }
  at++;
  return sum;
}

EXPORT(json) int32_t parse(int32_t n) {
  uint32_t sum = 0;
  char *to = document;
  *to++ = '[';
  for (int i = 0; i < 40; i++) {
    if (i > 0) *to++ = ',';
    for (const char *from = line; *from; from++) *to++ = *from;
  }
  *to++ = ']';
  *to = 0;
  for (int32_t k = 0; k < n; k++) {
    at = document;
    sum += json();
  }
  return (int32_t)sum;
}

static int32_t list[20000];

static void quicksort(int32_t *from, int32_t *to) {
  while (to - from > 16) {
    int32_t middle = from[(to - from) / 2];
    int32_t *i = from, *j = to - 1;
    while (i <= j) {
      while (*i < middle) i++;
      while (*j > middle) j--;
      if (i <= j) {
        int32_t t = *i;
        *i++ = *j;
        *j-- = t;
      }
    }
    quicksort(from, j + 1);
    from = i;
  }
  for (int32_t *i = from + 1; i < to; i++) {
    int32_t v = *i, *j = i;
    for (; j > from && j[-1] > v; j--) *j = j[-1];
    *j = v;
  }
}

EXPORT(sort) int32_t sort(int32_t n) {
  int32_t sum = 0;
  for (int32_t k = 0; k < n; k++) {
    uint32_t x = 12345;
    for (int i = 0; i < 20000; i++) {
      x = x * 1664525u + 1013904223u;
      list[i] = (int32_t)(x >> 1);
    }
    quicksort(list, list + 20000);
    sum = (int32_t)((uint32_t)sum + (uint32_t)list[10000]);
  }
  return sum;
}

static uint8_t image[256 * 256 * 4], scaled[100 * 100 * 4];

EXPORT(scale) int32_t scale(int32_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < sizeof image; i++) image[i] = (uint8_t)(i * 7);
  for (int32_t k = 0; k < n; k++) {
    for (int y = 0; y < 100; y++)
      for (int x = 0; x < 100; x++) {
        int fx = x * 256 * 255 / 100, fy = y * 256 * 255 / 100, u = fx & 255, v = fy & 255;
        const uint8_t *p = image + ((fy >> 8) * 256 + (fx >> 8)) * 4;
        for (int c = 0; c < 4; c++) {
          int top = p[c] * (256 - u) + p[c + 4] * u, bottom = p[c + 1024] * (256 - u) + p[c + 1028] * u;
          scaled[(y * 100 + x) * 4 + c] = (uint8_t)((top * (256 - v) + bottom * v) >> 16);
        }
      }
    sum += scaled[4000];
  }
  return sum;
}

// match is a backtracking matcher of characters, '.', classes by first and last character in [], '*' and '+'.
static int single(const char *p, char c) { return *p == '[' ? c >= p[1] && c <= p[3] : *p == '.' || *p == c; }

static const char *match(const char *p, const char *s) {
  if (!*p) return s;
  const char *next = *p == '[' ? p + 5 : p + 1;
  if (*next == '*' || *next == '+') {
    const char *end = s;
    while (*end && single(p, *end)) end++;
    for (const char *least = *next == '+' ? s + 1 : s; end >= least; end--) {
      const char *found = match(next + 1, end);
      if (found) return found;
    }
    return NULL;
  }
  return *s && single(p, *s) ? match(next, s + 1) : NULL;
}

EXPORT(regexp) int32_t search(int32_t n) {
  static const char text[] = "Contact us at nobody at example dot com or write to ada@mail.example.com today. Contact us at nobody at all.";
  int32_t sum = 0;
  for (int32_t k = 0; k < n; k++)
    for (const char *s = text; *s; s++) {
      const char *end = match("[a-z]+@[a-z]+.[a-z]+.com", s);
      if (end) {
        sum += (int32_t)(end - s);
        s = end - 1;
      }
    }
  return sum;
}
