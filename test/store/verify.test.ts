/** Books that somebody has tampered with, column by column. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { cutsInFile } from '../../src/store/sqlite/cut-file.ts'
import { verifyFile } from '../../src/store/sqlite/verify-file.ts'
import { accountId, addAccount, balanceOf, endOf, grantOf, holdOf, noon, refundOf } from './contract.ts'
import { folderOf, openAt, raw } from './sqlite/support.ts'

const sealedBy = ['entry_no_update', 'entry_no_delete', 'turn_no_delete', 'roster_no_update', 'roster_no_delete'] as const

/** A small history with everything in it, closed, and a way to open a copy that somebody has tampered with. */
async function history(t: Test) {
  const folder = folderOf(t)
  const file = join(folder, 'store.db')
  const store = await openAt(t, file)
  await addAccount(store, 1)
  await addAccount(store, 2)
  await store.ledger.grant(grantOf('pack', 50))
  await store.ledger.settle(endOf((await holdOf(store, { want: 1030 })).id, 1100))
  await store.ledger.refund(refundOf((await holdOf(store, { account: accountId(2) })).id))
  const tomorrow = noon + 86_400_000
  await store.ledger.settle(endOf((await holdOf(store, { at: tomorrow, want: 10 })).id, 5, tomorrow))
  await store.ledger.settle(
    endOf((await holdOf(store, { at: tomorrow, account: accountId(2), limits: { day: 900, week: 3000, month: 8000 } })).id, 5),
  )
  await holdOf(store, { at: tomorrow, account: accountId(2) })
  await store.ledger.expire(tomorrow + 3_600_000, tomorrow + 3_600_000)
  await holdOf(store, { at: tomorrow, account: accountId(2) })
  t.same((await store.ledger.verify()).mismatches, [], 'in order before anybody tampers')
  raw(file, (db) => db.pragma('wal_checkpoint(truncate)'))
  let copies = 0
  return {
    /** What verification says after a change past all constraints, made while no process is looking. */
    tampered(change: string) {
      const copy = join(folder, `copy${copies++}.db`)
      copyFileSync(file, copy)
      raw(copy, (db) => {
        db.pragma('ignore_check_constraints = on')
        db.pragma('foreign_keys = off')
        for (const trigger of sealedBy) db.exec(`drop trigger ${trigger}`)
        db.exec(change)
      })
      return verifyFile(copy)
    },
    rows: (table: string): Record<string, unknown>[] =>
      raw(file, (db) => db.prepare(`select * from ${table}`).all() as Record<string, unknown>[]),
    store,
    file,
  }
}

/** Another value of the same kind, as SQL. */
function another(value: unknown): string {
  if (value === null) return '1'
  if (typeof value === 'number') return String(value + 1000)
  return Buffer.isBuffer(value) ? "x'00112233445566778899aabbccddeeff'" : `'${String(value)}x'`
}

t.test('entries cannot be changed or deleted, and no turn deleted, not even by hand', async (t) => {
  const { store } = await history(t)
  await t.rejects(store.db.write.updateTable('entry').set({ at: 0 }).execute(), { message: 'rows of entry are final' })
  await t.rejects(store.db.write.deleteFrom('entry').execute(), { message: 'rows of entry are final' })
  await t.rejects(store.db.write.deleteFrom('turn').where('state', '<>', 'held').execute(), { message: 'rows of turn are final' })
  await t.rejects(store.db.write.deleteFrom('turn').where('state', '=', 'held').execute(), { message: 'rows of turn are final' })
})

t.test('any column of any link that was changed is found: entries, ended turns, held ones', async (t) => {
  const { tampered, rows } = await history(t)
  // Whose turn it is to end it, and the way to the turn before, are nothing a bill is made of.
  const notSealed = ['previous', 'owner', 'until', 'contradicted_input', 'contradicted_output']
  let changes = 0
  for (const [table, key] of [
    ['entry', 'seq'],
    ['turn', 'id'],
  ] as const) {
    for (const row of rows(table)) {
      const where = `where account = '${String(row['account'])}' and ${key} = ${String(row[key])}`
      const columns = Object.keys(row).filter(
        (column) => !notSealed.includes(column) && !(row['state'] === 'held' && column === 'id'),
      )
      for (const column of columns) {
        const { ok } = tampered(`update ${table} set ${column} = ${another(row[column])} ${where}`)
        if (ok) t.fail(`${table} ${String(row[key])} with another ${column} was not found`)
        changes += 1
      }
      if (tampered(`delete from ${table} ${where}`).ok) t.fail(`${table} ${String(row[key])} was deleted and nobody noticed`)
    }
  }
  t.ok(changes > 200, `${changes} changes`)
})

