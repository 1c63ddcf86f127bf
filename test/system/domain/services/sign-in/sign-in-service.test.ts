/** A request for a code reveals nothing, neither by its answer nor by its time. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { unknownReader } from '../../../../../src/domain/identity/reader.ts'
import type { EmailOutcome } from '../../../../../src/domain/member-mailer.ts'
import { openSqliteStore } from '../../../../../src/store/sqlite/open.ts'
import { createTestMembership } from '../test-membership.ts'

t.test('a request without an email takes as long as one with: until it is queued', async (t) => {
  const clock = { now: () => Date.parse('2026-01-05T00:00:00Z') }
  const store = await openSqliteStore({ file: ':memory:', process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(() => store.close())
  const address = 'owner@example.com'
  const account = { id: 'acc_1', email: address, plan: 'free', passwordHash: null, emailVerified: true, at: clock.now() }
  await store.accounts.create(account)
  const queued: { readonly to: string | null; readonly keep: () => void }[] = []
  const { signIn } = createTestMembership({
    store,
    clock,
    signUp: 'closed',
    sendSignInCode({ to }) {
      const { promise, resolve } = Promise.withResolvers<EmailOutcome>()
      queued.push({ to, keep: () => resolve('queued') })
      return promise
    },
  })
  for (const [email, to] of [
    [address, address],
    ['stranger@example.com', null],
  ] as const) {
    let answered = false
    const client = {
      ip: '203.0.113.9',
      network: '203.0.113.9',
      requestId: 'mbr_x',
      name: null,
      deviceTokens: null,
      reader: unknownReader,
    }
    const answer = signIn.requestCode({ email, browser: email }, client).finally(() => (answered = true))
    while (queued.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(answered, false, email)
    const [sent] = queued.splice(0)
    t.equal(sent?.to, to)
    sent?.keep()
    t.same(await answer, { kind: 'sent', isDelayed: false })
  }
})
