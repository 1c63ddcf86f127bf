/** Several processes on one database, and what the others do when one of them dies. */
import { spawnSync } from 'node:child_process'
import { closeSync, copyFileSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { accountId, addAccount, balanceOf, endOf, holdOf, noon, orderOf, refundOf } from '../contract.ts'
import { folderOf, openAt, Other, raw } from './support.ts'

t.test('200 turns at once from two processes on quota for 20 admit exactly 20', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const others = [new Other(t, 'race', file), new Other(t, 'race', file)]
  await Promise.all(others.map((other) => other.line('open')))
  for (const other of others) other.tell('go')
  const held = await Promise.all(others.map(async (other) => Number((await other.line('held')).split(' ')[1])))
  t.equal(
    held.reduce((sum, count) => sum + count, 0),
    20,
  )
  t.same((await balanceOf(store)).remaining, [0, 2000, 7000])
  t.ok((await store.ledger.verify()).ok)
})

t.test('holds of a process that died are given back, those of one that lives are not, however late it is', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const [dying, living] = [new Other(t, 'hold', file), new Other(t, 'hold', file)]
  await Promise.all([dying.line('hold'), living.line('hold')])
  const late = noon + 1e12
  t.equal(await store.ledger.expire(late, late), 0)
  t.equal(store.ledger.vitals().holdsOpen, 2)
  await dying.kill()
  t.equal(await store.ledger.expire(noon, noon), 1)
  t.same((await balanceOf(store)).reserved, [70, 70, 70])
  living.child.kill('SIGSTOP')
  t.equal(await store.ledger.expire(late, late), 0, 'one that sleeps is not dead')
  await living.kill()
  await openAt(t, file)
  t.same((await balanceOf(store)).reserved, [70, 70, 70], 'a guest ends nothing')
  const next = await openAt(t, file, { role: 'server' })
  t.same((await balanceOf(next)).reserved, [0, 0, 0], 'a server does, at its start')
  t.equal((await next.ledger.verify()).holdsOpen, 0)
})

t.test('a hold that was given back is not charged or given back again', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const [settling, refunding] = [await holdOf(store), await holdOf(store)]
  const late = noon + 7 * 24 * 3_600_000
  t.equal(await store.ledger.expire(late, late), 2)
  t.match(await store.ledger.settle(endOf(settling.id, 30, late)), { done: false, state: 'expired', credits: 0 })
  t.match(await store.ledger.refund(refundOf(refunding.id, late)), { done: false, state: 'expired' })
  t.same((await balanceOf(store)).reserved, [0, 0, 0])
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('a hold whose process nobody knows is given back', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const hold = await holdOf(store)
  await store.db.write.updateTable('turn').set({ owner: 4_711 }).where('id', '=', hold.id).execute()
  t.equal(await store.ledger.expire(noon, noon), 1)
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('both pools of an account in one commit share its chain', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const pools = ['fast', 'premium', 'fast', 'premium', 'premium'] as const
  const holds = await Promise.all(pools.map((pool) => holdOf(store, { pool })))
  await Promise.all(holds.map(({ id }, index) => store.ledger.settle(endOf(id, index + 1))))
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test(
  'killed six times in the midst of 64 members’ turns, the books are in order and nothing acknowledged is lost',
  async (t) => {
    const file = join(folderOf(t), 'store.db')
    const store = await openAt(t, file)
    for (let index = 1; index <= 8; index++) await addAccount(store, index)
    for (let kill = 1; kill <= 6; kill++) {
      const other = new Other(t, 'turns', file)
      // A different moment each time: after so many acknowledged endings, right in the middle of the next commit.
      await other.said(10 + kill * 15)
      await other.kill()
      await store.ledger.expire(noon, noon)
      const verification = await store.ledger.verify()
      if (!verification.ok || verification.holdsOpen > 0) t.same(verification, {}, `in order after kill ${kill}`)
      const lost = raw(file, (db) => {
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

t.test('a settlement survives the power: what a cut may lose comes after it', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const hold = await holdOf(store)
  const before = store.ledger.vitals().syncs
  await store.ledger.settle(endOf(hold.id, 30))
  t.equal(store.ledger.vitals().syncs, before + 1, 'a settlement waits for the disk')
  const synced = statSync(`${file}-wal`).size
  for (let index = 0; index < 5; index++) await holdOf(store)
  t.equal(store.ledger.vitals().syncs, before + 1, 'holds alone do not')
  t.ok(statSync(`${file}-wal`).size > synced)

  // The power goes: of the log, only what was synchronised is left.
  const cut = join(folder, 'cut')
  mkdirSync(cut)
  copyFileSync(file, join(cut, 'store.db'))
  copyFileSync(`${file}-wal`, join(cut, 'store.db-wal'))
  truncateSync(join(cut, 'store.db-wal'), synced)
  const after = await openAt(t, join(cut, 'store.db'), { role: 'server' })
  t.match(await balanceOf(after, { account: accountId(1) }), { used: [30, 30, 30], reserved: [0, 0, 0] })
  t.ok((await after.ledger.verify()).ok)
})

const isLinux = process.platform === 'linux' || 'open files are limited by prlimit'

t.test(
  'what shares a commit with a sweep is done once, also where no file can be opened just then',
  { skip: isLinux !== true && isLinux },
  async (t) => {
    const file = join(folderOf(t), 'store.db')
    const store = await openAt(t, file, { role: 'server' })
    await addAccount(store)
    // A command of the operator's, whom the sweep forgets.
    await (await openAt(t, file)).close()
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
      store.ledger.reserve(orderOf({ want: 100, concurrency: 2 })),
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
