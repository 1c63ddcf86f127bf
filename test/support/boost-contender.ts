/**
 * A process of its own that opens a store beside others and asks for boosts as fast as it can. Run as a program:
 *
 *     node test/support/boost-contender.ts <database file> <checkin|rush|invites> <accounts, comma separated> <times each>
 *
 * Prints one JSON line: how many were granted. It begins when a line arrives on its standard input, so that several begin together.
 */
import { once } from 'node:events'
import { createIds } from '../../src/system/ids.ts'
import { BoostDesk } from '../../src/membership/boost-desk.ts'
import { calendarOf } from '../../src/membership/period.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { randomUUID } from 'node:crypto'

const [file = '', what = '', names = '', times = '1'] = process.argv.slice(2)
const clock = { now: () => Date.now() }
const store = await openSqliteStore({ file, process: { id: randomUUID(), pid: process.pid }, clock })
const desk = new BoostDesk({
  boosts: store.boosts,
  ledger: store.ledger,
  calendar: calendarOf('UTC'),
  clock,
  ids: createIds(),
  secret: Buffer.alloc(32, 7),
  rules: {
    checkin: { pool: 'fast', credits: 5_000, days: 7 },
    invite: { pool: 'fast', credits: 50_000, days: 30, perMonth: 10 },
  },
  mergeAliases: true,
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
const asks = accounts.flatMap((account) => Array.from({ length: Number(times) }, () => account))
await Promise.all(
  asks.map(async (account) => {
    if (what === 'invites') return void (await desk.payInvites())
    const pack = await (what === 'checkin' ? desk.checkIn(account) : desk.grabRush(account))
    if (pack !== undefined) granted += 1
  }),
)
process.stdout.write(`${JSON.stringify({ granted })}\n`)
await store.close()
