/** Which hashes wait, in which order, and which are refused. The hashes are real; their order is what counts. */
import t from 'tap'
import { TooManyAttempts } from '../../../../../src/domain/identity/limits/attempt-limits.ts'
import { decoyHash } from '../../../../../src/domain/identity/passwords/password.ts'
import { PasswordHasher } from '../../../../../src/domain/identity/passwords/password-hasher.ts'

/** Requests a hash for each client in turn; returns who was served, in this order, and who was refused. */
async function run(clients: readonly string[], maxPending: number) {
  const hasher = new PasswordHasher({ maxConcurrent: 1, maxPending })
  const served: string[] = []
  const refused: string[] = []
  await Promise.all(
    clients.map((name) =>
      hasher.verify('x', decoyHash, { network: name, isKnownDevice: name.startsWith('known') }).then(
        () => served.push(name),
        (error: unknown) => {
          if (!(error instanceof TooManyAttempts)) throw error
          refused.push(name)
        },
      ),
    ),
  )
  return { served, refused }
}

t.test('serves known devices first, then the networks in turn', async (t) => {
  const { served, refused } = await run(['a', 'a', 'a', 'a', 'b', 'c', 'b', 'known'], 8)
  t.same(served, ['a', 'known', 'a', 'b', 'c', 'a', 'b', 'a'])
  t.same(refused, [])
})

t.test('a flood of a network refuses its own requests', async (t) => {
  const { served, refused } = await run([...Array<string>(9).fill('a'), 'b', 'c', 'known'], 4)
  t.same(served.toSorted(), ['a', 'a', 'a', 'b', 'c', 'known'])
  t.same(refused, Array<string>(6).fill('a'))
})

t.test('among many networks with one request each the last are refused', async (t) => {
  const { refused } = await run(['a', 'b', 'c', 'd', 'e', 'f'], 3)
  t.same(refused, ['e', 'f'])
})

t.test('known devices are bounded too', async (t) => {
  const { served, refused } = await run(['a', 'known-1', 'known-2', 'known-3', 'b'], 2)
  t.same(served, ['a', 'known-1', 'known-2', 'b'])
  t.same(refused, ['known-3'])
})
