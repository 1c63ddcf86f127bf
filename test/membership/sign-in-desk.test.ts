/** What asking for a code tells: nothing, by no answer and no time. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createIds } from '../../src/system/ids.ts'
import { allowancesWith } from '../../src/membership/allowances.ts'
import { createMembership } from '../../src/membership/membership.ts'
import { calendarOf } from '../../src/membership/period.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'

t.test('who may not be written to waits for a letter as who may: until it is kept', async (t) => {
  const clock = { now: () => Date.parse('2026-01-05T00:00:00Z') }
  const store = await openSqliteStore({ file: ':memory:', process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(() => store.close())
  const address = 'owner@example.com'
  const account = { id: 'acc_1', email: address, plan: 'free', passwordHash: null, emailVerified: true, at: clock.now() }
  await store.accounts.create(account)
  const asked: { readonly to: string | null; readonly keep: () => void }[] = []
  const { signIn } = createMembership({
    hashesAtOnce: 1,
    store,
    mail: {
      code(to) {
        const { promise, resolve } = Promise.withResolvers<void>()
        asked.push({ to, keep: resolve })
        return promise
      },
      async proof() {},
      async deviceSignedIn() {},
      async passwordChanged() {},
    },
    calendar: calendarOf('UTC'),
    clock,
    ids: createIds(),
    secret: Buffer.alloc(32, 7),
    sessionPrefix: 'svc_sess_',
    keys: { prefix: 'svc_live_', perAccount: 20 },
    rules: { mergeAliases: true, blockedDomains: [], isDisposable: () => false, signUp: 'closed', allowedDomains: [] },
    allowances: allowancesWith({}),
    boosts: { checkin: { pool: 'fast', credits: 1, days: 1 }, invite: { pool: 'fast', credits: 1, days: 1, perMonth: 1 } },
    defaultPlan: 'free',
    forget: () => undefined,
  })
  for (const [email, to] of [
    [address, address],
    ['stranger@example.com', null],
  ] as const) {
    let answered = false
    const visitor = { address: '203.0.113.9', network: '203.0.113.9', requestId: 'mbr_x', client: null, device: null }
    const answer = signIn.askForCode({ email, browser: email }, visitor).finally(() => (answered = true))
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(answered, false, email)
    const [letter] = asked.splice(0)
    t.equal(letter?.to, to)
    letter?.keep()
    t.same(await answer, { kind: 'sent' })
  }
})
