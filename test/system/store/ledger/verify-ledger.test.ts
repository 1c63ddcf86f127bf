/** Detects tampering with any column of the ledger. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { planFilePruning, verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import {
  toAccountId,
  addAccount,
  readBalance,
  createSettleOrder,
  createGrantOrder,
  reserveHold,
  noon,
  createRefundOrder,
  createReserveOrder,
} from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

const sealedBy = [
  'entry_no_update',
  'entry_no_delete',
  'turn_no_delete',
  'ledger_account_no_update',
  'ledger_account_no_delete',
] as const

/** A small closed history with every kind of row, and a way to open a copy of it that was tampered with. */
async function history(t: Test) {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store, 1)
  await addAccount(store, 2)
  await store.ledger.grant(createGrantOrder('pack', 50))
  await store.ledger.settle(createSettleOrder((await reserveHold(store, { amount: 1030 })).id, 1100))
  await store.ledger.refund(createRefundOrder((await reserveHold(store, { account: toAccountId(2) })).id))
  const tomorrow = noon + 86_400_000
  await store.ledger.settle(createSettleOrder((await reserveHold(store, { at: tomorrow, amount: 10 })).id, 5, tomorrow))
  await store.ledger.settle(
    createSettleOrder(
      (await reserveHold(store, { at: tomorrow, account: toAccountId(2), limits: { day: 900, week: 3000, month: 8000 } })).id,
      5,
    ),
  )
  await reserveHold(store, { at: tomorrow, account: toAccountId(2) })
  await store.ledger.expire(tomorrow + 3_600_000, tomorrow + 3_600_000)
  await reserveHold(store, { at: tomorrow, account: toAccountId(2) })
  const { pool, periods, limits } = createReserveOrder()
  const correction = { account: toAccountId(2), pool, at: noon, expiresAt: tomorrow, periods, limits, reason: 'a fault' }
  await store.ledger.adjust({ ...correction, id: 'adj_1', credits: -7 })
  await store.ledger.adjust({ ...correction, id: 'adj_2', credits: 9 })
  t.same((await store.ledger.verify()).mismatches, [], 'the ledger verifies before the tampering')
  withRawDatabase(file, (db) => db.pragma('wal_checkpoint(truncate)'))
  let copies = 0
  return {
    /** The result of verification after a change that bypassed all constraints. */
    tampered(change: string) {
      const copy = join(folder, `copy${copies++}.db`)
      copyFileSync(file, copy)
      withRawDatabase(copy, (db) => {
        db.pragma('ignore_check_constraints = on')
        db.pragma('foreign_keys = off')
        for (const trigger of sealedBy) db.exec(`drop trigger ${trigger}`)
        db.exec(change)
      })
      return verifyDatabaseFile(copy)
    },
    rows: (table: string): Record<string, unknown>[] =>
      withRawDatabase(file, (db) => db.prepare(`select * from ${table}`).all() as Record<string, unknown>[]),
    store,
    file,
  }
}

/** Another value of the same type, as SQL. */
function another(value: unknown): string {
  if (value === null) return '1'
  if (typeof value === 'number') return String(value + 1000)
  return Buffer.isBuffer(value) ? "x'00112233445566778899aabbccddeeff'" : `'${String(value)}x'`
}

t.test('the database refuses to change or delete entries and to delete turns', async (t) => {
  const { store } = await history(t)
  await t.rejects(store.db.write.updateTable('entry').set({ at: 0 }).execute(), { message: 'rows of entry are final' })
  await t.rejects(store.db.write.deleteFrom('entry').execute(), { message: 'rows of entry are final' })
  await t.rejects(store.db.write.deleteFrom('turn').where('state', '<>', 'held').execute(), { message: 'rows of turn are final' })
  await t.rejects(store.db.write.deleteFrom('turn').where('state', '=', 'held').execute(), { message: 'rows of turn are final' })
})