t.test('what was changed is named, once', async (t) => {
  const { tampered } = await history(t)
  const { mismatches } = tampered(`update turn set price_output = 1 where id = 1`)
  t.match(mismatches, [{ rule: 'a link never changes', account: accountId(1), detail: /^turn 1 / }])
  t.equal(mismatches.length, 1)
})

t.test('the books of one account that are gone altogether are missed, whoever’s they were', async (t) => {
  const { tampered } = await history(t)
  for (const account of [accountId(1), accountId(2)]) {
    const all = ['turn', 'entry', 'written_purse', 'bucket', 'pack', 'checkpoint']
    const deletion = (tables: readonly string[]): string =>
      tables.map((table) => `delete from ${table} where account = '${account}'`).join(';')
    t.match(tampered(deletion(all)).mismatches, [{ rule: 'every balance is stored', account }], 'named by the roster')
    const without = tampered(`${deletion([...all, 'roster', 'api_key', 'session'])}; delete from account where id = '${account}'`)
    t.match(without.mismatches, [{ rule: 'no account’s books go missing' }], 'from every table')
  }
  t.notOk(tampered(`update roster set account = 'acc_x' where number = 2`).ok)
  t.notOk(tampered('update roster_end set number = number + 1').ok)
  t.notOk(tampered('delete from roster_end').ok)
})

t.test('any figure of any balance that was changed is found, and named', async (t) => {
  const { tampered, rows } = await history(t)
  const figures = ['id', 'starts_at', 'ends_at', 'granted', 'reserved', 'settled', 'debt']
  for (const purse of rows('written_purse')) {
    for (const column of Object.keys(purse)) {
      // The other pool was never opened, and the way to the newest turn is no money.
      if (column === 'account' || column === 'last_turn' || column.startsWith('fast_') || column === 'hash') continue
      const { ok } = tampered(`update written_purse set ${column} = ${column} + 1 where account = '${String(purse['account'])}'`)
      if (ok) t.fail(`a purse with another ${column} was not found`)
    }
  }
  for (const bucket of rows('bucket')) {
    for (const column of figures) {
      const { ok } = tampered(
        `update bucket set ${column} = ${column} + 1 where account = '${String(bucket['account'])}' and id = ${String(bucket['id'])}`,
      )
      if (ok) t.fail(`a bucket with another ${column} was not found`)
    }
  }
  for (const column of ['granted', 'reserved', 'settled', 'expires_at']) {
    const { ok } = tampered(`update pack set ${column} = ${column} + 1`)
    if (ok) t.fail(`a pack with another ${column} was not found`)
  }
  const found = tampered(
    `update written_purse set premium_day_settled = premium_day_settled + 7 where account = '${accountId(1)}'`,
  )
  t.match(found.mismatches, [
    { rule: 'balances follow from the chain', account: accountId(1), detail: /has settled 12, by the chain 5/ },
  ])
  const other = tampered(`update written_purse set fast_day_id = 77`)
  t.notOk(other.ok, 'a bucket that no entry opened')
})

t.test('a log that does not agree with its chain is found', async (t) => {
  const { tampered, rows } = await history(t)
  const turnColumns = Object.keys(rows('turn')[0] ?? {})
    .slice(1)
    .join(', ')
  for (const change of [
    "update turn set credits = credits + 1 where state = 'settled'",
    'update turn set reserved = reserved + 1',
    "update turn set state = 'held', ended_at = null where state = 'refunded'",
    "update turn set state = 'refunded' where state = 'expired'",
    "update turn set state = 'expired', ended_at = 1 where state = 'held'",
    "delete from turn where state = 'held'",
    "update turn set account = 'acc_x' where id = 1",
    `insert into turn select 99, ${turnColumns} from turn where id = 1`,
    `insert into turn select 99, ${turnColumns.replace('account', "'acc_x'")} from turn where id = 1`,
    "delete from turn where state <> 'held'",
    'delete from written_purse',
    'delete from bucket',
    'delete from pack',
    'delete from entry',
  ]) {
    const { ok } = tampered(change)
    t.notOk(ok, change.slice(0, 60))
  }
})

