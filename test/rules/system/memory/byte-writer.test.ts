/** One growing buffer for a long text. */
import t from 'tap'
import { ByteWriter } from '../../../../src/system/memory/byte-writer.ts'

t.test('writes texts and bytes behind one another, in bytes, and frees a buffer that became too small', async (t) => {
  const first = new ArrayBuffer(4)
  const writer = new ByteWriter(first)
  writer.write('a中')
  t.equal(writer.length, 4)
  t.equal(writer.memory, first, 'it fits')
  writer.writeBytes(Buffer.from('bytes'))
  writer.write('')
  writer.write('z'.repeat(1_000))
  t.equal(Buffer.from(writer.memory, 0, writer.length).toString(), `a中bytes${'z'.repeat(1_000)}`)
  t.ok(first.detached)
})

t.test('leaves shared memory as it is', async (t) => {
  const shared = new SharedArrayBuffer(4)
  const writer = new ByteWriter(shared)
  writer.write('abcd')
  writer.write('e')
  t.equal(Buffer.from(shared).toString(), 'abcd')
  t.equal(Buffer.from(writer.memory, 0, writer.length).toString(), 'abcde')
})

t.test('hands its memory over with room behind what was written', async (t) => {
  const writer = new ByteWriter(new ArrayBuffer(3))
  writer.write('abc')
  const bytes = writer.takeBytes(10)
  t.equal(Buffer.from(bytes).toString('utf8', 0, 3), 'abc')
  t.ok(bytes.length >= 13)
  t.throws(() => new ByteWriter(new SharedArrayBuffer(1)).takeBytes(0), /shared/)
})
