/** What comes in crumbs takes no more memory than what it is. */
import t from 'tap'
import { inOnePiece, Parts } from '../../src/system/parts.ts'

t.test('parts of one byte are put together, and stay in order', async (t) => {
  const parts = new Parts()
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))
  for (let at = 0; at < bytes.length; at++) parts.add(bytes.subarray(at, at + 1))
  t.ok(parts.all.length < 1_200, `${parts.all.length} are kept`)
  t.ok(inOnePiece(parts.all).equals(bytes))
})

t.test('ordinary parts are kept as they came', async (t) => {
  const parts = new Parts()
  const came = [Buffer.from('one'), Buffer.from('two')]
  for (const part of came) parts.add(part)
  t.same(parts.all, came)
  t.equal(parts.all[1], came[1])
})
