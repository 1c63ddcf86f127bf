/** The generated images, decoded again. */
import t from 'tap'
import { crc32, inflateSync } from 'node:zlib'
import { paintPng } from '../../../src/demo-upstream/png.ts'

t.test('generates a valid PNG of the requested size', (t) => {
  const png = paintPng('a boat', 20, 10)
  t.equal(png.toString('latin1', 0, 8), '\x89PNG\r\n\x1a\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    t.equal(png.readUInt32BE(at + 8 + length), crc32(png.subarray(at + 4, at + 8 + length)), `${type} is valid`)
    chunks.set(type, png.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  t.same([...chunks.keys()], ['IHDR', 'IDAT', 'IEND'])
  t.equal(chunks.get('IHDR')?.readUInt32BE(0), 20)
  t.equal(chunks.get('IHDR')?.readUInt32BE(4), 10)
  t.equal(inflateSync(chunks.get('IDAT')!).length, 10 * (1 + 20 * 3))
  t.end()
})

t.test('generates the same image for one prompt, and another for a different prompt', (t) => {
  t.ok(paintPng('a').equals(paintPng('a')))
  t.notOk(paintPng('a').equals(paintPng('b')))
  t.end()
})