t.test('after old turns were forgotten the books add up from the checkpoint, which no one changes unseen', async (t) => {
  const { store, file, tampered, rows } = await history(t)
  const later = noon + 100 * 86_400_000
  await store.ledger.refund(refundOf((await holdOf(store, { account: accountId(2), at: later })).id, later))
  const before = await balanceOf(store, { at: later })
  const all = rows('turn').length
  t.equal(await store.ledger.forgetTurns(later, 1000), all - 2, 'all but the one still held, and the newest')
  t.equal(await store.ledger.forgetTurns(later, 1000), 0)
  t.same(await balanceOf(store, { at: later }), before)
  t.match(await store.ledger.verify(), { ok: true, turns: 2, holdsOpen: 1 })
  t.equal(rows('checkpoint').length, 2)
  t.ok(
    rows('entry').every(({ at }) => Number(at) >= later),
    'old entries go too',
  )
  t.same(
    rows('bucket').filter(({ account }) => account === accountId(1)),
    [],
    'and periods long over',
  )
  t.same(rows('pack'), [], 'and packs')
  await store.ledger.settle(endOf((await holdOf(store, { at: later })).id, 30, later))
  t.same((await store.ledger.verify()).mismatches, [], 'the chain goes on')

  raw(file, (db) => db.pragma('wal_checkpoint(truncate)'))
  for (const row of rows('checkpoint')) {
    const where = `where account = '${String(row['account'])}'`
    for (const column of Object.keys(row)) {
      const { ok } = tampered(`update checkpoint set ${column} = ${another(row[column])} ${where}`)
      if (ok) t.fail(`a checkpoint with another ${column} was not found`)
    }
    t.notOk(tampered(`delete from checkpoint ${where}`).ok)
  }
})

t.test('a chain that does not add up is not cut, so that what is wrong with it stays to be seen', async (t) => {
  const { store, file } = await history(t)
  raw(file, (db) => db.exec('update turn set price_input = 1 where id = 1'))
  const later = noon + 100 * 86_400_000
  await store.ledger.refund(refundOf((await holdOf(store, { account: accountId(2), at: later })).id, later))
  t.ok((await store.ledger.forgetTurns(later, 1000)) > 0, 'the other account’s are forgotten')
  t.match((await store.ledger.verify()).mismatches, [{ rule: 'a link never changes', account: accountId(1), detail: /^turn 1 / }])
  t.equal((await store.ledger.turns({ account: accountId(1), limit: 10 })).length, 2)
})

t.test('turns that ended in another order than they began are forgotten together', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const holds = await Promise.all(Array.from({ length: 20 }, () => holdOf(store, { want: 10 })))
  for (const { id } of holds.toReversed()) await store.ledger.settle(endOf(id, 1))
  await holdOf(store)
  t.equal(await store.ledger.forgetTurns(noon + 1, 10), 0, 'what ended first began last')
  t.equal(await store.ledger.forgetTurns(noon + 1, 15), 0)
  t.equal(await store.ledger.forgetTurns(noon + 1, 100), 20)
  t.same((await store.ledger.verify()).mismatches, [])
})

t.test('verifying runs beside turns and sees one moment', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const turns = async () => {
    for (let round = 0; round < 30; round++) await store.ledger.settle(endOf((await holdOf(store, { want: 2 })).id, 1))
  }
  const [verification] = await Promise.all([store.ledger.verify(), turns(), turns(), turns()])
  t.same(verification.mismatches, [])
  t.same((await balanceOf(store)).used, [90, 90, 90])
})

t.test('proving, and reckoning what to forget, ask at every turn and account whether to go on', async (t) => {
  const { file, rows } = await history(t)
  const [turns, accounts] = [rows('turn').length, rows('account').length]
  const asked = (look: (goOn: () => void) => unknown): number => {
    let times = 0
    look(() => (times += 1))
    return times
  }
  t.ok(asked((goOn) => verifyFile(file, goOn)) >= turns + accounts)
  t.ok(asked((goOn) => cutsInFile(file, noon + 7 * 86_400_000, 1000, goOn)) >= turns - 1 + accounts)
  const givenUp = new Error('nobody waits')
  t.throws(() => {
    verifyFile(file, () => {
      throw givenUp
    })
  }, givenUp)
})
