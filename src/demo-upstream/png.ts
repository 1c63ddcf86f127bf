/**
 * Creates a small valid PNG (RFC 2083, 8-bit RGB): a gradient with colours from `seed`, so that two prompts give two images and one prompt
 * always the same.
 */
import { crc32, deflateSync } from 'node:zlib'

export function paintPng(seed: string, width = 128, height = 128): Buffer {
  const hue = crc32(seed)
  const from = [hue & 0xff, (hue >> 8) & 0xff, (hue >> 16) & 0xff]
  const rows = Buffer.alloc(height * (1 + width * 3))
  for (let y = 0; y < height; y++) {
    // Each row begins with its filter type; zero means none.
    const start = y * (1 + width * 3) + 1
    for (let x = 0; x < width; x++) {
      const towards = (x + y) / (width + height)
      for (const [channel, value] of from.entries()) rows[start + x * 3 + channel] = value + (255 - 2 * value) * towards
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + data.length)
  bytes.writeUInt32BE(data.length, 0)
  bytes.write(type, 4, 'latin1')
  data.copy(bytes, 8)
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length)
  return bytes
}
