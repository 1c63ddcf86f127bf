/** Turns of a node whose PostgreSQL is behind a real PgBouncer with the shipped files. */
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { startFakeUpstream } from '../../support/upstream/server.ts'
import { AccountSeeder } from '../../support/cluster/account-seeder.ts'
import { waitUntil } from '../../support/gateway/test-gateway.ts'
import type { PgBouncerOptions } from '../../support/proxies/pgbouncer.ts'
import { hasPreparedStatements, startPgBouncer } from '../../support/proxies/pgbouncer.ts'
import { startPostgresServer, queryPrimary } from '../../support/servers/postgres/postgres.ts'
import { FaultProxy } from '../../support/servers/fault-proxy.ts'
import { writeTestConfig, startServerProcess } from '../../support/processes/server-process.ts'
import type { ServerProcess } from '../../support/processes/server-process.ts'
import type { Test } from 'tap'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import { check } from './known-failures.ts'

t.jobs = 3

const much = { day: 1e9, week: 1e9, month: 1e9 }
const plan = { name: 'Test', prices: [{ amount: 0 }], rpm: 100_000, concurrency: 1_000, pools: { fast: much, premium: much } }
const plans = JSON.stringify({ ample: plan })
const config = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000 }, plans: { ...base.plans, ...${plans} } }`
const turns = 200
const atOnce = 16

/** Server connections in turn, so that a statement soon meets one that does not have it, or has it already. */
const withoutStatements: Omit<PgBouncerOptions, 'storeUrl'> = {
  file: 'pgbouncer/transaction-mode.ini',
  edit: (text) =>
    `${text.replace(/^max_prepared_statements.*$/m, hasPreparedStatements(t) === true ? 'max_prepared_statements = 0' : '')}\nserver_round_robin = 1\n`,
}

const postgres = await startPostgresServer(t, async () => {})
const isNew = hasPreparedStatements(t)
if (postgres !== undefined && isNew !== undefined) {
  t.test('session mode', async (t) => {
    await check(t, { of: 'PgBouncer, session mode', title: 'every turn is answered and charged' }, () =>
      findFailedTurns(t, { file: 'pgbouncer/session-mode.ini' }),
    )
  })

  t.test('transaction mode', async (t) => {
    if (isNew) {
      await check(t, { of: 'PgBouncer, transaction mode', title: 'every turn is answered and charged' }, () =>
        findFailedTurns(t, { file: 'pgbouncer/transaction-mode.ini' }),
      )
      return
    }
    const started = startPgBouncer(t, { file: 'pgbouncer/transaction-mode.ini', storeUrl: await postgres.createDatabase(t) })
    await t.rejects(started, /max_prepared_statements/, 'a PgBouncer without prepared statements refuses the file')
  })

  t.test('transaction mode without prepared statements', async (t) => {
    const of = 'PgBouncer, transaction mode without prepared statements'
    await check(t, { of, title: 'the node refuses to start and names both remedies' }, async () => {
      const { node, output } = await startNode(t, (await startPoolers(t, withoutStatements))!)
      const isRefused = /max_prepared_statements = 200;[^\n]* pool_mode = session/.test(output())
      return node === undefined && isRefused
        ? []
        : [`the node ${node === undefined ? 'prints' : 'starts and prints'}: ${output()}`]
    })
  })

  t.test('a pooler that no longer keeps prepared statements', async (t) => {
    const of = 'PgBouncer, changed to transaction mode without prepared statements'
    await check(t, { of, title: 'every turn is answered and charged' }, () =>
      findFailedTurns(t, { file: 'pgbouncer/session-mode.ini' }, withoutStatements),
    )
  })
}

interface Poolers {
  readonly storeUrl: string
  /** Through a proxy that goes to the pooler, and to another one after a change. */
  readonly pooledUrl: string
  readonly proxy: FaultProxy
}

async function startPoolers(t: Test, first: Omit<PgBouncerOptions, 'storeUrl'>): Promise<Poolers | undefined> {
  const storeUrl = await postgres!.createDatabase(t, { empty: true })
  const pooler = await startPgBouncer(t, { storeUrl, ...first })
  if (pooler === undefined) return undefined
  const pooledUrl = new URL(pooler.storeUrl)
  const proxy = await FaultProxy.start(t, Number(pooledUrl.port))
  pooledUrl.port = String(proxy.port)
  return { storeUrl, pooledUrl: pooledUrl.href, proxy }
}

async function startNode(
  t: Test,
  { pooledUrl }: Poolers,
): Promise<{ readonly node: ServerProcess | undefined; readonly output: () => string }> {
  const demo = await startFakeUpstream()
  t.teardown(() => demo.close())
  const folder = createTemporaryFolder(t)
  const node = await startServerProcess(t, {
    STORE_URL: pooledUrl,
    SMTP_URL: 'smtp://127.0.0.1:9',
    DATA_DIR: join(folder, 'node'),
    UPSTREAM_BASE_URL: demo.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    UPSTREAM_MODEL_LIGHT: 'demo-light',
    GATEWAY_CONFIG: writeTestConfig(folder, config),
  })
  return { node: node.url === '' ? undefined : node, output: () => node.output() + node.log() }
}

/**
 * Runs turns on a node behind the pooler, and compares what clients received with what the database has. After half of the turns
 * the node's connections break, and new ones go to `next`.
 */
async function findFailedTurns(
  t: Test,
  first: Omit<PgBouncerOptions, 'storeUrl'>,
  next?: Omit<PgBouncerOptions, 'storeUrl'>,
): Promise<readonly string[]> {
  const poolers = await startPoolers(t, first)
  if (poolers === undefined) return []
  const { storeUrl, proxy } = poolers
  const { node, output } = await startNode(t, poolers)
  if (node === undefined) return [`no start: ${output()}`]
  const changed = next && (await startPgBouncer(t, { storeUrl, ...next }))
  const seeder = await AccountSeeder.open(t, storeUrl)
  const { key } = await seeder.createMember('ample')
  const answers: string[] = []
  let begun = 0
  let repeated = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (begun++ < turns) {
        if (changed !== undefined && begun === turns / 2) {
          proxy.target = Number(new URL(changed.storeUrl).port)
          await proxy.dropConnections(0)
        }
        const stream = begun % 2 === 0
        let answer = await ask(node.url, key.token, stream)
        // As SDKs do. A machine that is busy with other tests may leave the database without an answer for three seconds.
        for (; answer === overloaded && repeated < maxRepeated; answer = await ask(node.url, key.token, stream)) {
          repeated += 1
          await after(1_000)
        }
        answers.push(answer)
      }
    }),
  )
  const countOf = async (state: string) =>
    Number((await queryPrimary([storeUrl], `select count(*) as n from turn where state = '${state}'`))[0]?.['n'])
  const whole = answers.filter((answer) => answer === 'whole').length
  await waitUntil(async () => (await countOf('held')) === 0 || (await countOf('settled')) < whole, 'the turns to be settled', 100)
  const { mismatches } = await seeder.store.ledger.verify()
  await node.terminate('SIGTERM')
  const settled = await countOf('settled')
  const failed = [...Map.groupBy(answers, (answer) => answer)].filter(([answer]) => answer !== 'whole')
  return [
    ...failed.map(([answer, all]) => `${all.length} of ${turns} turns: ${answer}`),
    ...(settled === whole ? [] : [`${whole} turns were answered whole, ${settled} are settled`]),
    ...mismatches.map((mismatch) => `the ledger does not add up: ${JSON.stringify(mismatch)}`),
  ]
}

/** `whole`, or the failure's code. */
/** A refusal before anything was charged, with `Retry-After`. */
const overloaded = '503 temporarily_unavailable'
const maxRepeated = turns / 10

async function ask(url: string, token: string, stream: boolean): Promise<string> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', stream, max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  const text = await answer.text()
  if (answer.status === 200 && (!stream || text.endsWith('data: [DONE]\n\n'))) return 'whole'
  return `${answer.status} ${/"code":"(\w+)"/.exec(text)?.[1]}`
}
