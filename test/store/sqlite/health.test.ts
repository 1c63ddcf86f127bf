/** Files that are not what was opened, and pages that cannot be read: noticed, said, and nothing sold meanwhile. */
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { Health } from '../../../src/store/sqlite/health.ts'
import type { SqliteStore } from '../../../src/store/sqlite/open.ts'
import { nothingElse, restoreFile } from '../../../src/store/sqlite/restore.ts'
import { accountId, addAccount, balanceOf, endOf, holdOf, noon, orderOf } from '../contract.ts'
import { folderOf, openAt, raw } from './support.ts'

/** What the store says of itself, one after the other; `next` resolves with the first that has not been taken. */
class Troubles {
  readonly #said: (string | null)[] = []
  #wake: () => void = () => undefined

  readonly hear = (trouble: string | null): void => {
    this.#said.push(trouble)
    this.#wake()
  }

  async next(): Promise<string | null> {
    for (;;) {
      const said = this.#said.shift()
      if (said !== undefined) return said
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

async function opened(t: Test): Promise<{ folder: string; file: string; store: SqliteStore; troubles: Troubles }> {
  const folder = join(folderOf(t), 'data')
  const file = join(folder, 'store.db')
  const troubles = new Troubles()
  const store = await openAt(t, file, { onTrouble: troubles.hear })
  await addAccount(store)
  return { folder, file, store, troubles }
}

async function sellsNothing(t: Test, store: SqliteStore, trouble: RegExp): Promise<void> {
  await t.rejects(store.ledger.reserve(orderOf()), { code: 'internal_error', details: { cause: { message: trouble } } })
  t.match(store.ledger.vitals(), { trouble })
}

t.test('a folder that is moved away stops the selling, and one that is moved back lets it go on', async (t) => {
  const { folder, file, store, troubles } = await opened(t)
  const running = await holdOf(store)
  renameSync(folder, `${folder}-2`)
  t.equal(await troubles.next(), `${file} is gone: it was moved or deleted under the running service`)
  await sellsNothing(t, store, /is gone/)
  t.match(await store.ledger.settle(endOf(running.id, 30)), { done: true }, 'what runs is ended')
  renameSync(`${folder}-2`, folder)
  t.equal(await troubles.next(), null)
  t.equal((await store.ledger.reserve(orderOf())).kind, 'held')
})

t.test('a log that is deleted is noticed, and what stood in it alone is in the database after the stop', async (t) => {
  const { file, store, troubles } = await opened(t)
  await store.ledger.settle(endOf((await holdOf(store)).id, 30))
  rmSync(`${file}-wal`)
  t.match(await troubles.next(), /store\.db-wal is gone/)
  await sellsNothing(t, store, /store\.db-wal is gone/)
  await store.close()
  t.same((await balanceOf(await openAt(t, file))).used, [30, 30, 30])
})

t.test(
  'a database that is replaced is noticed; what the process knew is written down at the stop, and can be restored',
  async (t) => {
    const { folder, file, store, troubles } = await opened(t)
    await store.ledger.settle(endOf((await holdOf(store)).id, 30))
    rmSync(folder, { recursive: true })
    mkdirSync(folder)
    writeFileSync(file, 'another')
    t.match(await troubles.next(), /store\.db is not the file that was opened/)
    await sellsNothing(t, store, /is not the file that was opened/)
    await store.close()
    const rescued = `${file}.rescued-1`
    t.match(await troubles.next(), `written to ${rescued}`)
    t.equal(statSync(rescued).mode & 0o777, 0o600)
    restoreFile(rescued, file, noon, nothingElse)
    t.same((await balanceOf(await openAt(t, file))).used, [30, 30, 30])
  },
)

/** The last page of the table is overwritten with zeros. */
function spoil(file: string, table: string): void {
  const { page, size } = raw(file, (db) => ({
    page: db.prepare<[string], { page: number }>('select max(pageno) as page from dbstat where name = ?').get(table)?.page ?? 0,
    size: Number(db.pragma('page_size', { simple: true })),
  }))
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(size), 0, size, (page - 1) * size)
  closeSync(descriptor)
}

t.test('a damaged page stops the selling for everybody, whoever met it, until a check of the file finds none', async (t) => {
  const folder = folderOf(t)
  for (const [table, meet] of [
    ['written_purse', async (store: SqliteStore) => void (await store.ledger.reserve(orderOf({ account: accountId(2) })))],
    ['account', async (store: SqliteStore) => void (await store.accounts.find(accountId(2)))],
    ['entry', async (store: SqliteStore) => void (await store.ledger.verify())],
  ] as const) {
    const file = join(folder, `${table}.db`)
    const first = await openAt(t, file)
    for (const index of [1, 2]) {
      await addAccount(first, index)
      await first.ledger.settle(endOf((await holdOf(first, { account: accountId(index) })).id, 30))
    }
    await first.close()
    spoil(file, table)
    const troubles = new Troubles()
    const store = await openAt(t, file, { onTrouble: troubles.hear })
    await t.rejects(() => meet(store), table)
    t.match(await troubles.next(), /is damaged \(SQLITE_CORRUPT\): stop the service and restore a backup/)
    await sellsNothing(t, store, /is damaged/)
  }
})

t.test('a check that cannot be made is made later', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const troubles = new Troubles()
  const health = new Health(file, troubles.hear, 20)
  t.teardown(() => health.close())
  health.met({ code: 'SQLITE_CORRUPT' })
  t.match(await troubles.next(), /is damaged/)
  // Until here there is no file at all.
  await (await openAt(t, file)).close()
  t.equal(await troubles.next(), null)
})
