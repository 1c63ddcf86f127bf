/**
 * The bound on guessing, and the guarantee that owners are not locked out, during an attack of eight hours by one, eleven and a thousand
 * clients. The clock is controlled, the store is real. The attacker does everything it can every 13 minutes; the owner signs in every 65
 * minutes, right after an attack.
 */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { unknownReader } from '../../../../../src/domain/identity/reader.ts'
import type { Test } from 'tap'
import { createIds } from '../../../../../src/system/ids.ts'
import { addAccountToken } from '../../../../../src/domain/identity/known-device.ts'
import type { EmailVerificationSecrets } from '../../../../../src/domain/services/sign-in/email-verification-service.ts'
import { TooManyAttempts } from '../../../../../src/domain/identity/limits/attempt-limits.ts'
import type { SignInResult } from '../../../../../src/domain/services/sign-in/sign-in-service.ts'
import type { ClientInfo } from '../../../../../src/domain/identity/client-info.ts'
import { openSqliteStore } from '../../../../../src/store/sqlite/open.ts'
import { createTestMembership } from '../test-membership.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Many times the span of any limit. */
const hours = 8
const secret = Buffer.alloc(32, 7)
const ids = createIds()
const address = 'owner@example.com'
const right = 'violet teapot orbit'

interface SentEmail extends EmailVerificationSecrets {
  readonly to: string
  readonly at: number
}

async function openBench(t: Test) {
  const clock = { at: Date.parse('2026-01-05T00:00:00Z'), now: () => clock.at }
  const store = await openSqliteStore({ file: ':memory:', process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(() => store.close())
  const emails: SentEmail[] = []
  const membership = createTestMembership({
    store,
    clock,
    signUp: 'open',
    async sendSignInCode({ to }, secrets) {
      if (to !== null) emails.push({ to, ...secrets, at: clock.at })
      return 'queued'
    },
  })
  // A guess is a comparison with the real secret. Hashing each password would only cost time.
  const guesses: number[] = []
  Object.assign(membership.passwords, {
    verify: async (password: string, phc: string | null) => {
      if (password !== right) guesses.push(clock.at)
      return { ok: password === right && phc !== null, rehash: false }
    },
  })
  const attempt = store.emailVerifications.useCodeAttempt.bind(store.emailVerifications)
  Object.assign(store.emailVerifications, {
    attempt: async (...words: Parameters<typeof attempt>) => {
      const found = await attempt(...words)
      if (found !== undefined) guesses.push(clock.at)
      return found
    },
  })
  const id = ids.next('acc_', clock.at)
  await store.accounts.create({
    id,
    email: address,
    plan: 'free',
    passwordHash: 'of the right one',
    emailVerified: true,
    at: clock.at,
  })
  return { clock, emails, membership, guesses, account: id }
}

type TestBench = Awaited<ReturnType<typeof openBench>>

function createClientInfo(network: string, deviceTokens: string | null = null): ClientInfo {
  return { ip: network, network, requestId: 'mbr_test', name: null, reader: unknownReader, deviceTokens }
}

/** `null` if it was refused without a comparison. */
async function attemptOrNull<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TooManyAttempts) return null
    throw error
  }
}

for (const clients of [1, 11, 1_000]) {
  t.test(`${hours} hours of ${clients} client${clients === 1 ? '' : 's'}`, async (t) => {
    const bench = await openBench(t)
    const { clock, membership, emails, guesses } = bench
    let turn = 0
    const next = (): ClientInfo => createClientInfo(`198.51.100.1 and ${turn++ % clients} on`)
    const device = addAccountToken(secret, null, bench.account, (size) => ids.bytes(size))
    const start = clock.at
    for (let step = 0; step * 13 < hours * 60; step++) {
      clock.at = start + step * 13 * minuteMs
      await attack(bench, next)
      if (step % 5 !== 0) continue
      clock.at += minuteMs
      t.equal(
        (await attemptOrNull(() => membership.signIn.signInWithPassword(address, right, createClientInfo('203.0.113.1', device))))
          ?.kind,
        'signed-in',
        `${step}: by password, in a browser that is known`,
      )
      t.equal(
        (await signInByEmail(bench, `owner ${step}`, createClientInfo('203.0.113.2')))?.kind,
        'signed-in',
        `by mail, in any browser`,
      )
      const sent = emails.length
      await membership.signIn.requestCode({ email: address, browser: `known ${step}` }, createClientInfo('203.0.113.1', device))
      t.ok(emails.length > sent && emails.at(-1)?.code !== null, 'a known device receives an email with a code')
    }
    t.ok(guesses.length > hours, `${guesses.length} guesses`)
    const most = countMaxInAnHour(guesses)
    t.ok(most <= 10, `at most ten an hour by strangers: ${most}`)
    t.ok(emails.length < hours * 20, `${emails.length} emails`)
  })
}

/** Everything that strangers can do at this moment. */
async function attack({ membership: { signIn } }: TestBench, next: () => ClientInfo): Promise<void> {
  for (let refused = 0; refused < 3;) {
    const answer = await attemptOrNull(() => signIn.signInWithPassword(address, 'wrong word', next()))
    if (answer === null) refused++
  }
  for (let refused = 0; refused < 3;) {
    const browser = `stranger ${randomUUID()}`
    const answer = await attemptOrNull(() => signIn.requestCode({ email: address, browser }, next()))
    if (answer === null) refused++
    else
      for (let guess = 0; guess < 6; guess++)
        await attemptOrNull(() => signIn.signInWithCode(address, 'wrong', browser, next(), null))
  }
}

/** Requests an email unless one is outstanding; then opens the newest valid link. */
async function signInByEmail(
  { membership, emails, clock }: TestBench,
  browser: string,
  visitor: ClientInfo,
): Promise<SignInResult | null> {
  await attemptOrNull(() => membership.signIn.requestCode({ email: address, browser }, visitor))
  for (const { linkToken, at } of emails.toReversed()) {
    if (clock.at - at >= hourMs) return null
    if ((await membership.signIn.findEmailByMagicLink(linkToken)) === undefined) continue
    return membership.signIn.signInWithMagicLink(linkToken, null, visitor)
  }
  return null
}

function countMaxInAnHour(instants: readonly number[]): number {
  const sorted = instants.toSorted((a, b) => a - b)
  let most = 0
  let first = 0
  for (let last = 0; last < sorted.length; last++) {
    while ((sorted[last] ?? 0) - (sorted[first] ?? 0) >= hourMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
