// HMAC-SHA256 (FIPS 180-4, RFC 2104), computed synchronously: that of WebCrypto returns a promise,
// and browsers have no node:crypto. The body of a webhook is short, so speed does not matter.

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const constants = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
])

/** Returns the 32 bytes of the code. The message may be given in parts. */
export function hmacSha256(key: Uint8Array, ...message: Uint8Array[]): Uint8Array {
  const short = key.length > 64 ? sha256(key) : key
  const block = (mask: number) => Uint8Array.from({ length: 64 }, (_, i) => (short[i] ?? 0) ^ mask)
  return sha256(block(0x5c), sha256(block(0x36), ...message))
}

function sha256(...parts: Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  // The message, a one bit, zeros, and the length in bits as 64 bits.
  const padded = new Uint8Array(Math.ceil((length + 9) / 64) * 64)
  let at = 0
  for (const part of parts) {
    padded.set(part, at)
    at += part.length
  }
  padded[length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(length) * 8n)
  const hash = new Int32Array([
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  ])
  for (at = 0; at < padded.length; at += 64) addBlock(hash, view, at)
  for (let i = 0; i < hash.length; i++) view.setInt32(i * 4, hash[i])
  return padded.slice(0, 32)
}

function addBlock(hash: Int32Array, view: DataView, at: number): void {
  const w = new Int32Array(64)
  let [a, b, c, d, e, f, g, h] = hash
  for (let i = 0; i < 64; i++) {
    if (i < 16) w[i] = view.getInt32(at + i * 4)
    else {
      const low = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ (w[i - 15] >>> 3)
      const high = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ (w[i - 2] >>> 10)
      w[i] = w[i - 16] + low + w[i - 7] + high
    }
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i]) | 0
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c))
    ;[a, b, c, d, e, f, g, h] = [(t1 + t2) | 0, a, b, c, (d + t1) | 0, e, f, g]
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i] += word
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}
