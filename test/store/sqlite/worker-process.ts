/** Another process on the same database, for tests: `node worker-process.ts <what> <file>`. Says what it did line by line. */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { GatewayError } from '../../../src/errors.ts'
import { openSqliteStore } from '../../../src/store/sqlite/open.ts'
import { accountId, endOf, grantOf, holdOf, noon, orderOf, refundOf } from '../contract.ts'

const [what, file] = process.argv.slice(2)
if (what === undefined || file === undefined) throw new Error('say what to do on which file')

// Synchronous, so that what was said is what had happened when the process is killed.
const say = (line: string): void => void writeSync(1, `${line}\n`)
const told = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const store = await openSqliteStore({
  file,
  process: { id: `other-${process.pid}`, pid: process.pid },
  clock: { now: () => noon },
  ...(what === 'owe' || what === 'power' ? { role: 'server', busyTimeoutMs: 100 } : {}),
  // So few that the log is taken into the database and begun anew again and again.
  ...(what === 'power' ? { checkpointPages: 40 } : {}),
  onTrouble: (trouble) => say(`trouble ${trouble ?? 'over'}`),
})
say('open')

if (what === 'race') {
  await told.next()
  const answers = await Promise.all(Array.from({ length: 100 }, () => store.ledger.reserve(orderOf({ want: 50, floor: 50 }))))
  say(`held ${answers.filter((answer) => answer.kind === 'held').length}`)
  await told.next()
} else if (what === 'hold') {
  const hold = await holdOf(store, { want: 70 })
  say(`hold ${hold.id}`)
  await told.next()
} else if (what === 'owe') {
  const [used, failed] = [await holdOf(store), await holdOf(store), await holdOf(store)]
  say('held 3')
  await told.next()
  const settled = store.ledger.settle(endOf(used.id, 30)).then(() => say('settled'))
  const refunded = store.ledger.refund(refundOf(failed.id)).then(() => say('refunded'))
  await Promise.all([settled, refunded, told.next()])
} else if (what === 'turns') {
  // 64 members at once, each over and over, until somebody kills us.
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
  const account = accountId((index % 8) + 1)
  for (let round = 0; round < rounds; round++) {
    const answer = await store.ledger
      .reserve(orderOf({ account, want: 40 + index, at: noon + round * 3_600_000, until: noon + 1e12 }))
      .catch(refused)
    if (answer?.kind !== 'held') continue
    const { id } = answer.hold
    if ((index + round) % 5 === 0) {
      if ((await store.ledger.refund(refundOf(id)).catch(refused)) !== undefined) say(`refunded ${id}`)
    } else {
      const credits = 20 + ((index * 7 + round) % 60)
      if ((await store.ledger.settle(endOf(id, credits)).catch(refused)) !== undefined) say(`settled ${id} ${credits}`)
    }
  }
}

/** What else is promised to last: packs, single statements, transactions. */
async function members(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const [id, pack] = [`acc_new${round}`, `pack${round}`]
    const account = { id, email: `${id}@example.org`, plan: 'pro', passwordHash: null, emailVerified: true, at: noon }
    if ((await store.accounts.create(account).catch(refused)) !== undefined) say(`created ${id}`)
    if ((await store.ledger.grant(grantOf(pack, 10)).catch(refused)) !== undefined) say(`granted ${pack}`)
    if ((await store.accounts.forget(id, noon).catch(refused)) === true) say(`forgotten ${id}`)
  }
}

/** Where the disk fails, whoever is refused tries something else a moment later. They may try again: nothing was wrong with what they asked. */
async function refused(error: unknown): Promise<undefined> {
  if (what !== 'power') throw error
  if (!(error instanceof GatewayError)) say(`wrong ${String(error)}`)
  await new Promise((resolve) => setTimeout(resolve, 20))
}
