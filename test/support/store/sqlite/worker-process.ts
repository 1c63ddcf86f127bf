/** Another process on the same database, for tests: `node worker-process.ts <task> <file>`. Prints each step on a line. */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { GatewayError } from '../../../../src/errors.ts'
import type { Migration } from '../../../../src/store/migrations/migration.ts'
import { migrations } from '../../../../src/store/migrations/migrations.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/open.ts'
import {
  toAccountId,
  createSettleOrder,
  createGrantOrder,
  reserveHold,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../contract/store-contract.ts'

const [what, file] = process.argv.slice(2)
if (what === undefined || file === undefined) throw new Error('say what to do on which file')

// Synchronous, so that the output is complete when the process is killed.
const say = (line: string): void => void writeSync(1, `${line}\n`)
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** Changes a table and never ends, to be killed. */
const endlessMigration: Migration = {
  name: '9999-next',
  async up(db) {
    await db.schema.alterTable('turn').addColumn('novelty', 'text').execute()
    say('migrating')
    await input.next()
  },
}

const store = await openSqliteStore({
  file,
  process: { id: `other-${process.pid}`, pid: process.pid },
  clock: { now: () => noon },
  ...(what === 'owe' || what === 'power' ? { role: 'server', busyTimeoutMs: 100 } : {}),
  // Small, so that checkpoints are frequent and the WAL restarts often.
  ...(what === 'power' ? { checkpointPages: 40 } : {}),
  ...(what === 'migrate' ? { role: 'server', migrations: [...migrations, endlessMigration] } : {}),
  onHealthChange: (trouble) => say(`trouble ${trouble ?? 'over'}`),
})
say('open')

if (what === 'race') {
  await input.next()
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => store.ledger.reserve(createReserveOrder({ amount: 50, minAmount: 50 }))),
  )
  say(`held ${answers.filter((answer) => answer.kind === 'held').length}`)
  await input.next()
} else if (what === 'hold') {
  const hold = await reserveHold(store, { amount: 70 })
  say(`hold ${hold.id}`)
  await input.next()
} else if (what === 'owe') {
  const [used, failed] = [await reserveHold(store), await reserveHold(store), await reserveHold(store)]
  say('held 3')
  await input.next()
  const settled = store.ledger.settle(createSettleOrder(used.id, 30)).then(() => say('settled'))
  const refunded = store.ledger.refund(createRefundOrder(failed.id)).then(() => say('refunded'))
  await Promise.all([settled, refunded, input.next()])
} else if (what === 'turns') {
  // 64 members at once, each repeatedly, until this process is killed.
  await Promise.all(Array.from({ length: 64 }, (_, index) => turns(index)))
} else if (what === 'power') {
  await Promise.all([...Array.from({ length: 12 }, (_, index) => turns(index, 24)), members(12)])
} else if (what !== 'open') {
  throw new Error(`what is "${what}"?`)
}

await store.close()
say('closed')
process.exit(0)

async function turns(index: number, rounds = Infinity): Promise<void> {
  const account = toAccountId((index % 8) + 1)
  for (let round = 0; round < rounds; round++) {
    const answer = await store.ledger
      .reserve(createReserveOrder({ account, amount: 40 + index, at: noon + round * 3_600_000, leaseUntil: noon + 1e12 }))
      .catch(refused)
    if (answer?.kind !== 'held') continue
    const { id } = answer.hold
    if ((index + round) % 5 === 0) {
      if ((await store.ledger.refund(createRefundOrder(id)).catch(refused)) !== undefined) say(`refunded ${id}`)
    } else {
      const credits = 20 + ((index * 7 + round) % 60)
      if ((await store.ledger.settle(createSettleOrder(id, credits)).catch(refused)) !== undefined)
        say(`settled ${id} ${credits}`)
    }
  }
}

/** Other durable writes: packs, single statements, transactions. */
async function members(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const [id, pack] = [`acc_new${round}`, `pack${round}`]
    const account = { id, email: `${id}@example.org`, plan: 'pro', passwordHash: null, emailVerified: true, at: noon }
    if ((await store.accounts.create(account).catch(refused)) !== undefined) say(`created ${id}`)
    if ((await store.ledger.grant(createGrantOrder(pack, 10)).catch(refused)) !== undefined) say(`granted ${pack}`)
    if ((await store.accounts.erase(id, noon).catch(refused)) === true) say(`forgotten ${id}`)
  }
}

/** When the disk fails, a refused caller continues with another operation a moment later. The errors must be retryable. */
async function refused(error: unknown): Promise<undefined> {
  if (what !== 'power') throw error
  if (!(error instanceof GatewayError)) say(`wrong ${String(error)}`)
  await new Promise((resolve) => setTimeout(resolve, 20))
}
