/** Many chunks take little more memory than their bytes. */
import t from 'tap'
import { concatChunks, ChunkList } from '../../../../src/system/memory/chunk-list.ts'

t.test('merges one-byte chunks and keeps their order', async (t) => {
  const parts = new ChunkList()
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))
  for (let at = 0; at < bytes.length; at++) parts.add(bytes.subarray(at, at + 1))
  t.equal(parts.chunks.length, 1)
  t.ok(concatChunks(parts.chunks).equals(bytes))
})

t.test('keeps chunks of normal size uncopied', async (t) => {
  const parts = new ChunkList()
  const came = [Buffer.from('one'), Buffer.from('two')]
  for (const part of came) parts.add(part)
  t.same(parts.chunks, came)
  t.equal(parts.chunks[1], came[1])
})

t.test('copies a long body to blocks, and frees its chunks if they are its own', async (t) => {
  for (const ownsChunks of [true, false]) {
    const list = new ChunkList({ ownsChunks })
    const bytes = Buffer.from(Array.from({ length: 2_500_000 }, (_, index) => index % 251))
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += 60_000) {
      const chunk = Buffer.from(new Uint8Array(bytes.subarray(at, at + 60_000)).buffer)
      chunks.push(chunk)
      list.add(chunk)
    }
    t.ok(list.chunks.length <= 4, `${list.chunks.length} blocks`)
    t.ok(concatChunks(list.chunks).equals(bytes))
    t.ok(chunks.every(({ length }) => (length === 0) === ownsChunks))
  }
})

t.test('never frees memory that is shared', async (t) => {
  const list = new ChunkList({ ownsChunks: true })
  const shared = Buffer.from(new ArrayBuffer(400_000))
  list.add(shared.subarray(0, 200_000))
  t.equal(shared.length, 400_000)
  t.equal(concatChunks(list.chunks).length, 200_000)
})
