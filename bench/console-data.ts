/**
 * `node bench/console-data.ts [--turns 10000000] [--accounts 50000] [--store sqlite,postgres] [--repeats 40]`: makes a ledger of that many turns,
 * lets the collector fill lists and sums, and measures each list, search and chart of the operator API below HTTP. Prints a Markdown table;
 * exits with 1 where one takes longer than 300 ms (p95). 10 million turns need 20 GB in the temporary folder for each store. *CPU* is this
 * process's own, threads included; PostgreSQL's is not in it.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Sqlite from 'better-sqlite3'
import { Client } from 'pg'
import { createCalendar } from '../src/domain/billing/period.ts'
import type { Store } from '../src/domain/store.ts'
import { TurnHistoryService } from '../src/domain/services/operators/turn-history-service.ts'
import { openLedger } from '../src/store/postgres/open-ledger.ts'
import { openPostgresStore } from '../src/store/postgres/open.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { createClock } from '../src/system/clock.ts'
import { createRandom } from '../test/simulated/random.ts'
import { startPostgresServer } from '../test/support/servers/postgres.ts'
import { createTemporaryFolder } from '../test/support/temporary-folder.ts'
import { ProgramScope } from './cluster/program-scope.ts'

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000000' },
    accounts: { type: 'string', default: '50000' },
    store: { type: 'string', default: 'sqlite,postgres' },
    repeats: { type: 'string', default: '40' },
  },
})
const [turns, accounts, repeats] = [values.turns, values.accounts, values.repeats].map(Number) as [number, number, number]

const maxP95Ms = 300
const dayMs = 86_400_000
const end = Date.parse('2026-06-01T00:00:00Z')
const days = 60
const begin = end - days * dayMs
const clock = createClock({ now: () => end })
const hash = `x'00'`

/** Of a turn by its number: a thousandth are of one account, and codes from the frequent to the rare. */
const rows = (mod: (value: string, by: number) => string, mix: (salt: number) => string) => {
  const product = `'product-' || ${mod(mix(1), 4)}`
  const failed = `${mod(mix(2), 100)} < 3`
  return {
    request_id: `'mbr_' || i`,
    account: `case when ${mod(mix(3), 50)} = 0 then 'acc_heavy' else 'acc_' || ${mod(mix(4), accounts)} end`,
    model: product,
    api_format: `'chat_completions'`,
    credential: `'key_' || ${mod(mix(5), 2)}`,
    pool: `'fast'`,
    state: `case when ${failed} then 'refunded' else 'settled' end`,
    owner_process: '1',
    lease_until: '0',
    started_at: `${begin} + i * ${(end - begin) / turns}`,
    ended_at: `${begin} + i * ${(end - begin) / turns} + 200 + ${mod(mix(6), 9000)}`,
    reserved: '1000',
    reserved_plan: '1000',
    day_bucket: '1',
    week_bucket: '2',
    month_bucket: '3',
    credits: `case when ${failed} then 0 else ${mod(mix(7), 900)} end`,
    debt: '0',
    price_input: '1',
    price_output: '1',
    discount_percent: '0',
    input_tokens: mod(mix(8), 4000),
    cached_input_tokens: '0',
    output_tokens: mod(mix(9), 900),
    estimated: '0',
    code: `case when ${failed} then case when ${mod(mix(10), 1000)} = 0 then 'rare_code' else 'code_' || ${mod(mix(10), 5)} end when ${mod(mix(11), 50)} = 0 then 'aborted' end`,
    target: `'upstream-' || ${mod(mix(12), 3)} || '/model'`,
    first_token_ms: mod(mix(13), 3000),
    seq: 'i',
  }
}

const scope = new ProgramScope()
let isSlow = false
try {
  for (const kind of values.store.split(',')) await (kind === 'sqlite' ? measureSqlite() : measurePostgres())
} finally {
  await scope.close()
}
process.exitCode = isSlow ? 1 : 0

async function measureSqlite(): Promise<void> {
  const file = join(createTemporaryFolder(scope), 'store.db')
  const open = () => openSqliteStore({ file, process: { id: `bench-${Math.random()}`, pid: process.pid }, clock })
  await (await open()).close()
  const db = new Sqlite(file)
  db.pragma('synchronous = off')
  // A number that follows from the turn's in no visible order.
  const columns = rows(
    (value, by) => `(${value} % ${by})`,
    (salt) => `(((i * 2654435761 + ${salt * 40503}) >> 7) & 1073741823)`,
  )
  await logTime('made', async () => {
    db.exec(`insert into turn (id, previous_turn, hash, ${Object.keys(columns).join(', ')})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${turns})
      select i, 0, ${hash}, ${Object.values(columns)
        .map((value) => (value.includes(' * ') && value.startsWith(String(begin)) ? `cast(${value} as integer)` : value))
        .join(', ')} from n`)
    db.exec(`update balance_watermark set turn = ${turns}, newest_turn = ${turns}`)
  })
  db.close()
  const store = await open()
  scope.teardown(() => store.close())
  await measure('SQLite', store)
}

