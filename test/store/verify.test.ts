import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { verifyFile } from '../../src/store/sqlite/verify-file.ts'
import { accountId, addAccount, balanceOf, endOf, grantOf, holdOf, noon, refundOf } from './contract.ts'
import { folderOf, openAt, raw } from './sqlite/support.ts'

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
  await store.ledger.expire(tomorrow + 3_600_000)
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
        db.exec('drop trigger entry_no_update; drop trigger entry_no_delete')
        db.exec(change)
      })
      return verifyFile(copy)
    },
    rows: (table: string): Record<string, unknown>[] =>
      raw(file, (db) => db.prepare(`select * from ${table}`).all() as Record<string, unknown>[]),
    store,
  }
}

void t.test('entries cannot be changed or deleted, not even by hand', async (t) => {
  const { store } = await history(t)
  await t.rejects(store.db.write.updateTable('entry').set({ plan: 0 }).execute(), { message: 'rows of entry are final' })
  await t.rejects(store.db.write.deleteFrom('entry').execute(), { message: 'rows of entry are final' })
})

void t.test('any column of any entry that was changed is found', async (t) => {
  const { tampered, rows } = await history(t)
  for (const entry of rows('entry')) {
    for (const [column, value] of Object.entries(entry)) {
      if (column === 'id') continue
      const changed =
        value === null
          ? '1'
          : typeof value === 'number'
            ? String(value + 1)
            : Buffer.isBuffer(value)
              ? "x'00112233445566778899aabbccddeeff'"
              : "'x' || ''"
      const { ok } = tampered(`update entry set ${column} = ${changed} where id = ${String(entry['id'])}`)
      if (ok) t.fail(`entry ${String(entry['id'])} with another ${column} was not found`)
    }
    const { ok } = tampered(`delete from entry where id = ${String(entry['id'])}`)
    if (ok) t.fail(`entry ${String(entry['id'])} was deleted and nobody noticed`)
  }
  t.ok(rows('entry').length > 15)
})

void t.test('any figure of any balance that was changed is found, and named', async (t) => {
  const { tampered, rows } = await history(t)
  const figures = ['id', 'starts_at', 'ends_at', 'granted', 'reserved', 'settled', 'debt']
  for (const purse of rows('purse')) {
    for (const column of Object.keys(purse)) {
      // The other pool was never opened, and the way to the newest turn is no money.
      if (column === 'account' || column === 'last_turn' || column.startsWith('fast_') || column === 'hash') continue
      const { ok } = tampered(`update purse set ${column} = ${column} + 1 where account = '${String(purse['account'])}'`)
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
  const found = tampered(`update purse set premium_day_settled = premium_day_settled + 7 where account = '${accountId(1)}'`)
  t.match(found.mismatches, [
    { rule: 'balances follow from the entries', account: accountId(1), detail: /has settled 12, by the entries 5/ },
  ])
  const other = tampered(`update purse set fast_day_id = 77`)
  t.notOk(other.ok, 'a bucket that no entry opened')
})

void t.test('a turn that does not agree with its entries is found', async (t) => {
  const { tampered } = await history(t)
  for (const change of [
    "update turn set credits = credits + 1 where state = 'settled'",
    'update turn set reserved = reserved + 1',
    "update turn set state = 'held', ended_at = null where state = 'refunded'",
    "update turn set state = 'refunded' where state = 'expired'",
    "update turn set state = 'expired', ended_at = 1 where state = 'held'",
    "delete from turn where state = 'held'",
    "update turn set account = 'acc_x' where id = 1",
    `insert into turn select 99, ${'previous'}, request_id, account, model, pool, state, owner, until, started_at, ended_at, reserved, reserved_plan,
      reserved_packs, day_bucket, week_bucket, month_bucket, credits, debt, price_input, price_output, discount_percent, input_tokens,
      output_tokens, estimated, code, upstream_status, target, idempotency_key, body_hash from turn where id = 1`,
    'delete from purse',
    'delete from bucket',
    'delete from pack',
    'delete from entry',
  ]) {
    const { ok } = tampered(change)
    t.notOk(ok, change.slice(0, 60))
  }
  t.ok(tampered("delete from turn where state <> 'held'").ok, 'forgetting ended turns is allowed')
})

void t.test('verifying runs beside turns and sees one moment', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const turns = async () => {
    for (let round = 0; round < 30; round++) await store.ledger.settle(endOf((await holdOf(store, { want: 2 })).id, 1))
  }
  const [verification] = await Promise.all([store.ledger.verify(), turns(), turns(), turns()])
  t.same(verification.mismatches, [])
  t.same((await balanceOf(store)).used, [90, 90, 90])
})
