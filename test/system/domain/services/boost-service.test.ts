/** Boosts under contention: within one process and between two on one database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Test } from 'tap'
import { createIds } from '../../../../src/system/ids.ts'
import type { Account } from '../../../../src/domain/identity/account.ts'
import { BoostService, openRush } from '../../../../src/domain/services/boost-service.ts'
import { Mailboxes } from '../../../../src/domain/services/mailboxes.ts'
import { hashPerson } from '../../../../src/domain/identity/email/email-address.ts'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import type { SqliteStore } from '../../../../src/store/sqlite/open.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/open.ts'
import { toCleanCommand } from '../../../runner/clean-command.ts'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'

const secret = Buffer.alloc(32, 7)
const ids = createIds()
const dayMs = 86_400_000

interface TestBench {
  readonly file: string
  readonly store: SqliteStore
  readonly clock: { at: number; now(): number }
  readonly service: BoostService
  account(email: string): Promise<Account>
  /** Charges one turn of this account. */
  turn(account: Account): Promise<void>
  left(account: Account): Promise<number>
}

async function openBench(t: Test): Promise<TestBench> {
  const file = join(createTemporaryFolder(t), 'gateway.db')
  copyFileSync(await getTemplateDatabase(), file)
  const clock = { at: Date.now(), now: () => clock.at }
  const store = await openSqliteStore({ file, process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(async () => {
    const { mismatches } = await store.ledger.verify()
    await store.close()
    if (mismatches.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(mismatches)}`)
  })
  const calendar = createCalendar('UTC')
  const limits = { day: 1_000_000, week: 1_000_000, month: 1_000_000 }
  const service = new BoostService({
    boosts: store.boosts,
    ledger: store.ledger,
    calendar,
    clock,
    ids,
    secret,
    rules: {
      checkin: { pool: 'fast', credits: 5_000, days: 7 },
      invite: { pool: 'fast', credits: 50_000, days: 30, perMonth: 10 },
    },
    mailboxes: new Mailboxes({ store, secret, mergeAliases: true }),
  })
  return {
    file,
    store,
    clock,
    service,
    async account(email) {
      const id = ids.next('acc_', clock.at)
      const made = await store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified: true, at: clock.at })
      if (made === undefined) throw new Error(`${email} is taken`)
      return made
    },
    async turn({ id }) {
      const reservation = await store.ledger.reserve({
        account: id,
        requestId: 'mbr_test',
        model: 'auto',
        pool: 'fast',
        at: clock.at,
        periods: calendar.getPeriods(clock.at),
        limits,
        amount: 10,
        minAmount: 1,
        price: { input: 140, output: 280, discountPercent: 70 },
        leaseUntil: clock.at + 60_000,
        idempotency: null,
        maxConcurrentTurns: Infinity,
      })
      if (reservation.kind !== 'held') throw new Error(reservation.kind)
      await store.ledger.settle({
        hold: reservation.hold.id,
        at: clock.at,
        credits: 5,
        tokens: { input: 1, output: 1 },
        estimated: false,
        outcome: 'completed',
        target: null,
        upstreamStatus: 200,
      })
    },
    async left({ id }) {
      const { packs } = await store.ledger.balance({
        account: id,
        at: clock.at,
        periods: calendar.getPeriods(clock.at),
        limits: { fast: limits, premium: limits },
      })
      return packs.reduce((sum, pack) => sum + pack.granted - pack.reserved - pack.settled, 0)
    },
  }
}

const contender = fileURLToPath(new URL('../../../support/processes/boost-contender.ts', import.meta.url))

/** Starts two processes on one database at the same time; returns the grants of each. */
async function contend(
  t: Test,
  file: string,
  what: string,
  accounts: readonly (readonly Account[])[],
  times: number,
): Promise<number[]> {
  const children = accounts.map((some) => {
    const [program, words] = toCleanCommand(process.execPath, [
      contender,
      file,
      what,
      some.map(({ id }) => id).join(','),
      String(times),
    ])
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] })
    t.teardown(() => child.kill('SIGKILL'))
    return child
  })
  const outputs = children.map((child) => {
    const lines = { text: '' }
    child.stdout.on('data', (piece: Buffer) => (lines.text += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (lines.text += piece.toString()))
    return lines
  })
  const ended = children.map(async (child, index) => {
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`a contender ended with ${code}: ${outputs[index]?.text}`)
  })
  await Promise.race([Promise.all(ended), Promise.all(children.map((child) => once(child.stdout, 'data')))])
  for (const child of children) child.stdin.write('go\n')
  await Promise.all(ended)
  return outputs.map(({ text }) => Number(/"granted":(\d+)/.exec(text)?.[1] ?? Number.NaN))
}

t.test('grants one of a hundred concurrent check-ins, and the next one tomorrow', async (t) => {
  const { service, clock, account, left } = await openBench(t)
  clock.at = Date.UTC(2026, 4, 17, 23, 59, 59, 999)
  const member = await account('member@example.com')
  const packs = await Promise.all(Array.from({ length: 100 }, () => service.checkIn(member)))
  t.equal(packs.filter((pack) => pack !== undefined).length, 1)
  t.equal(await left(member), 5_000)
  t.match((await service.status(member)).checkin, { available: false, nextAt: Date.UTC(2026, 4, 18) })
  clock.at += 1
  t.match((await service.status(member)).checkin, { available: true })
  t.ok(await service.checkIn(member))
  t.equal(await left(member), 10_000)
  clock.at += 7 * dayMs
  t.equal(await left(member), 0, 'packs expire')
})

t.test('grants one of a hundred check-ins from two processes', async (t) => {
  const { file, account, left, clock } = await openBench(t)
  const member = await account('member@example.com')
  const granted = await contend(t, file, 'checkin', [[member], [member]], 50)
  t.equal(
    granted.reduce((sum, count) => sum + count, 0),
    1,
    granted.join(' + '),
  )
  clock.at = Date.now()
  t.equal(await left(member), 5_000)
})

t.test('gives fifty rush packs to a thousand contenders in two processes, one each', async (t) => {
  const { file, store, clock, account } = await openBench(t)
  const now = Date.now()
  const rush = {
    id: 'rush_1',
    packs: 50,
    pool: 'premium',
    credits: 700,
    packMs: dayMs,
    startsAt: now - 1,
    endsAt: now + dayMs,
  } as const
  await openRush(store.boosts, rush, now)
  const members = await Promise.all(Array.from({ length: 1000 }, (_, i) => account(`member-${i}@example.com`)))
  // Every account asks twice, and both processes have the middle accounts.
  const granted = await contend(t, file, 'rush', [members.slice(0, 600), members.slice(400)], 2)
  t.equal(
    granted.reduce((sum, count) => sum + count, 0),
    50,
    granted.join(' + '),
  )
  const packs = await store.database.read.selectFrom('pack').select(['account', 'granted']).where('kind', '=', 'rush').execute()
  t.equal(packs.length, 50)
  t.equal(new Set(packs.map((pack) => pack.account)).size, 50, 'no account has two packs')
  clock.at = Date.now()
  t.match(await store.boosts.listCurrentRushes(clock.at), [{ remaining: 0 }])
})

t.test('a rush gives no packs before its start and after its end', async (t) => {
  const { service, store, clock, account, left } = await openBench(t)
  const member = await account('member@example.com')
  const starts = clock.at + 1_000
  const rush = {
    id: 'rush_1',
    packs: 5,
    pool: 'fast',
    credits: 700,
    packMs: dayMs,
    startsAt: starts,
    endsAt: starts + 1_000,
  } as const
  await openRush(store.boosts, rush, clock.at)
  t.match((await service.status(member)).rush, { active: false, startsAt: starts })
  t.equal(await service.grabRush(member), undefined, 'too early')
  clock.at = starts
  t.match((await service.status(member)).rush, { active: true, remaining: 5, taken: false })
  t.ok(await service.grabRush(member))
  t.equal(await service.grabRush(member), undefined, 'one each')
  t.match((await service.status(member)).rush, { remaining: 4, taken: true })
  clock.at = starts + 1_000
  t.equal(await service.grabRush(await account('late@example.com')), undefined, 'too late')
  t.equal((await service.status(member)).rush, null)
  t.equal(await left(member), 700)
  for (const bad of [{ packs: 0 }, { credits: 0 }, { endsAt: starts }, { packMs: 0 }, { packs: 1.5 }]) {
    await t.rejects(openRush(store.boosts, { ...rush, id: 'rush_2', startsAt: starts, endsAt: starts + 9_000, ...bad }, clock.at))
  }
})

t.test('a sold-out rush does not hide an open one', async (t) => {
  const { service, store, clock, account } = await openBench(t)
  const open = { packs: 1, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt: clock.at + dayMs } as const
  await openRush(store.boosts, { ...open, id: 'rush_1' }, clock.at)
  await openRush(store.boosts, { ...open, id: 'rush_2' }, clock.at, { allowOverlap: true })
  const [ann, ben, cleo] = await Promise.all(['ann@example.com', 'ben@example.com', 'cleo@example.com'].map(account))
  t.ok(await service.grabRush(ann as Account))
  t.ok(await service.grabRush(ben as Account))
  t.equal(await service.grabRush(cleo as Account), undefined)
  t.match((await service.status(cleo as Account)).rush, { active: false, remaining: 0 })
})

t.test('a member with a pack of one rush gets one of another open rush', async (t) => {
  const { service, store, clock, account } = await openBench(t)
  const open = { packs: 5, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt: clock.at + dayMs } as const
  await openRush(store.boosts, { ...open, id: 'rush_1' }, clock.at)
  await openRush(store.boosts, { ...open, id: 'rush_2' }, clock.at, { allowOverlap: true })
  const ann = await account('ann@example.com')
  t.ok(await service.grabRush(ann))
  t.match((await service.status(ann)).rush, { id: 'rush_2', taken: false, remaining: 5 })
  t.ok(await service.grabRush(ann))
  t.equal(await service.grabRush(ann), undefined, 'one pack of each rush')
  t.match((await service.status(ann)).rush, { taken: true })
})

t.test('a sold-out rush does not hide an upcoming one', async (t) => {
  const { service, store, clock, account } = await openBench(t)
  const open = { packs: 1, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt: clock.at + dayMs } as const
  const startsAt = clock.at + 3_600_000
  await openRush(store.boosts, { ...open, id: 'rush_1' }, clock.at)
  await openRush(store.boosts, { ...open, id: 'rush_2', startsAt }, clock.at, { allowOverlap: true })
  const ann = await account('ann@example.com')
  t.match((await service.status(ann)).rush, { id: 'rush_1', active: true })
  t.ok(await service.grabRush(ann))
  t.match((await service.status(ann)).rush, { id: 'rush_2', active: false, startsAt, taken: false })
})

t.test('aliases of one person check in once and get one rush pack', async (t) => {
  const { service, store, clock, account } = await openBench(t)
  const endsAt = clock.at + dayMs
  await openRush(
    store.boosts,
    { id: 'rush_1', packs: 9, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt },
    clock.at,
  )
  const members = await Promise.all(['ann.b@gmail.com', 'annb+x@gmail.com', 'a.n.n.b@googlemail.com'].map(account))
  const checkins = await Promise.all(members.map((member) => service.checkIn(member)))
  t.equal(checkins.filter((pack) => pack !== undefined).length, 1)
  const rushes = await Promise.all(members.map((member) => service.grabRush(member)))
  t.equal(rushes.filter((pack) => pack !== undefined).length, 1)
})

/** Records an invitation as sign-up does. */
function invite({ store, clock }: TestBench, inviter: Account, invited: Account): Promise<boolean> {
  const person = (account: Account): Buffer => hashPerson(secret, account.email ?? account.id, true)
  return store.boosts.recordInvite({
    invited: invited.id,
    inviter: inviter.id,
    person: person(invited),
    inviterPerson: person(inviter),
    at: clock.at,
  })
}

t.test('pays both sides of an invitation at the first charged turn, once, under concurrent sweeps', async (t) => {
  const bench = await openBench(t)
  const { file, service, clock, account, turn, left } = bench
  const ann = await account('ann@example.com')
  const ben = await account('ben@example.com')
  t.equal(await invite(bench, ann, ben), true)
  t.equal(await service.payInvites(), 0, 'sign-up alone pays nothing')
  await Promise.all([turn(ben), turn(ben), turn(ben)])
  await Promise.all([contend(t, file, 'invites', [[ann], [ben]], 10), ...Array.from({ length: 10 }, () => service.payInvites())])
  await turn(ben)
  await service.payInvites()
  clock.at = Date.now()
  t.equal(await left(ann), 50_000)
  t.equal(await left(ben), 50_000)
  t.match((await service.status(ann)).invite, { credited: 1, limit: 10, code: /^[a-z0-9]{10}$/ })
})

t.test('refuses invitations of oneself, of an alias, twice, or in a circle', async (t) => {
  const bench = await openBench(t)
  const { account, store } = bench
  const ann = await account('ann@example.com')
  const ben = await account('ben@example.com')
  const cleo = await account('cleo@example.com')
  const dan = await account('dan@example.com')
  t.equal(await invite(bench, ann, ann), false, 'oneself')
  t.equal(await invite(bench, ann, await account('ann+2@example.com')), false, "the inviter's own alias")
  t.equal(await invite(bench, ann, ben), true)
  t.equal(await invite(bench, cleo, ben), false, 'twice')
  t.equal(await invite(bench, cleo, await account('ben+again@example.com')), false, 'an alias of an invited person')
  t.equal(await invite(bench, ben, cleo), true)
  t.equal(await invite(bench, cleo, dan), true)
  await store.accounts.erase(ann.id, bench.clock.at)
  t.equal(await invite(bench, dan, await account('ann@example.com')), false, 'a circle through a deleted account')
  t.equal(await invite(bench, dan, await account('eve@example.com')), true, 'a new person counts')
})

t.test('pays an account for ten invitations a month', async (t) => {
  const bench = await openBench(t)
  const { service, clock, account, turn, left, store } = bench
  clock.at = Date.UTC(2026, 0, 31, 12)
  const ann = await account('ann@example.com')
  const friends: Account[] = []
  for (let i = 0; i < 12; i++) {
    const friend = await account(`friend-${i}@example.com`)
    await invite(bench, ann, friend)
    friends.push(friend)
  }
  await Promise.all(friends.slice(0, 11).map(turn))
  await Promise.all(Array.from({ length: 5 }, () => service.payInvites()))
  await service.payInvites()
  t.equal(await left(ann), 500_000)
  t.equal((await service.status(ann)).invite.credited, 10)
  const capped = await store.database.read.selectFrom('invite').select('invited').where('state', '=', 'capped').execute()
  t.equal(capped.length, 1)
  clock.at = Date.UTC(2026, 1, 1)
  await turn(friends[11] as Account)
  await service.payInvites()
  t.equal(await left(ann), 550_000, 'the next month pays ten more')
})

t.test('pays a person for ten invitations a month over all aliases', async (t) => {
  const bench = await openBench(t)
  const { service, clock, account, turn, left } = bench
  clock.at = Date.UTC(2026, 0, 10)
  const aliases = [await account('ann@example.com'), await account('ann+1@example.com'), await account('ann+2@example.com')]
  const other = await account('ben@example.com')
  for (const [index, inviter] of [...aliases, other].entries()) {
    for (let i = 0; i < 5; i++) {
      const friend = await account(`friend-${index}-${i}@example.com`)
      await invite(bench, inviter, friend)
      await turn(friend)
    }
  }
  await service.payInvites()
  const paid = await Promise.all(aliases.map(left))
  t.equal(
    paid.reduce((sum, credits) => sum + credits, 0),
    500_000,
  )
  for (const alias of aliases) t.equal((await service.status(alias)).invite.credited, 10, 'each alias sees the same number')
  t.equal(await left(other), 250_000, 'another person has a separate limit')
})

t.test('pays a person for ten invitations a month across deletion and a new sign-up', async (t) => {
  const bench = await openBench(t)
  const { service, store, clock, account, turn, left } = bench
  clock.at = Date.UTC(2026, 0, 10)
  let friends = 0
  const inviteFriends = async (inviter: Account, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const friend = await account(`friend-${friends++}@example.com`)
      await invite(bench, inviter, friend)
      await turn(friend)
    }
    await service.payInvites()
  }
  let paid = 0
  for (const [round, address] of ['ann@example.com', 'ann+again@example.com', 'Ann@example.com'].entries()) {
    const ann = await account(address)
    t.equal((await service.status(ann)).invite.credited, Math.min(10, round * 6), `round ${round}`)
    await inviteFriends(ann, 6)
    paid += await left(ann)
    await store.accounts.erase(ann.id, clock.at)
  }
  t.equal(paid, 500_000)
  clock.at = Date.UTC(2026, 1, 1)
  const ann = await account('ann@example.com')
  await inviteFriends(ann, 1)
  t.equal(await left(ann), 50_000, 'the next month pays again')
})

t.test('delivers a claim whose process died before the grant', async (t) => {
  const { service, store, clock, account, left } = await openBench(t)
  const ann = await account('ann@example.com')
  const lost = {
    id: 'pack_lost',
    account: ann.id,
    kind: 'checkin',
    pool: 'fast',
    credits: 5_000,
    at: clock.at,
    expiresAt: clock.at + dayMs,
  } as const
  t.equal(await store.boosts.recordClaim(lost), true)
  t.equal(await left(ann), 0)
  t.equal(await service.deliverOverdue(), 0, 'the claim may still be in progress')
  clock.at += 11_000
  t.equal(await service.deliverOverdue(), 1)
  t.equal(await service.deliverOverdue(), 0)
  t.equal(await left(ann), 5_000)
})

t.test('a claim that cannot be delivered does not block the others', async (t) => {
  const { service, store, clock, account, left } = await openBench(t)
  const [other, member] = [await account('other@example.com'), await account('member@example.com')]
  const pack = await service.checkIn(other)
  if (pack === undefined) throw new Error('it was refused')
  // The pack's id belongs to another account already: no grant of it can succeed.
  await store.database.write.updateTable('boost_claim').set({ granted: 0, account: member.id, at: 1 }).execute()
  const award = {
    account: member.id,
    kind: 'checkin',
    pool: 'fast',
    credits: 7,
    at: 2,
    expiresAt: clock.now() + 1_000_000,
  } as const
  await store.boosts.recordClaim({ id: 'pack_lost', ...award })
  await t.rejects(service.deliverOverdue(), { message: /belongs to another account/ })
  t.equal(await left(member), 7)
})
