/** Boosts under contention: within one process and between two on one database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Test } from 'tap'
import { createIds } from '../../src/system/ids.ts'
import type { Account } from '../../src/membership/account.ts'
import { BoostDesk, openRush } from '../../src/membership/boost-desk.ts'
import { personOf } from '../../src/membership/mail-address.ts'
import { calendarOf } from '../../src/membership/period.ts'
import type { SqliteStore } from '../../src/store/sqlite/open.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { bareProgram } from '../support/bare-program.ts'
import { emptyDatabase } from '../support/empty-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const secret = Buffer.alloc(32, 7)
const ids = createIds()
const dayMs = 86_400_000

interface Bench {
  readonly file: string
  readonly store: SqliteStore
  readonly clock: { at: number; now(): number }
  readonly desk: BoostDesk
  account(email: string): Promise<Account>
  /** A turn of this account, charged. */
  turn(account: Account): Promise<void>
  left(account: Account): Promise<number>
}

async function bench(t: Test): Promise<Bench> {
  const file = join(temporaryFolder(t), 'gateway.db')
  copyFileSync(await emptyDatabase(), file)
  const clock = { at: Date.now(), now: () => clock.at }
  const store = await openSqliteStore({ file, process: { id: randomUUID(), pid: process.pid }, clock })
  t.teardown(async () => {
    const { mismatches } = await store.ledger.verify()
    await store.close()
    if (mismatches.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(mismatches)}`)
  })
  const calendar = calendarOf('UTC')
  const limits = { day: 1_000_000, week: 1_000_000, month: 1_000_000 }
  const desk = new BoostDesk({
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
    mergeAliases: true,
  })
  return {
    file,
    store,
    clock,
    desk,
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
        periods: calendar.at(clock.at),
        limits,
        want: 10,
        floor: 1,
        price: { input: 140, output: 280, discountPercent: 70 },
        until: clock.at + 60_000,
        idempotency: null,
        concurrency: Infinity,
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
        periods: calendar.at(clock.at),
        limits: { fast: limits, premium: limits },
      })
      return packs.reduce((sum, pack) => sum + pack.granted - pack.reserved - pack.settled, 0)
    },
  }
}

const contender = fileURLToPath(new URL('../support/boost-contender.ts', import.meta.url))

/** Two processes on one database that begin together; how many each was granted. */
async function contend(
  t: Test,
  file: string,
  what: string,
  accounts: readonly (readonly Account[])[],
  times: number,
): Promise<number[]> {
  const children = accounts.map((some) => {
    const [program, words] = bareProgram(process.execPath, [
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
  const said = children.map((child) => {
    const lines = { text: '' }
    child.stdout.on('data', (piece: Buffer) => (lines.text += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (lines.text += piece.toString()))
    return lines
  })
  const ended = children.map(async (child, index) => {
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`a contender ended with ${code}: ${said[index]?.text}`)
  })
  await Promise.race([Promise.all(ended), Promise.all(children.map((child) => once(child.stdout, 'data')))])
  for (const child of children) child.stdin.write('go\n')
  await Promise.all(ended)
  return said.map(({ text }) => Number(/"granted":(\d+)/.exec(text)?.[1] ?? Number.NaN))
}

t.test('of a hundred check-ins at once one is granted, and the next only tomorrow', async (t) => {
  const { desk, clock, account, left } = await bench(t)
  clock.at = Date.UTC(2026, 4, 17, 23, 59, 59, 999)
  const member = await account('member@example.com')
  const packs = await Promise.all(Array.from({ length: 100 }, () => desk.checkIn(member)))
  t.equal(packs.filter((pack) => pack !== undefined).length, 1)
  t.equal(await left(member), 5_000)
  t.match((await desk.status(member)).checkin, { available: false, nextAt: Date.UTC(2026, 4, 18) })
  clock.at += 1
  t.match((await desk.status(member)).checkin, { available: true })
  t.ok(await desk.checkIn(member))
  t.equal(await left(member), 10_000)
  clock.at += 7 * dayMs
  t.equal(await left(member), 0, 'packs expire')
})

t.test('of a hundred check-ins from two processes one is granted', async (t) => {
  const { file, account, left, clock } = await bench(t)
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

t.test('of a thousand contenders in two processes fifty get a rush pack, each one', async (t) => {
  const { file, store, clock, account } = await bench(t)
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
  // Every account asks twice, and both processes know all of the middle ones.
  const granted = await contend(t, file, 'rush', [members.slice(0, 600), members.slice(400)], 2)
  t.equal(
    granted.reduce((sum, count) => sum + count, 0),
    50,
    granted.join(' + '),
  )
  const packs = await (
    await store.database()
  ).read
    .selectFrom('pack')
    .select(['account', 'granted'])
    .where('kind', '=', 'rush')
    .execute()
  t.equal(packs.length, 50)
  t.equal(new Set(packs.map((pack) => pack.account)).size, 50, 'nobody has two')
  clock.at = Date.now()
  t.match(await store.boosts.currentRushes(clock.at), [{ remaining: 0 }])
})

t.test('a rush gives nothing before it starts and after it ends', async (t) => {
  const { desk, store, clock, account, left } = await bench(t)
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
  t.match((await desk.status(member)).rush, { active: false, startsAt: starts })
  t.equal(await desk.grabRush(member), undefined, 'too early')
  clock.at = starts
  t.match((await desk.status(member)).rush, { active: true, remaining: 5, taken: false })
  t.ok(await desk.grabRush(member))
  t.equal(await desk.grabRush(member), undefined, 'one each')
  t.match((await desk.status(member)).rush, { remaining: 4, taken: true })
  clock.at = starts + 1_000
  t.equal(await desk.grabRush(await account('late@example.com')), undefined, 'too late')
  t.equal((await desk.status(member)).rush, null)
  t.equal(await left(member), 700)
  for (const bad of [{ packs: 0 }, { credits: 0 }, { endsAt: starts }, { packMs: 0 }, { packs: 1.5 }]) {
    await t.rejects(openRush(store.boosts, { ...rush, id: 'rush_2', startsAt: starts, endsAt: starts + 9_000, ...bad }, clock.at))
  }
})

t.test('a rush that is sold out does not hide one that is open beside it', async (t) => {
  const { desk, store, clock, account } = await bench(t)
  const open = { packs: 1, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt: clock.at + dayMs } as const
  await openRush(store.boosts, { ...open, id: 'rush_1' }, clock.at)
  await openRush(store.boosts, { ...open, id: 'rush_2' }, clock.at, { beside: true })
  const [ann, ben, cleo] = await Promise.all(['ann@example.com', 'ben@example.com', 'cleo@example.com'].map(account))
  t.ok(await desk.grabRush(ann as Account))
  t.ok(await desk.grabRush(ben as Account))
  t.equal(await desk.grabRush(cleo as Account), undefined)
  t.match((await desk.status(cleo as Account)).rush, { active: false, remaining: 0 })
})

t.test('who has a pack of one rush gets one of another that is open beside it', async (t) => {
  const { desk, store, clock, account } = await bench(t)
  const open = { packs: 5, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt: clock.at + dayMs } as const
  await openRush(store.boosts, { ...open, id: 'rush_1' }, clock.at)
  await openRush(store.boosts, { ...open, id: 'rush_2' }, clock.at, { beside: true })
  const ann = await account('ann@example.com')
  t.ok(await desk.grabRush(ann))
  t.match((await desk.status(ann)).rush, { id: 'rush_2', taken: false, remaining: 5 })
  t.ok(await desk.grabRush(ann))
  t.equal(await desk.grabRush(ann), undefined, 'one of each')
  t.match((await desk.status(ann)).rush, { taken: true })
})

t.test('a rush that is sold out does not hide the one that is to come', async (t) => {
  const { desk, store, clock, account } = await bench(t)
  const open = { packs: 1, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt: clock.at + dayMs } as const
  const startsAt = clock.at + 3_600_000
  await openRush(store.boosts, { ...open, id: 'rush_1' }, clock.at)
  await openRush(store.boosts, { ...open, id: 'rush_2', startsAt }, clock.at, { beside: true })
  const ann = await account('ann@example.com')
  t.match((await desk.status(ann)).rush, { id: 'rush_1', active: true })
  t.ok(await desk.grabRush(ann))
  t.match((await desk.status(ann)).rush, { id: 'rush_2', active: false, startsAt, taken: false })
})

t.test('aliases of one person check in once and take one rush pack', async (t) => {
  const { desk, store, clock, account } = await bench(t)
  const endsAt = clock.at + dayMs
  await openRush(
    store.boosts,
    { id: 'rush_1', packs: 9, pool: 'fast', credits: 7, packMs: dayMs, startsAt: clock.at, endsAt },
    clock.at,
  )
  const members = await Promise.all(['ann.b@gmail.com', 'annb+x@gmail.com', 'a.n.n.b@googlemail.com'].map(account))
  const checkins = await Promise.all(members.map((member) => desk.checkIn(member)))
  t.equal(checkins.filter((pack) => pack !== undefined).length, 1)
  const rushes = await Promise.all(members.map((member) => desk.grabRush(member)))
  t.equal(rushes.filter((pack) => pack !== undefined).length, 1)
})

/** What sign-up does with an invitation. */
function invite({ store, clock }: Bench, inviter: Account, invited: Account): Promise<boolean> {
  const person = (account: Account): Buffer => personOf(secret, account.email ?? account.id, true)
  return store.boosts.recordInvite({
    invited: invited.id,
    inviter: inviter.id,
    person: person(invited),
    inviterPerson: person(inviter),
    at: clock.at,
  })
}

t.test('an invitation is paid to both at the first charged turn, once, however many look', async (t) => {
  const room = await bench(t)
  const { file, desk, clock, account, turn, left } = room
  const ann = await account('ann@example.com')
  const ben = await account('ben@example.com')
  t.equal(await invite(room, ann, ben), true)
  t.equal(await desk.payInvites(), 0, 'signing up alone pays nothing')
  await Promise.all([turn(ben), turn(ben), turn(ben)])
  await Promise.all([contend(t, file, 'invites', [[ann], [ben]], 10), ...Array.from({ length: 10 }, () => desk.payInvites())])
  await turn(ben)
  await desk.payInvites()
  clock.at = Date.now()
  t.equal(await left(ann), 50_000)
  t.equal(await left(ben), 50_000)
  t.match((await desk.status(ann)).invite, { credited: 1, limit: 10, code: /^[a-z0-9]{10}$/ })
})

t.test('nobody is invited by themselves, by an alias, twice, or in a circle', async (t) => {
  const room = await bench(t)
  const { account, store } = room
  const ann = await account('ann@example.com')
  const ben = await account('ben@example.com')
  const cleo = await account('cleo@example.com')
  const dan = await account('dan@example.com')
  t.equal(await invite(room, ann, ann), false, 'oneself')
  t.equal(await invite(room, ann, await account('ann+2@example.com')), false, 'an alias of oneself')
  t.equal(await invite(room, ann, ben), true)
  t.equal(await invite(room, cleo, ben), false, 'twice')
  t.equal(await invite(room, cleo, await account('ben+again@example.com')), false, 'the same person under an alias')
  t.equal(await invite(room, ben, cleo), true)
  t.equal(await invite(room, cleo, dan), true)
  await store.accounts.forget(ann.id, room.clock.at)
  t.equal(await invite(room, dan, await account('ann@example.com')), false, 'a circle, by way of a deleted account')
  t.equal(await invite(room, dan, await account('eve@example.com')), true, 'a stranger is welcome')
})

t.test('an account is paid for ten invitations a month', async (t) => {
  const room = await bench(t)
  const { desk, clock, account, turn, left, store } = room
  clock.at = Date.UTC(2026, 0, 31, 12)
  const ann = await account('ann@example.com')
  const friends: Account[] = []
  for (let i = 0; i < 12; i++) {
    const friend = await account(`friend-${i}@example.com`)
    await invite(room, ann, friend)
    friends.push(friend)
  }
  await Promise.all(friends.slice(0, 11).map(turn))
  await Promise.all(Array.from({ length: 5 }, () => desk.payInvites()))
  await desk.payInvites()
  t.equal(await left(ann), 500_000)
  t.equal((await desk.status(ann)).invite.credited, 10)
  const capped = await (
    await store.database()
  ).read
    .selectFrom('invite')
    .select('invited')
    .where('state', '=', 'capped')
    .execute()
  t.equal(capped.length, 1)
  clock.at = Date.UTC(2026, 1, 1)
  await turn(friends[11] as Account)
  await desk.payInvites()
  t.equal(await left(ann), 550_000, 'a new month, a new ten')
})

t.test('a person is paid for ten invitations a month, whatever addresses they invite from', async (t) => {
  const room = await bench(t)
  const { desk, clock, account, turn, left } = room
  clock.at = Date.UTC(2026, 0, 10)
  const aliases = [await account('ann@example.com'), await account('ann+1@example.com'), await account('ann+2@example.com')]
  const other = await account('ben@example.com')
  for (const [index, inviter] of [...aliases, other].entries()) {
    for (let i = 0; i < 5; i++) {
      const friend = await account(`friend-${index}-${i}@example.com`)
      await invite(room, inviter, friend)
      await turn(friend)
    }
  }
  await desk.payInvites()
  const paid = await Promise.all(aliases.map(left))
  t.equal(
    paid.reduce((sum, credits) => sum + credits, 0),
    500_000,
  )
  for (const alias of aliases) t.equal((await desk.status(alias)).invite.credited, 10, 'told to each of them')
  t.equal(await left(other), 250_000, 'somebody else has a number of their own')
})

t.test('what was decided is delivered, though the process that decided died before it could', async (t) => {
  const { desk, store, clock, account, left } = await bench(t)
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
  t.equal(await store.boosts.award(lost), true)
  t.equal(await left(ann), 0)
  t.equal(await desk.deliverLost(), 0, 'it may still be under way')
  clock.at += 11_000
  t.equal(await desk.deliverLost(), 1)
  t.equal(await desk.deliverLost(), 0)
  t.equal(await left(ann), 5_000)
})

t.test('an award that cannot be delivered stands in nobody’s way', async (t) => {
  const { desk, store, clock, account, left } = await bench(t)
  const [other, member] = [await account('other@example.com'), await account('member@example.com')]
  const pack = await desk.checkIn(other)
  if (pack === undefined) throw new Error('it was refused')
  // Its pack belongs to somebody else already: no grant of it ever succeeds.
  await (await store.database()).write.updateTable('boost_claim').set({ granted: 0, account: member.id, at: 1 }).execute()
  const award = {
    account: member.id,
    kind: 'checkin',
    pool: 'fast',
    credits: 7,
    at: 2,
    expiresAt: clock.now() + 1_000_000,
  } as const
  await store.boosts.award({ id: 'pack_lost', ...award })
  await t.rejects(desk.deliverLost(), { message: /belongs to another account/ })
  t.equal(await left(member), 7)
})
