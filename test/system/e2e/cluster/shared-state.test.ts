/** Three nodes on one PostgreSQL and one Valkey behind the shipped HAProxy are one service: quotas, limits and revocations. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startCluster } from '../../../support/cluster/cluster.ts'
import type { ClusterNode } from '../../../support/cluster/cluster.ts'
import { AccountSeeder } from '../../../support/cluster/account-seeder.ts'
import { createExactPlans, shortTurn } from '../../../support/gateway/exact-plans.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { checkoutRoot, writeTestConfig } from '../../../support/processes/server-process.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'

const few = { day: 1, week: 1, month: 1 }
const exact = createExactPlans(30)
const plans = { ...exact, penniless: { ...exact.ample, pools: { fast: few, premium: few } } }
const config = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000 }, plans: { ...base.plans, ...${JSON.stringify(plans)} } }`
/** Each poll is one or more requests to nodes that share one machine. */
const pollMs = 50

const cluster = await startCluster(t, { config })
if (cluster !== undefined) {
  const { url, nodes, demo } = cluster
  const desk = await AccountSeeder.open(t, cluster.storeUrl)
  const member = async (as: keyof typeof plans) => desk.createMember(as)
  const chat = (at: string, token: string, change: object = {}): Promise<Response> =>
    fetch(`${at}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...shortTurn, ...change }),
    })
  const node = (nth: number): ClusterNode => nodes[nth % nodes.length] as ClusterNode
  const statuses = async (answers: readonly Promise<Response>[]): Promise<Readonly<Record<number, number>>> => {
    const counts: Record<number, number> = {}
    for (const answer of await Promise.all(answers)) {
      await answer.arrayBuffer()
      counts[answer.status] = (counts[answer.status] ?? 0) + 1
    }
    return counts
  }
  const ask = (count: number, token: string) => statuses(Array.from({ length: count }, (_, nth) => chat(node(nth).url, token)))
  /** The requests that a node has decided without Valkey, of all nodes. */
  const countDecidedAlone = async (): Promise<number> => {
    const texts = await Promise.all(
      nodes.map(async (each) => (await fetch(`${each.url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })).text()),
    )
    return texts.reduce((sum, text) => sum + Number(/^svc_rate_limit_fallback_total (\d+)/m.exec(text)?.[1]), 0)
  }
  const held = async (): Promise<number> =>
    Number((await cluster.query(`select count(*) as held from turn where state = 'held'`))[0]?.['held'])

  t.test('three nodes that start on an empty database together form one service', async (t) => {
    t.ok(cluster.key, 'one of them made the first account')
    t.equal((await chat(url, cluster.key)).status, 200)
    t.same(await Promise.all(nodes.map((each) => each.isReady())), [true, true, true])
    const { key } = await member('ample')
    t.same(await ask(9, key.token), { 200: 9 }, 'each knows a member that none of them made')
  })

  t.test('applies quota, concurrency and requests a minute over all nodes together', async (t) => {
    // No turn ends before the others were refused.
    const gate = Promise.withResolvers<void>()
    demo.script(async () => {
      await gate.promise
      return { tokens: 1 }
    })
    const [twenty, narrow] = await Promise.all([member('twenty'), member('narrow')])
    let refused = 0
    const asked = [twenty, narrow].map(({ key }) =>
      Array.from({ length: 60 }, async (_, nth) => {
        const answer = await chat(node(nth).url, key.token)
        if (answer.status !== 200) refused += 1
        return answer
      }),
    )
    await waitUntil(() => refused >= 40 + 55, 'the refusals')
    gate.resolve()
    t.same(await Promise.all(asked.map(statuses)), [
      { 200: 20, 429: 40 },
      { 200: 5, 429: 55 },
    ])
    demo.script(() => undefined)

    const slow = await member('slow')
    const [from, before] = [performance.now(), await countDecidedAlone()]
    const admitted = (await ask(90, slow.key.token))[200] ?? 0
    const back = Math.ceil((performance.now() - from) / 2_000)
    // A node that Valkey did not answer in time decides by its share.
    const isCountedTogether = (await countDecidedAlone()) === before
    t.ok(admitted >= 29 && admitted <= (isCountedTogether ? 1 : 2) * (30 + back) + 2, `${admitted} of 30`)
  })

  t.test('applies a revocation on all nodes', async (t) => {
    const { account, key } = await member('ample')
    const session = await desk.createSession(account)
    const checkRefusal = async (token: string, takeAway: () => Promise<unknown>): Promise<void> => {
      t.same(await ask(9, token), { 200: 9 }, 'all remember it')
      await takeAway()
      await waitUntil(async () => ((await ask(3, token))[200] ?? 0) === 0, 'all to refuse it', pollMs)
    }
    const { apiKeys, sessions, accounts } = desk.store
    await checkRefusal(session.token, () => sessions.end(account, session.id))
    await checkRefusal((await desk.createKey(account)).token, () => accounts.setStatus(account, 'disabled'))
    await accounts.setStatus(account, 'active')
    await waitUntil(async () => (await ask(3, key.token))[200] === 3, 'it to be let in again', pollMs)
    await checkRefusal(key.token, () => apiKeys.revoke(account, key.id, Date.now()))
  })

  t.test('while the database hangs: admits no revoked credential, and admits none at all once its cache is stale', async (t) => {
    const { apiKeys, sessions, accounts } = desk.store
    const [keyless, signedOut, disabled, poorer, stays] = await Promise.all(Array.from({ length: 5 }, () => member('ample')))
    if (!keyless || !signedOut || !disabled || !poorer || !stays) throw new Error('five members')
    const session = await desk.createSession(signedOut.account)
    const gone = [keyless.key.token, session.token, disabled.key.token, poorer.key.token]
    const everywhere = <Answer>(ask: (at: string, token: string) => Promise<Answer>): Promise<Answer[]> =>
      Promise.all(nodes.flatMap((each) => [...gone, stays.key.token].map((token) => ask(each.url, token))))
    // A request that starts no turn is admitted from the cache alone.
    const seen = async (at: string, token: string): Promise<Response> => {
      const answer = await fetch(`${at}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
      await answer.arrayBuffer()
      return answer
    }
    const turn = async (at: string, token: string): Promise<number> => (await statuses([chat(at, token)]))[200] ?? 0
    t.ok(
      (await everywhere(seen)).every(({ ok }) => ok),
      'all remember them',
    )

    demo.script(() => ({ tokens: 80, betweenMs: 100 }))
    // The third node has no request in flight.
    const streams = await Promise.all(
      nodes.slice(0, 2).map((each) => chat(each.url, stays.key.token, { stream: true, max_tokens: 128 })),
    )
    const told = streams.map(() => '')
    const ended = streams.map(async ({ body }, nth) => {
      for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) told[nth] += piece
    })
    await waitUntil(() => told.every((each) => each.includes('data:')), 'them to stream')
    demo.script(() => undefined)

    await Promise.all([
      apiKeys.revoke(keyless.account, keyless.key.id, Date.now()),
      sessions.end(signedOut.account, session.id),
      accounts.setStatus(disabled.account, 'disabled'),
      accounts.setPlan(poorer.account, 'penniless'),
    ])
    cluster.postgres.pause()
    await pause(1_000)
    const before = told.map(({ length }) => length)
    const answers = await everywhere(seen)
    t.same(new Set(answers.map(({ status }) => status)), new Set([503]), 'a second later')
    t.ok(answers.every(({ headers }) => Number(headers.get('retry-after')) > 0))
    const ready = () => Promise.all(nodes.map((each) => each.isReady()))
    await waitUntil(async () => (await ready()).every((is) => !is), 'none to be ready', pollMs)
    t.ok(
      told.every(({ length }, nth) => length > (before[nth] ?? 0)),
      'turns that run go on',
    )

    cluster.postgres.resume()
    const well = async () => (await Promise.all(nodes.map((each) => turn(each.url, stays.key.token)))).every((is) => is === 1)
    await waitUntil(async () => (await well()) && (await ready()).every(Boolean), 'all to be well', pollMs)
    for (const { url } of nodes)
      t.same(await Promise.all(gone.map(async (token) => (await chat(url, token)).status)), [401, 401, 401, 402])
    await Promise.all(ended)
    t.ok(told.every((each) => each.endsWith('data: [DONE]\n\n')))
    await waitUntil(async () => (await held()) === 0, 'every hold to end', pollMs)
  })

  t.test('fails no request and lifts no limit when Valkey is lost', async (t) => {
    const { key } = await member('slow')
    await cluster.valkey.kill()
    const from = performance.now()
    const counts = await ask(120, key.token)
    const back = Math.ceil((performance.now() - from) / 2_000)
    t.ok((counts[200] ?? 0) <= 2 * (30 + back), JSON.stringify(counts))
    t.same(
      Object.keys(counts).filter((status) => status !== '200' && status !== '429'),
      [],
    )
    await cluster.valkey.restart()
  })

  t.test('reports database faults publicly and all details to the operator on each node', async (t) => {
    const first = node(0)
    const texts = new Set<string>()
    const told = async (headers: Readonly<Record<string, string>> = {}) => {
      const answer = await fetch(`${first.url}/readyz`, { headers })
      const text = await answer.text()
      texts.add(text)
      const { notes = [], database = null } = JSON.parse(text) as {
        readonly notes?: readonly string[]
        readonly database?: readonly { readonly what: string; readonly ok: boolean; readonly detail: string }[] | null
      }
      return {
        status: answer.status,
        notes: notes.join('\n'),
        database,
        found: (what: string) => database?.find((one) => one.what === what),
      }
    }
    const token = { authorization: 'Bearer scrape-me' }
    t.match(await told(), { status: 200, database: null })
    t.match(await told({ authorization: 'Bearer guess' }), { status: 200, database: null })
    const { database, found } = await told(token)
    t.same(
      database?.map(({ what }) => what),
      [
        'database',
        'durability',
        'replication',
        'primary',
        'clock',
        'connections',
        'background jobs',
        'encoding',
        'nodes',
        'configuration',
      ],
    )
    t.ok(
      database?.every(({ ok }) => ok),
      JSON.stringify(database),
    )
    t.match(found('nodes'), { detail: /^3 nodes, all of \d+\.\d+\.\d+$/ })
    const metrics = await (await fetch(`${first.url}/metrics`, { headers: token })).text()
    t.match(metrics, /^svc_database_connections_available [1-9]\d*$/m)
    t.match(metrics, /^svc_database_standbys_synchronous 0$/m)

    await cluster.query('alter system set synchronous_commit = off')
    await cluster.query('select pg_reload_conf()')
    await waitUntil(async () => /^durability: .* is off: a crash/m.test((await told()).notes), 'it to be noted', pollMs)
    t.equal((await told()).status, 200, 'which keeps no turn out')
    const stopped = first.stop()
    await waitUntil(async () => (await told()).status === 503, 'it to drain', pollMs)
    t.match(
      await told(token),
      { status: 503, notes: /^durability: /, database: { length: 10 } },
      'who is not ready tells of it too',
    )
    t.equal(await stopped, 0)
    await first.start()
    await cluster.query('alter system reset synchronous_commit')
    await cluster.query('select pg_reload_conf()')
    await waitUntil(async () => (await told()).notes === '', 'it to be in order', pollMs)

    first.cutDatabase()
    await waitUntil(async () => /^database: does not answer/m.test((await told()).notes), 'the silence to be noted', pollMs)
    t.match((await told(token)).database, [{ what: 'database', ok: false, detail: /^does not answer/ }])
    first.cutDatabase(false)
    await waitUntil(async () => (await told()).notes === '' && first.isReady(), 'it to be back', pollMs)
    t.notMatch([...texts].join('\n'), /postgres@|127\.0\.0\.1|localhost/, 'neither who connects nor where to')
  })

  t.test('reports a node whose configuration differs, on each node, and lets it serve', async (t) => {
    const [first, last] = [node(0), node(2)]
    const readNotes = async (at: string) => JSON.stringify(await (await fetch(`${at}/readyz`)).json())
    const readMetrics = async (at: string) =>
      (await fetch(`${at}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })).text()
    const doctor = async (at: string) => {
      const headers = { authorization: 'Bearer scrape-me' }
      const { database } = (await (await fetch(`${at}/readyz`, { headers })).json()) as {
        readonly database: readonly { readonly what: string; readonly detail: string }[]
      }
      return database.find(({ what }) => what === 'configuration')?.detail
    }
    t.equal(await doctor(first.url), 'the same on all live nodes')
    t.match(await readMetrics(first.url), /^svc_cluster_config_differences 0$/m)

    await last.stop()
    const expensive = `{ ...${config}, timeZone: 'Asia/Shanghai', prices: { ...base.prices, light: { input: 9, output: 9, discountPercent: 0 } } }`
    await last.start({ root: checkoutRoot, config: writeTestConfig(createTemporaryFolder(t), expensive) })
    t.ok(await last.isReady(), 'a deploy may change the configuration one node after the other')
    for (const { url: at } of [first, last]) {
      await waitUntil(async () => /differ in prices, time zone/.test(await readNotes(at)), 'the note', pollMs)
      t.match(await doctor(at), /^2 and 1 nodes differ in prices, time zone: a turn costs what its node is configured for/)
      t.match(await readMetrics(at), /^svc_cluster_config_differences 2$/m)
    }
    const warning = 'the configurations of this node and other nodes differ'
    await waitUntil(() => first.running.log().includes(warning), 'the log of the other node', pollMs)
    t.equal(last.running.log().split(warning).length, 2, 'logged once')
    t.match(last.running.log(), /"sections":\["prices","time zone"\]/)

    await last.stop()
    await last.start()
    const agree = async () => /^svc_cluster_config_differences 0$/m.test(await readMetrics(first.url))
    await waitUntil(agree, 'the nodes to agree again', pollMs)
    t.notMatch(await readNotes(first.url), /differ in/)
  })

  t.test('keeps a consistent ledger', async (t) => {
    await waitUntil(async () => (await held()) === 0, 'every hold to end', pollMs)
    const { ok, mismatches, holdsOpen } = await desk.store.ledger.verify()
    t.same({ ok, mismatches, holdsOpen }, { ok: true, mismatches: [], holdsOpen: 0 })
  })
}