async function measurePostgres(): Promise<void> {
  const open = (url: string) =>
    openPostgresStore({ url, process: { id: `bench-${Math.random()}`, version: '1.0.0' }, clock, ledger: openLedger })
  const server = await startPostgresServer(scope, async (url) => (await open(url)).close())
  if (server === undefined) throw new Error('PostgreSQL is not installed')
  const url = await server.createDatabase(scope)
  const client = new Client({ connectionString: url })
  await client.connect()
  const columns = rows(
    (value, by) => `(${value} % ${by})`,
    (salt) => `(((i * 2654435761 + ${salt * 40503}) >> 7) & 1073741823)`,
  )
  await logTime('made', async () => {
    await client.query(`insert into turn (id, hash, ${Object.keys(columns).join(', ')})
      select i, '', ${Object.values(columns)
        .map((value) => (value.startsWith(String(begin)) ? `(${value})::bigint` : value))
        .join(', ')} from generate_series(1::bigint, ${turns}::bigint) as i`)
    await client.query(`select setval('turn_block', ${turns + 1}, false)`)
    await client.query('analyze turn')
  })
  await client.end()
  const store = await open(url)
  scope.teardown(() => store.close())
  await measure('PostgreSQL', store)
}

/** The job of the server rests between batches. */
const withoutRests = {
  clock: { monotonicMs: () => clock.monotonicMs(), wait: () => Promise.resolve() },
  signal: new AbortController().signal,
}

async function measure(name: string, store: Store): Promise<void> {
  const history = new TurnHistoryService({ store, clock, historyCalendar: createCalendar('UTC') })
  const cpuBefore = process.cpuUsage()
  await logTime(`${name} collected`, () => history.collect(days + 1, withoutRests))
  const { user, system } = process.cpuUsage(cpuBefore)
  console.error(`${name}: ${((user + system) / turns).toFixed(1)} µs of CPU a turn, all threads`)
  const random = createRandom(1)
  const account = (): string => `acc_${random.below(accounts)}`
  const at = (): number => begin + Math.floor(random.number() * (end - begin))
  const page = { limit: 50 }
  const last = (count: number) => ({ from: end - count * dayMs, to: end })
  const queries: Readonly<Record<string, () => Promise<unknown>>> = {
    'turns: all': () => history.listTurns({}, page),
    'turns: all, from any page': () => history.listTurns({}, { ...page, after: { startedAt: at(), id: 1 } }),
    'turns: a member': () => history.listTurns({ account: account() }, page),
    'turns: a member, failed': () => history.listTurns({ account: account(), failedOnly: true }, page),
    'turns: a member, key and product': () =>
      history.listTurns({ account: account(), credential: 'key_1', product: 'product-2' }, page),
    'turns: the largest member, a rare code': () => history.listTurns({ account: 'acc_heavy', ending: 'rare_code' }, page),
    'turns: a product': () => history.listTurns({ product: `product-${random.below(4)}` }, page),
    'turns: a target and a code': () => history.listTurns({ target: 'upstream-1/model', ending: 'code_2' }, page),
    'turns: a rare code': () => history.listTurns({ ending: 'rare_code' }, page),
    'turns: failed in an hour': () => {
      const from = at()
      return history.listTurns({ failedOnly: true, from, to: from + 3_600_000 }, page)
    },
    'turns: a request': () => history.listTurns({ requestId: `mbr_${1 + random.below(turns)}` }, page),
    'turns: an unknown request': () => history.listTurns({ requestId: 'mbr_none' }, page),
    'turn: its story': () => history.findTurn(1 + random.below(turns)),
    'failures: a day': () => history.listFailures(last(1)),
    'failures: 31 days': () => history.listFailures(last(31)),
    'chart: a day by hour, by product': () => history.readUsage({ ...last(1), step: 'hour', by: 'product' }),
    'chart: 8 days by hour, by ending': () => history.readUsage({ ...last(8), step: 'hour', by: 'ending' }),
    'chart: 31 days by day, by target': () => history.readUsage({ ...last(31), step: 'day', by: 'target' }),
    'chart: a member, 31 days by day, by key': () =>
      history.readUsage({ ...last(31), step: 'day', by: 'credential', account: account() }),
    'chart: the largest member, 31 days by day': () =>
      history.readUsage({ ...last(31), step: 'day', by: 'product', account: 'acc_heavy' }),
  }
  console.log(`\n${name}, ${turns} turns of ${accounts} accounts\n`)
  console.log('| Read | p50 ms | p95 ms | CPU ms | |\n|---|--:|--:|--:|---|')
  for (const [title, run] of Object.entries(queries)) {
    await run()
    const cpuStart = process.cpuUsage()
    const times: number[] = []
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const started = performance.now()
      await run()
      times.push(performance.now() - started)
    }
    const cpu = process.cpuUsage(cpuStart)
    times.sort((one, other) => one - other)
    const [p50 = 0, p95 = 0] = [0.5, 0.95].map((share) => times[Math.min(times.length - 1, Math.floor(share * times.length))])
    const isOver = p95 > maxP95Ms
    isSlow ||= isOver
    const cpuMs = (cpu.user + cpu.system) / 1000 / repeats
    console.log(`| ${title} | ${p50.toFixed(1)} | ${p95.toFixed(1)} | ${cpuMs.toFixed(1)} | ${isOver ? 'too slow' : ''} |`)
  }
}

async function logTime(what: string, work: () => Promise<void>): Promise<void> {
  const started = performance.now()
  await work()
  console.error(`${what} in ${((performance.now() - started) / 1000).toFixed(1)} s`)
}
