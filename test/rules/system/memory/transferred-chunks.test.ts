/** Chunks on their way to another thread: the bytes exist once. */
import t from 'tap'
import { joinTransferredChunks, toTransferableChunks } from '../../../../src/system/memory/transferred-chunks.ts'

const own = (text: string) => new Uint8Array(new TextEncoder().encode(text))

t.test('frees each chunk when it is joined', async (t) => {
  const chunks = [own('one,'), own('two,'), own('three')]
  t.equal(joinTransferredChunks(chunks).toString(), 'one,two,three')
  t.same(
    chunks.map(({ buffer }) => buffer.detached),
    [true, true, true],
  )
})

t.test('does not copy a single chunk', async (t) => {
  const chunk = own('one')
  t.equal(joinTransferredChunks([chunk]).buffer, chunk.buffer)
})

t.test('copies what shares its memory with others, and joins small chunks', async (t) => {
  const shared = Buffer.alloc(20_000, 'x').subarray(5, 10_005)
  const large = new Uint8Array(10_000).fill(0x79)
  const [copied, passed] = toTransferableChunks([shared, large])
  t.not(copied?.buffer, shared.buffer)
  t.ok(copied !== undefined && shared.equals(copied))
  t.equal(passed, large)
  const joined = toTransferableChunks([own('a'), own('b')])
  t.equal(joined.length, 1)
  t.equal(Buffer.concat(joined).toString(), 'ab')
})
