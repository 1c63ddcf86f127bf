/** Many tiny chunks take little more memory than their bytes. */
import t from 'tap'
import { concatChunks, ChunkList } from '../../src/system/chunk-list.ts'

t.test('merges one-byte chunks and keeps their order', async (t) => {
  const parts = new ChunkList()
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))
  for (let at = 0; at < bytes.length; at++) parts.add(bytes.subarray(at, at + 1))
  t.ok(parts.chunks.length < 1_200, `${parts.chunks.length} are kept`)
  t.ok(concatChunks(parts.chunks).equals(bytes))
})

t.test('keeps chunks of normal size uncopied', async (t) => {
  const parts = new ChunkList()
  const came = [Buffer.from('one'), Buffer.from('two')]
  for (const part of came) parts.add(part)
  t.same(parts.chunks, came)
  t.equal(parts.chunks[1], came[1])
})