t.test('verification finds a change of any column of entries, ended turns and held turns', async (t) => {
  const { tampered, rows } = await history(t)
  // The lease columns, the link to the previous turn and how the turn went are not part of a bill.
  const notSealed = [
    'previous_turn',
    'owner_process',
    'lease_until',
    'disputed_input',
    'disputed_output',
    'first_token_ms',
    'attempts',
  ]
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
      if (tampered(`delete from ${table} ${where}`).ok) t.fail(`${table} ${String(row[key])} was deleted unnoticed`)
    }
  }
  t.ok(changes > 200, `${changes} changes`)
})

t.test('verification names a changed row once', async (t) => {
  const { tampered } = await history(t)
  const { mismatches } = tampered(`update turn set price_output = 1 where id = 1`)
  t.match(mismatches, [{ rule: 'a link never changes', account: toAccountId(1), detail: /^turn 1 / }])
  t.equal(mismatches.length, 1)
})

t.test('verification finds that all rows of an account are missing', async (t) => {
  const { tampered } = await history(t)
  for (const account of [toAccountId(1), toAccountId(2)]) {
    const all = ['turn', 'entry', 'balance', 'bucket', 'pack', 'checkpoint']
    const deletion = (tables: readonly string[]): string =>
      tables.map((table) => `delete from ${table} where account = '${account}'`).join(';')
    t.match(tampered(deletion(all)).mismatches, [{ rule: 'every balance is stored', account }], 'found in the registry')
    const without = tampered(
      `${deletion([...all, 'ledger_account', 'api_key', 'session'])}; delete from account where id = '${account}'`,
    )
    t.match(without.mismatches, [{ rule: 'no ledger account is missing' }], 'from every table')
  }
  t.notOk(tampered(`update ledger_account set account = 'acc_x' where number = 2`).ok)
  t.notOk(tampered('update ledger_account_head set number = number + 1').ok)
  t.notOk(tampered('delete from ledger_account_head').ok)
})

t.test('verification finds and names a change of any amount of any balance', async (t) => {
  const { tampered, rows } = await history(t)
  const figures = ['id', 'starts_at', 'ends_at', 'granted', 'reserved', 'settled', 'debt']
  for (const balance of rows('balance')) {
    for (const column of Object.keys(balance)) {
      // The other pool was never opened, and `last_turn` is not an amount.
      if (column === 'account' || column === 'last_turn' || column.startsWith('fast_') || column === 'hash') continue
      const { ok } = tampered(`update balance set ${column} = ${column} + 1 where account = '${String(balance['account'])}'`)
      if (ok) t.fail(`a changed ${column} of a balance was not found`)
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
  const found = tampered(`update balance set premium_day_settled = premium_day_settled + 7 where account = '${toAccountId(1)}'`)
  t.match(found.mismatches, [
    { rule: 'balances follow from the chain', account: toAccountId(1), detail: /has settled 12, by the chain 5/ },
  ])
  const other = tampered(`update balance set fast_day_id = 77`)
  t.notOk(other.ok, 'a bucket that no entry opened')
})

t.test('verification finds a turn log that contradicts its chain', async (t) => {
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
    'delete from balance',
    'delete from bucket',
    'delete from pack',
    'delete from entry',
  ]) {
    const { ok } = tampered(change)
    t.notOk(ok, change.slice(0, 60))
  }
})

