/** Several processes on one database, and the recovery when one of them dies. */
import { spawnSync } from 'node:child_process'
import { closeSync, copyFileSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  toAccountId,
  addAccount,
  readBalance,
  createSettleOrder,
  reserveHold,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, OtherProcess, withRawDatabase } from '../../../../support/store/sqlite/support.ts'

t.test('admits exactly 20 of 200 concurrent turns from two processes on quota for 20', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const others = [new OtherProcess(t, 'race', file), new OtherProcess(t, 'race', file)]
  await Promise.all(others.map((other) => other.waitForLine('open')))
  for (const other of others) other.send('go')
  const held = await Promise.all(others.map(async (other) => Number((await other.waitForLine('held')).split(' ')[1])))
  t.equal(
    held.reduce((sum, count) => sum + count, 0),
    20,
  )
  t.same((await readBalance(store)).remaining, [0, 2000, 7000])
  t.ok((await store.ledger.verify()).ok)
})

t.test('releases the holds of a dead process, and not those of a living one, however late it is', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const [dying, living] = [new OtherProcess(t, 'hold', file), new OtherProcess(t, 'hold', file)]
  await Promise.all([dying.waitForLine('hold'), living.waitForLine('hold')])
  const late = noon + 1e12
  t.equal(await store.ledger.expire(late, late), 0)
  t.equal(store.ledger.stats().holdsOpen, 2)
  await dying.kill()
  t.equal(await store.ledger.expire(noon, noon), 1)
  t.same((await readBalance(store)).reserved, [70, 70, 70])
  living.child.kill('SIGSTOP')
  t.equal(await store.ledger.expire(late, late), 0, 'a suspended process is not dead')
  await living.kill()
  await openStoreAt(t, file)
  t.same((await readBalance(store)).reserved, [70, 70, 70], 'a command ends no holds')
  const next = await openStoreAt(t, file, { role: 'server' })
  t.same((await readBalance(next)).reserved, [0, 0, 0], 'a server does at its start')
  t.equal((await next.ledger.verify()).holdsOpen, 0)
  t.same([store.ledger.stats().releasedHolds, next.ledger.stats().releasedHolds], [1, 1], 'each counts what it has released')
})

t.test('does not charge or refund a released hold', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const [settling, refunding] = [await reserveHold(store), await reserveHold(store)]
  const late = noon + 7 * 24 * 3_600_000
  t.equal(await store.ledger.expire(late, late), 2)
  t.match(await store.ledger.settle(createSettleOrder(settling.id, 30, late)), { applied: false, state: 'expired', credits: 0 })
  t.match(await store.ledger.refund(createRefundOrder(refunding.id, late)), { applied: false, state: 'expired' })
  t.same((await readBalance(store)).reserved, [0, 0, 0])
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('releases a hold whose process is unknown', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const hold = await reserveHold(store)
  await store.db.write.updateTable('turn').set({ owner_process: 4_711 }).where('id', '=', hold.id).execute()
  t.equal(await store.ledger.expire(noon, noon), 1)
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('chains turns of both pools of an account in one commit', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const pools = ['fast', 'premium', 'fast', 'premium', 'premium'] as const
  const holds = await Promise.all(pools.map((pool) => reserveHold(store, { pool })))
  await Promise.all(holds.map(({ id }, index) => store.ledger.settle(createSettleOrder(id, index + 1))))
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test(
  'keeps the ledger consistent and all acknowledged data when killed six times during the turns of 64 members',
  async (t) => {
    const file = join(createTemporaryFolder(t), 'store.db')
    const store = await openStoreAt(t, file)
    for (let index = 1; index <= 8; index++) await addAccount(store, index)
    for (let kill = 1; kill <= 6; kill++) {
      const other = new OtherProcess(t, 'turns', file)
      // A different moment each time: after this many acknowledged settlements, in the middle of the next commit.
      await other.waitForLineCount(10 + kill * 15)
      await other.kill()
      await store.ledger.expire(noon, noon)
      const verification = await store.ledger.verify()
      if (!verification.ok || verification.holdsOpen > 0) t.same(verification, {}, `in order after kill ${kill}`)
      const lost = withRawDatabase(file, (db) => {
        const turn = db.prepare<[number], { state: string; credits: number }>('select state, credits from turn where id = ?')
        return other.lines.filter((line) => {
          const [said, id, credits] = line.split(' ')
          if (said === 'open') return false
          const row = turn.get(Number(id))
          return row === undefined || row.state !== said || (said === 'settled' && row.credits !== Number(credits))
        })
      })
      t.same(lost, [], `nothing acknowledged is lost in kill ${kill}`)
    }
  },
)

t.test('keeps a settlement after a power loss', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const hold = await reserveHold(store)
  const before = store.ledger.stats().syncs
  await store.ledger.settle(createSettleOrder(hold.id, 30))
  t.equal(store.ledger.stats().syncs, before + 1, 'a settlement waits for the disk')
  const synced = statSync(`${file}-wal`).size
  for (let index = 0; index < 5; index++) await reserveHold(store)
  t.equal(store.ledger.stats().syncs, before + 1, 'holds alone do not')
  t.ok(statSync(`${file}-wal`).size > synced)

  // Power loss: only the synchronised part of the WAL is left.
  const cut = join(folder, 'cut')
  mkdirSync(cut)
  copyFileSync(file, join(cut, 'store.db'))
  copyFileSync(`${file}-wal`, join(cut, 'store.db-wal'))
  truncateSync(join(cut, 'store.db-wal'), synced)
  const after = await openStoreAt(t, join(cut, 'store.db'), { role: 'server' })
  t.match(await readBalance(after, { account: toAccountId(1) }), { used: [30, 30, 30], reserved: [0, 0, 0] })
  t.ok((await after.ledger.verify()).ok)
})

const isLinux = process.platform === 'linux' || 'open files are limited by prlimit'

t.test(
  'executes an operation that shares a commit with a sweep once, also when no file can be opened',
  { skip: isLinux !== true && isLinux },
  async (t) => {
    const file = join(createTemporaryFolder(t), 'store.db')
    const store = await openStoreAt(t, file, { role: 'server' })
    await addAccount(store)
    // An operator's command, which the sweep removes from the registry.
    await (await openStoreAt(t, file)).close()
    const { write, read } = store.db
    const limit = (files: string) => spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${files}`])
    const [, usual = ''] = /Max open files +(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    const opened: number[] = []
    t.equal(limit(`${readdirSync('/proc/self/fd').length + 20}:`).status, 0)
    try {
      for (;;) opened.push(openSync('/dev/null', 'r'))
    } catch (error) {
      t.match(error, { code: 'EMFILE' })
    }
    const [, reservation] = await Promise.all([
      store.ledger.expire(noon, 0),
      store.ledger.reserve(createReserveOrder({ amount: 100, maxConcurrentTurns: 2 })),
      write.insertInto('attempt').values({ subject: 'somebody', ends_at: noon }).execute(),
    ]).finally(() => {
      for (const descriptor of opened) closeSync(descriptor)
      limit(`${usual}:`)
    })
    t.match(reservation, { kind: 'held', hold: { id: 1 } })
    t.equal((await read.selectFrom('turn').select('id').execute()).length, 1)
    t.equal((await read.selectFrom('attempt').selectAll().execute()).length, 1)
  },
)
