/** The statements of the lists and sums of sales, as a database receives them. */
import type { CompiledQuery, KyselyPlugin, QueryCompiler, RootOperationNode } from 'kysely'
import { codeStates } from '../../../../src/domain/billing/sale-lists.ts'
import type { Database } from '../../../../src/store/database.ts'
import { createOrderRepository } from '../../../../src/store/repositories/billing/orders.ts'
import { createSaleListRepository } from '../../../../src/store/repositories/billing/sale-lists.ts'
import { createSubscriptionRepository } from '../../../../src/store/repositories/billing/subscriptions.ts'
import { createTurnHistoryStore } from '../../../../src/store/turn-history/turn-history-store.ts'
import { noon } from '../../../support/store/contract/store-contract.ts'

const dayMs = 86_400_000
const day = { from: noon - dayMs, to: noon + dayMs } as const

/** By what they are for. Each name has at least one. */
export async function recordSaleQueries(
  database: Database,
  compiler: QueryCompiler,
): Promise<Readonly<Record<string, readonly CompiledQuery[]>>> {
  const queries: CompiledQuery[] = []
  const recorder: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      queries.push(compiler.compileQuery(node as RootOperationNode, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const recorded = { ...database, read: database.read.withPlugin(recorder) }
  const lists = createSaleListRepository(recorded)
  const orders = createOrderRepository(recorded)
  const history = createTurnHistoryStore(recorded)
  const page = { before: 'pack_none', limit: 51 }
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    sums: () => lists.readSums(day),
    packs: () => lists.listPacks(page),
    'ending packs': () => lists.listEndingPacks({ ...page, ...day }),
    ...Object.fromEntries(codeStates.map((state) => [`${state} codes`, () => lists.listCodes({ ...page, state, now: noon })])),
    'all codes': () => lists.listCodes({ ...page, now: noon }),
    subscriptions: () => lists.listSubscriptions({ ...page, terms: 'pro@1', isWaiting: true }),
    'numbers by terms': () => createSubscriptionRepository(recorded).listTerms(),
    'orders by state': () => orders.list({ ...page, states: ['refunding'] }),
    'orders paid on a day': () => orders.list({ ...page, paid: day }),
    'orders of a plan paid on a day': () => orders.list({ ...page, paid: day, plan: 'pro' }),
    'orders returned on a day': () => orders.list({ ...page, returned: day }),
    'sums of turns': () => history.readMoney({ ...day, by: ['day'] }),
    'the oldest hold': () => history.findOldestHold(),
  }
  const all: Record<string, readonly CompiledQuery[]> = {}
  for (const [name, read] of Object.entries(reads)) {
    queries.length = 0
    await read()
    if (queries.length === 0) throw new Error(`${name} sent no statement`)
    all[name] = [...queries]
  }
  return all
}
