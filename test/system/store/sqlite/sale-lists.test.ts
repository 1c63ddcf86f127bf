/** Lists and sums of sales: what they contain, page by page, and that each is read by an index. */
import { join } from 'node:path'
import { SqliteQueryCompiler } from 'kysely'
import t from 'tap'
import { createCodes } from '../../../../src/domain/services/redeem-code-service.ts'
import type { codeStates } from '../../../../src/domain/billing/sale-lists.ts'
import { addAccount, createGrantOrder, noon } from '../../../support/store/contract/store-contract.ts'
import { recordSaleQueries } from '../contract/sale-list-queries.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

const dayMs = 86_400_000

t.test('each list of sales is read by an index', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const { database } = await openStoreAt(t, file)
  const queries = await recordSaleQueries(database, new SqliteQueryCompiler())
  withRawDatabase(file, (db) => {
    for (const [name, statements] of Object.entries(queries))
      for (const { sql, parameters } of statements) {
        const plan = db.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`).all(...parameters)
        const details = plan.map(({ detail }) => detail).join(' · ')
        // An index that is read from its end is as long as the page, that of open holds as the turns that run, and terms are few.
        const others = details.replaceAll(/SCAN \w+ USING (?:COVERING )?INDEX \w+|SCAN plan_terms\b/g, '')
        t.notMatch(others, /SCAN/, `${name}: ${details}`)
      }
  })
})

t.test('packs are listed newest first, and those that end soon by their end', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store, 1)
  for (let index = 1; index <= 5; index += 1)
    await store.ledger.grant({
      ...createGrantOrder(`pack_${index}`, 100),
      at: noon + Math.floor(index / 2),
      expiresAt: noon + (6 - index) * dayMs,
    })
  const readAll = async (list: (before?: string) => Promise<readonly { readonly id: string }[]>): Promise<string> => {
    const found: string[] = []
    for (let page = await list(); page.length > 0; page = await list(found.at(-1))) found.push(...page.map(({ id }) => id))
    return found.join(' ')
  }
  const { saleLists } = store
  const toPage = (before?: string) => ({ limit: 2, ...(before === undefined ? {} : { before }) })
  t.equal(await readAll((before) => saleLists.listPacks(toPage(before))), 'pack_5 pack_4 pack_3 pack_2 pack_1')
  const span = { from: noon + dayMs, to: noon + 4 * dayMs }
  t.equal(await readAll((before) => saleLists.listEndingPacks({ ...toPage(before), ...span })), 'pack_4 pack_3 pack_2')
})

t.test('each code is in the list of one state', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  let ids = 0
  const testIds = {
    next: (prefix: string) => `${prefix}${String((ids += 1)).padStart(26, '0')}`,
    bytes: (size: number) => new Uint8Array(size).fill((ids += 7)),
  }
  const gift = { kind: 'credits', pool: 'fast', credits: 10, days: 1 } as const
  const create = async (expiresAt: number | null) =>
    (await createCodes(store, testIds, { gift, count: 1, maxUses: 1, expiresAt, batch: null }, noon))[0]?.id ?? ''
  const open = await create(noon + dayMs)
  const expired = await create(noon + 1)
  const revoked = await create(null)
  await store.redeemCodes.revoke({ id: revoked }, noon)
  const list = async (state: (typeof codeStates)[number]) =>
    (await store.saleLists.listCodes({ state, now: noon + 1, limit: 9 })).map(({ id }) => id)
  t.same(
    [await list('open'), await list('expired'), await list('revoked'), await list('used_up')],
    [[open], [expired], [revoked], []],
  )
})
