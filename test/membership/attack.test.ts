/**
 * The bound on guessing and the promise that nobody is locked out, under eight hours' attack: by one client, by eleven, by a thousand. The clock
 * is the test's; the store is the real one. The attacker does all it can every 13 minutes, the owner comes every 65, right after.
 */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { createIds } from '../../src/system/ids.ts'
import { allowancesWith } from '../../src/membership/allowances.ts'
import { withAccount } from '../../src/membership/known-device.ts'
import { createMembership } from '../../src/membership/membership.ts'
import type { LetterSecrets } from '../../src/membership/letters.ts'
import { calendarOf } from '../../src/membership/period.ts'
import { Busy } from '../../src/membership/refusal.ts'
import type { TrySignIn } from '../../src/membership/sign-in-desk.ts'
import type { Visitor } from '../../src/membership/visitor.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Many times as long as any limit counts. */
const hours = 8
const secret = Buffer.alloc(32, 7)
const ids = createIds()
const address = 'owner@example.com'
const right = 'violet teapot orbit'

interface Letter extends LetterSecrets {
  readonly to: string
  readonly at: number
}

async function house(t: Test) {
  const clock = { at: Date.parse('2026-01-05T00:00:00Z'), now: () => clock.at }
  const store = await openSqliteStore({ file: ':memory:', process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(() => store.close())
  const letters: Letter[] = []
  const table = allowancesWith({})
  const membership = createMembership({
    hashesAtOnce: 2,
    store,
    mail: {
      async code(to, secrets) {
        if (to !== null) letters.push({ to, ...secrets, at: clock.at })
      },
      async proof() {},
      async deviceSignedIn() {},
      async passwordChanged() {},
    },
    calendar: calendarOf('UTC'),
    clock,
    ids,
    secret,
    sessionPrefix: 'svc_sess_',
    keys: { prefix: 'svc_live_', perAccount: 20 },
    rules: { mergeAliases: true, blockedDomains: [], isDisposable: () => false, signUp: 'open', allowedDomains: [] },
    allowances: table,
    boosts: {
      checkin: { pool: 'fast', credits: 1, days: 1 },
      invite: { pool: 'fast', credits: 1, days: 1, perMonth: 1 },
    },
    defaultPlan: 'free',
    forget: () => undefined,
  })
  // A guess is what was compared with the real thing. Hashing each password would only heat the machine.
  const guesses: number[] = []
  Object.assign(membership.passwords, {
    verify: async (password: string, phc: string | null) => {
      if (password !== right) guesses.push(clock.at)
      return { ok: password === right && phc !== null, rehash: false }
    },
  })
  const attempt = store.mailCodes.attempt.bind(store.mailCodes)
  Object.assign(store.mailCodes, {
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
  return { clock, letters, membership, guesses, account: id }
}

type House = Awaited<ReturnType<typeof house>>

function visitorFrom(network: string, device: string | null = null): Visitor {
  return { address: network, network, requestId: 'mbr_test', client: null, device }
}

/** `null` where it was refused without being looked at. */
async function tried<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Busy) return null
    throw error
  }
}

for (const clients of [1, 11, 1_000]) {
  t.test(`${hours} hours of ${clients} client${clients === 1 ? '' : 's'}`, async (t) => {
    const scene = await house(t)
    const { clock, membership, letters, guesses } = scene
    let turn = 0
    const next = (): Visitor => visitorFrom(`198.51.100.1 and ${turn++ % clients} on`)
    const device = withAccount(secret, null, scene.account, (size) => ids.bytes(size))
    const start = clock.at
    for (let step = 0; step * 13 < hours * 60; step++) {
      clock.at = start + step * 13 * minuteMs
      await attack(scene, next)
      if (step % 5 !== 0) continue
      clock.at += minuteMs
      t.equal(
        (await tried(() => membership.signIn.enterPassword(address, right, visitorFrom('203.0.113.1', device))))?.kind,
        'signed-in',
        `${step}: by password, in a browser that is known`,
      )
      t.equal((await byMail(scene, `owner ${step}`, visitorFrom('203.0.113.2')))?.kind, 'signed-in', `by mail, in any browser`)
      const sent = letters.length
      await membership.signIn.askForCode({ email: address, browser: `known ${step}` }, visitorFrom('203.0.113.1', device))
      t.ok(letters.length > sent && letters.at(-1)?.code !== null, 'a known device is written to, with a code')
    }
    t.ok(guesses.length > hours, `${guesses.length} guesses`)
    const most = mostInAnHour(guesses)
    t.ok(most <= 10, `at most ten an hour by strangers: ${most}`)
    t.ok(letters.length < hours * 20, `${letters.length} letters`)
  })
}

/** All that strangers can do at this moment. */
async function attack({ membership: { signIn } }: House, next: () => Visitor): Promise<void> {
  for (let refused = 0; refused < 3;) {
    const answer = await tried(() => signIn.enterPassword(address, 'wrong word', next()))
    if (answer === null) refused++
  }
  for (let refused = 0; refused < 3;) {
    const browser = `stranger ${randomUUID()}`
    const answer = await tried(() => signIn.askForCode({ email: address, browser }, next()))
    if (answer === null) refused++
    else for (let guess = 0; guess < 6; guess++) await tried(() => signIn.enterCode(address, 'wrong', browser, next(), null))
  }
}

/** Asks for a letter, or is told that there is one; then the newest that still opens. */
async function byMail({ membership, letters, clock }: House, browser: string, visitor: Visitor): Promise<TrySignIn | null> {
  await tried(() => membership.signIn.askForCode({ email: address, browser }, visitor))
  for (const { link, at } of letters.toReversed()) {
    if (clock.at - at >= hourMs) return null
    if ((await membership.signIn.lookAtLink(link)) === undefined) continue
    return membership.signIn.openLink(link, null, visitor)
  }
  return null
}

function mostInAnHour(instants: readonly number[]): number {
  const sorted = instants.toSorted((a, b) => a - b)
  let most = 0
  let first = 0
  for (let last = 0; last < sorted.length; last++) {
    while ((sorted[last] ?? 0) - (sorted[first] ?? 0) >= hourMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
