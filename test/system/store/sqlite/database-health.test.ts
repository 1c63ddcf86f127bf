/** Replaced files and unreadable pages: detected and reported, and no turn is accepted meanwhile. */
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { DatabaseHealth } from '../../../../src/store/sqlite/database-health.ts'
import type { SqliteStore } from '../../../../src/store/sqlite/open.ts'
import { noCompanions, restoreFile } from '../../../../src/store/sqlite/maintenance/restore.ts'
import {
  toAccountId,
  addAccount,
  readBalance,
  createSettleOrder,
  reserveHold,
  noon,
  createReserveOrder,
} from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

/** The reported reasons in order; `next` resolves with the first that was not read yet. */
class ReportedReasons {
  readonly #said: (string | null)[] = []
  #wake: () => void = () => undefined

  readonly record = (reason: string | null): void => {
    this.#said.push(reason)
    this.#wake()
  }

  async next(): Promise<string | null> {
    for (;;) {
      const said = this.#said.shift()
      if (said !== undefined) return said
      // The timers of the health check do not keep the process running.
      const keepAlive = setInterval(() => undefined, 60_000)
      await new Promise<void>((resolve) => (this.#wake = resolve))
      clearInterval(keepAlive)
    }
  }
}

async function openReporting(t: Test): Promise<{ folder: string; file: string; store: SqliteStore; reasons: ReportedReasons }> {
  const folder = join(createTemporaryFolder(t), 'data')
  const file = join(folder, 'store.db')
  const reasons = new ReportedReasons()
  const store = await openStoreAt(t, file, { onHealthChange: reasons.record })
  await addAccount(store)
  return { folder, file, store, reasons }
}

async function assertRefusesTurns(t: Test, store: SqliteStore, reason: RegExp): Promise<void> {
  await t.rejects(store.ledger.reserve(createReserveOrder()), {
    code: 'internal_error',
    details: { cause: { message: reason } },
  })
  t.match(store.ledger.stats(), { unhealthyReason: reason })
}

t.test('stops accepting turns while the folder is moved away', async (t) => {
  const { folder, file, store, reasons } = await openReporting(t)
  const running = await reserveHold(store)
  renameSync(folder, `${folder}-2`)
  t.equal(await reasons.next(), `${file} is gone: it was moved or deleted under the running service`)
  await assertRefusesTurns(t, store, /is gone/)
  t.match(await store.ledger.settle(createSettleOrder(running.id, 30)), { applied: true }, 'a running turn is settled')
  renameSync(`${folder}-2`, folder)
  t.equal(await reasons.next(), null)
  t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'held')
})

t.test('detects a deleted WAL, and writes its content to the database at the stop', async (t) => {
  const { file, store, reasons } = await openReporting(t)
  await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 30))
  rmSync(`${file}-wal`)
  t.match(await reasons.next(), /store\.db-wal is gone/)
  await assertRefusesTurns(t, store, /store\.db-wal is gone/)
  await store.close()
  t.same((await readBalance(await openStoreAt(t, file))).used, [30, 30, 30])
})

t.test('detects a replaced database, and saves the process’s data to a file that can be restored', async (t) => {
  const { folder, file, store, reasons } = await openReporting(t)
  await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 30))
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
  writeFileSync(file, 'another')
  t.match(await reasons.next(), /store\.db is not the file that was opened/)
  await assertRefusesTurns(t, store, /is not the file that was opened/)
  await store.close()
  const rescued = `${file}.rescued-1`
  t.match(await reasons.next(), `written to ${rescued}`)
  t.equal(statSync(rescued).mode & 0o777, 0o600)
  await restoreFile({ from: rescued, to: file, at: noon, companions: noCompanions })
  t.same((await readBalance(await openStoreAt(t, file))).used, [30, 30, 30])
})

/** Overwrites the last page of the table with zeros. */
function spoil(file: string, table: string): void {
  const { page, size } = withRawDatabase(file, (db) => ({
    page: db.prepare<[string], { page: number }>('select max(pageno) as page from dbstat where name = ?').get(table)?.page ?? 0,
    size: Number(db.pragma('page_size', { simple: true })),
  }))
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(size), 0, size, (page - 1) * size)
  closeSync(descriptor)
}

t.test('stops accepting turns after a damaged page until a check of the file finds none', async (t) => {
  const folder = createTemporaryFolder(t)
  for (const [table, meet] of [
    ['balance', async (store: SqliteStore) => void (await store.ledger.reserve(createReserveOrder({ account: toAccountId(2) })))],
    ['account', async (store: SqliteStore) => void (await store.accounts.find(toAccountId(2)))],
    ['entry', async (store: SqliteStore) => void (await store.ledger.verify())],
  ] as const) {
    const file = join(folder, `${table}.db`)
    const first = await openStoreAt(t, file)
    for (const index of [1, 2]) {
      await addAccount(first, index)
      await first.ledger.settle(createSettleOrder((await reserveHold(first, { account: toAccountId(index) })).id, 30))
    }
    await first.close()
    spoil(file, table)
    const reasons = new ReportedReasons()
    const store = await openStoreAt(t, file, { onHealthChange: reasons.record })
    await t.rejects(() => meet(store), table)
    t.match(await reasons.next(), /is damaged \(SQLITE_CORRUPT\): stop the service and restore a backup/)
    await assertRefusesTurns(t, store, /is damaged/)
  }
})

t.test('repeats a check that could not run', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const reasons = new ReportedReasons()
  const health = new DatabaseHealth(file, reasons.record, 20)
  t.teardown(() => health.close())
  health.recordFault({ code: 'SQLITE_CORRUPT' })
  t.match(await reasons.next(), /is damaged/)
  // Until here there is no file.
  await (await openStoreAt(t, file)).close()
  t.equal(await reasons.next(), null)
})