t.test('a pruned ledger verifies from its checkpoint, and a changed checkpoint is found', async (t) => {
  const { store, file, tampered, rows } = await history(t)
  const later = noon + 100 * 86_400_000
  await store.ledger.refund(createRefundOrder((await reserveHold(store, { account: toAccountId(2), at: later })).id, later))
  const before = await readBalance(store, { at: later })
  const all = rows('turn').length
  t.equal(await store.ledger.pruneTurns(later, 1000), all - 2, 'all except the held one and the newest')
  t.equal(await store.ledger.pruneTurns(later, 1000), 0)
  t.same(await readBalance(store, { at: later }), before)
  t.match(await store.ledger.verify(), { ok: true, turns: 2, holdsOpen: 1 })
  t.equal(rows('checkpoint').length, 2)
  t.ok(
    rows('entry').every(({ at }) => Number(at) >= later),
    'old entries are pruned',
  )
  t.same(
    rows('bucket').filter(({ account }) => account === toAccountId(1)),
    [],
    'so are buckets of old periods',
  )
  t.same(rows('pack'), [], 'and packs')
  await store.ledger.settle(createSettleOrder((await reserveHold(store, { at: later })).id, 30, later))
  t.same((await store.ledger.verify()).mismatches, [], 'the chain continues')

  withRawDatabase(file, (db) => db.pragma('wal_checkpoint(truncate)'))
  for (const row of rows('checkpoint')) {
    const where = `where account = '${String(row['account'])}'`
    for (const column of Object.keys(row)) {
      const { ok } = tampered(`update checkpoint set ${column} = ${another(row[column])} ${where}`)
      if (ok) t.fail(`a checkpoint with another ${column} was not found`)
    }
    t.notOk(tampered(`delete from checkpoint ${where}`).ok)
  }
})

t.test('a chain with a mismatch is not pruned, so that the mismatch can be examined', async (t) => {
  const { store, file } = await history(t)
  withRawDatabase(file, (db) => db.exec('update turn set price_input = 1 where id = 1'))
  const later = noon + 100 * 86_400_000
  await store.ledger.refund(createRefundOrder((await reserveHold(store, { account: toAccountId(2), at: later })).id, later))
  t.ok((await store.ledger.pruneTurns(later, 1000)) > 0, 'the other account’s turns are pruned')
  t.match((await store.ledger.verify()).mismatches, [
    { rule: 'a link never changes', account: toAccountId(1), detail: /^turn 1 / },
  ])
  t.equal((await store.ledger.turns({ account: toAccountId(1), limit: 10 })).length, 2)
})

t.test('turns that ended in another order than they began are pruned together', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const holds = await Promise.all(Array.from({ length: 20 }, () => reserveHold(store, { amount: 10 })))
  for (const { id } of holds.toReversed()) await store.ledger.settle(createSettleOrder(id, 1))
  await reserveHold(store)
  t.equal(await store.ledger.pruneTurns(noon + 1, 10), 0, 'the first link is of the last turn')
  t.equal(await store.ledger.pruneTurns(noon + 1, 15), 0)
  t.equal(await store.ledger.pruneTurns(noon + 1, 100), 20)
  t.same((await store.ledger.verify()).mismatches, [])
})

t.test('verification runs beside turns and sees one snapshot', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const turns = async () => {
    for (let round = 0; round < 30; round++)
      await store.ledger.settle(createSettleOrder((await reserveHold(store, { amount: 2 })).id, 1))
  }
  const [verification] = await Promise.all([store.ledger.verify(), turns(), turns(), turns()])
  t.same(verification.mismatches, [])
  t.same((await readBalance(store)).used, [90, 90, 90])
})

t.test('verification and pruning check at every turn and account whether they were cancelled', async (t) => {
  const { file, rows } = await history(t)
  const [turns, accounts] = [rows('turn').length, rows('account').length]
  const asked = (look: (goOn: () => void) => unknown): number => {
    let times = 0
    look(() => (times += 1))
    return times
  }
  t.ok(asked((goOn) => verifyDatabaseFile(file, goOn)) >= turns + accounts)
  t.ok(asked((goOn) => planFilePruning(file, noon + 7 * 86_400_000, 1000, goOn)) >= turns - 1 + accounts)
  const givenUp = new Error('cancelled')
  t.throws(() => {
    verifyDatabaseFile(file, () => {
      throw givenUp
    })
  }, givenUp)
})
