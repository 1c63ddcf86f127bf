/**
 * A separate process that opens a store beside others and claims boosts as fast as it can. Run as a program:
 *
 *     node test/support/processes/boost-contender.ts <database file> <checkin|rush|invites> <accounts, comma separated> <times each>
 *
 * Prints one JSON line with the number of granted boosts. It starts when a line arrives on its standard input, so that several start together.
 */
import { once } from 'node:events'
import { createIds } from '../../../src/system/ids.ts'
import { BoostService } from '../../../src/domain/services/boost-service.ts'
import { Mailboxes } from '../../../src/domain/services/mailboxes.ts'
import { createCalendar } from '../../../src/domain/billing/period.ts'
import { openSqliteStore } from '../../../src/store/sqlite/open.ts'
import { randomUUID } from 'node:crypto'

const [file = '', boostKind = '', names = '', times = '1'] = process.argv.slice(2)
const clock = { now: () => Date.now() }
const store = await openSqliteStore({ file, process: { id: randomUUID(), pid: process.pid }, clock })
const secret = Buffer.alloc(32, 7)
const boostService = new BoostService({
  boosts: store.boosts,
  ledger: store.ledger,
  calendar: createCalendar('UTC'),
  clock,
  ids: createIds(),
  secret,
  rules: {
    checkin: { pool: 'fast', credits: 5_000, days: 7 },
    invite: { pool: 'fast', credits: 50_000, days: 30, perMonth: 10 },
  },
  mailboxes: new Mailboxes({ store, secret, mergeAliases: true }),
})
const accounts = await Promise.all(
  names.split(',').map(async (id) => {
    const account = await store.accounts.find(id)
    if (account === undefined) throw new Error(`there is no account ${id}`)
    return account
  }),
)
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()
let granted = 0
const requests = accounts.flatMap((account) => Array.from({ length: Number(times) }, () => account))
await Promise.all(
  requests.map(async (account) => {
    if (boostKind === 'invites') return void (await boostService.payInvites())
    const pack = await (boostKind === 'checkin' ? boostService.checkIn(account) : boostService.grabRush(account))
    if (pack !== undefined) granted += 1
  }),
)
process.stdout.write(`${JSON.stringify({ granted })}\n`)
await store.close()
