/** A request for a code reveals nothing, neither by its answer nor by its time. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createOneTimePasswords } from '../../../../../src/access/one-time-passwords.ts'
import { createPasskeyProtocol } from '../../../../../src/access/passkey-protocol.ts'
import { unknownReader } from '../../../../../src/domain/identity/reader.ts'
import { createIds } from '../../../../../src/system/ids.ts'
import { mergeAttemptLimits } from '../../../../../src/domain/identity/limits/attempt-limits.ts'
import type { EmailOutcome } from '../../../../../src/domain/member-mailer.ts'
import { createMembership } from '../../../../../src/domain/services/membership.ts'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import { openSqliteStore } from '../../../../../src/store/sqlite/open.ts'

t.test('a request without an email takes as long as one with: until it is queued', async (t) => {
  const clock = { now: () => Date.parse('2026-01-05T00:00:00Z') }
  const store = await openSqliteStore({ file: ':memory:', process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(() => store.close())
  const address = 'owner@example.com'
  const account = { id: 'acc_1', email: address, plan: 'free', passwordHash: null, emailVerified: true, at: clock.now() }
  await store.accounts.create(account)
  const queued: { readonly to: string | null; readonly keep: () => void }[] = []
  const { signIn } = createMembership({
    maxConcurrentHashes: 1,
    store,
    mailer: {
      sendSignInCode({ to }) {
        const { promise, resolve } = Promise.withResolvers<EmailOutcome>()
        queued.push({ to, keep: () => resolve('queued') })
        return promise
      },
      sendReauthenticationCode: async () => 'queued',
      async sendDeviceSignedIn() {},
      async sendPasswordChanged() {},
      async sendAccountDeleted() {},
      async sendAccountDeletionWaits() {},
      sendEmailChangeCode: async () => 'queued',
      async sendEmailChanged() {},
      deliverPurchaseEmail: () => Promise.resolve('sent'),
      deliverUsageAlert: async () => 'sent',
    },
    calendar: createCalendar('UTC'),
    clock,
    ids: createIds(),
    secret: Buffer.alloc(32, 7),
    sessionPrefix: 'svc_sess_',
    operatorKeyPrefix: 'svc_op_',
    groupRoles: {},
    groupPlans: {},
    passkeyProtocol: createPasskeyProtocol({
      name: 'svc',
      getSite: () => 'https://svc.example',
      random: (size) => Buffer.alloc(size, 1),
    }),
    oneTimePasswords: createOneTimePasswords({
      issuer: 'svc',
      secret: Buffer.alloc(32, 7),
      random: (size) => Buffer.alloc(size, 1),
    }),
    keys: { prefix: 'svc_live_', perAccount: 20 },
    rules: { mergeAliases: true, blockedDomains: [], isDisposable: () => false, signUp: 'closed', allowedDomains: [] },
    attemptLimitTable: mergeAttemptLimits({}),
    boostRules: { checkin: { pool: 'fast', credits: 1, days: 1 }, invite: { pool: 'fast', credits: 1, days: 1, perMonth: 1 } },
    plans: {},
    defaultPlan: 'free',
    timeZone: 'UTC',
    onCredentialsChanged: () => undefined,
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
