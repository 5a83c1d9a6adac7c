// Reduces the size of a PNG of a page: 256 colors, and the best compression. Chromium optimizes for
// speed, not for size. A picture of text and lines becomes less than half as large, and looks the
// same.
//
//   signature | IHDR | … | IDAT: zlib(lines, each: filter | pixels) | IEND
//
// https://www.w3.org/TR/png-3/

import assert from 'node:assert/strict'
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const colorsMax = 256
/** Color types: three bytes per pixel, four with opacity, and one that is a palette index. */
const [rgb, rgba, indexed] = [2, 6, 3]

/**
 * Reduces a picture to 256 colors: the most frequent ones, and rare ones that differ most from
 * them, such as the color of a mark in a legend. Each other color becomes the nearest of these.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const counts = new Map<number, number>()
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1)
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color)
  const indexes = new Map<number, number>()
  const palette = chosen(byCount)
  for (const color of byCount) indexes.set(color, nearest(color, palette))
  const lines = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++) {
    const line = y * (width + 1) + 1 // after the filter byte, which is 0 (none)
    for (let x = 0; x < width; x++) lines[line + x] = indexes.get(pixels[y * width + x]!)!
  }
  return encode(width, height, palette, lines)
}

interface Picture {
  width: number
  height: number
  /** One entry per pixel: 0xRRGGBB. */
  pixels: Uint32Array
}

/** Decodes a PNG as Chromium and `smallPng` write it: eight bits, not interlaced. */
export function decode(png: Buffer): Picture {
  assert.ok(png.subarray(0, signature.length).equals(signature), 'a PNG')
  const parts: Buffer[] = []
  let [header, palette] = [png, png]
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const content = png.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') header = content
    if (type === 'PLTE') palette = content
    if (type === 'IDAT') parts.push(content)
    at += length + 12
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth, colorType, , , interlace] = header.subarray(8)
  assert.deepEqual([depth, interlace], [8, 0], 'eight bits, not interlaced')
  const size = { [rgb]: 3, [rgba]: 4, [indexed]: 1 }[colorType!]
  assert.ok(size !== undefined)
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * size, height, size)
  const pixels = new Uint32Array(width * height)
  for (let i = 0; i < pixels.length; i++) {
    const color = size === 1 ? palette.readUIntBE(bytes[i]! * 3, 3) : bytes.readUIntBE(i * size, 3)
    pixels[i] = color
  }
  return { width, height, pixels }
}

/** Undoes the filters. Each byte was stored as its difference from a prediction by neighbors. */
function unfiltered(lines: Buffer, lineBytes: number, height: number, size: number): Buffer {
  const bytes = Buffer.alloc(lineBytes * height)
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (lineBytes + 1)]
    for (let x = 0; x < lineBytes; x++) {
      const at = y * lineBytes + x
      const left = x < size ? 0 : bytes[at - size]!
      const up = y === 0 ? 0 : bytes[at - lineBytes]!
      const upLeft = x < size || y === 0 ? 0 : bytes[at - lineBytes - size]!
      const guesses = [0, left, up, (left + up) >> 1, paeth(left, up, upLeft)]
      bytes[at] = lines[y * (lineBytes + 1) + 1 + x]! + guesses[filter!]!
    }
  }
  return bytes
}

function paeth(left: number, up: number, upLeft: number): number {
  const guess = left + up - upLeft
  const [a, b, c] = [left, up, upLeft].map((value) => Math.abs(guess - value))
  return a! <= b! && a! <= c! ? left : b! <= c! ? up : upLeft
}

/** Chooses the palette: half of it the most frequent colors, then one by one the most different. */
function chosen(byCount: readonly number[]): number[] {
  const palette = byCount.slice(0, colorsMax / 2)
  const others = byCount.slice(palette.length)
  const gaps = others.map((color) => Math.min(...palette.map((other) => distance(color, other))))
  while (palette.length < Math.min(colorsMax, byCount.length)) {
    const added = others[gaps.indexOf(Math.max(...gaps))]!
    palette.push(added)
    for (const [i, color] of others.entries()) {
      gaps[i] = Math.min(gaps[i]!, distance(color, added))
    }
  }
  return palette
}

function nearest(color: number, palette: readonly number[]): number {
  const distances = palette.map((other) => distance(color, other))
  return distances.indexOf(Math.min(...distances))
}

function distance(color: number, other: number): number {
  const parts = [16, 8, 0].map((bits) => ((color >> bits) & 255) - ((other >> bits) & 255))
  return parts.reduce((sum, part) => sum + part ** 2, 0)
}

function encode(width: number, height: number, palette: readonly number[], lines: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, indexed], 8)
  const colors = Buffer.alloc(palette.length * 3)
  for (const [i, color] of palette.entries()) colors.writeUIntBE(color, i * 3, 3)
  const chunks = [
    chunk('IHDR', header),
    chunk('PLTE', colors),
    chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([signature, ...chunks])
}

/** Makes a chunk: length | type | content | CRC of type and content. */
function chunk(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  const checked = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crc32(checked))
  return Buffer.concat([length, checked, crc])
}
