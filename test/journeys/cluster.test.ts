/** Three nodes on one PostgreSQL and one Valkey, behind HAProxy as it is shipped, are one service: quotas, limits, and what is taken away. */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import type { ClusterNode } from '../support/cluster.ts'
import { Desk } from '../support/desk.ts'
import { exactPlans, shortTurn } from '../support/exact-plans.ts'
import { until } from '../support/gateway.ts'

const body = shortTurn
const plans = exactPlans(30)
const config = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000 }, plans: { ...base.plans, ...${JSON.stringify(plans)} } }`
/** How soon all nodes must know what one was told, on a machine that is busy with other tests. */
const knownMs = 3_000

const cluster = await startCluster(t, { config })
if (cluster !== undefined) {
  const { url, nodes, demo } = cluster
  const desk = await Desk.open(t, cluster.storeUrl)
  const member = async (as: keyof typeof plans) => desk.member(as)
  const chat = (at: string, token: string): Promise<Response> =>
    fetch(`${at}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
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
  const held = async (): Promise<number> =>
    Number((await cluster.query(`select count(*) as held from turn where state = 'held'`))[0]?.['held'])

  t.test('three that begin an empty database together are one service', async (t) => {
    t.ok(cluster.key, 'one of them made the first account')
    t.equal((await chat(url, cluster.key)).status, 200)
    t.same(await Promise.all(nodes.map((each) => each.isReady())), [true, true, true])
    const { key } = await member('ample')
    t.same(await ask(9, key.token), { 200: 9 }, 'each knows a member that none of them made')
  })

  t.test('a quota, turns at once and requests a minute are for all of them together', async (t) => {
    demo.script(() => ({ headMs: 6_000, tokens: 1 }))
    const [twenty, narrow] = await Promise.all([member('twenty'), member('narrow')])
    t.same(await Promise.all([ask(60, twenty.key.token), ask(60, narrow.key.token)]), [
      { 200: 20, 402: 40 },
      { 200: 5, 429: 55 },
    ])
    demo.script(() => undefined)

    const from = performance.now()
    const admitted = (await ask(90, (await member('slow')).key.token))[200] ?? 0
    const back = Math.ceil((performance.now() - from) / 2_000)
    t.ok(admitted >= 29 && admitted <= 30 + back + 2, `${admitted} of 30`)
  })

  t.test('what is taken away is gone on all of them', async (t) => {
    const { account, key } = await member('ample')
    const session = await desk.session(account)
    const gone = async (token: string, takeAway: () => Promise<unknown>): Promise<number> => {
      t.same(await ask(9, token), { 200: 9 }, 'all remember it')
      await takeAway()
      const from = performance.now()
      await until(async () => ((await ask(3, token))[200] ?? 0) === 0, 'all to refuse it')
      return performance.now() - from
    }
    const { keys, sessions, accounts } = desk.store
    const times = [
      await gone(session.token, () => sessions.end(account, session.id)),
      await gone((await desk.key(account)).token, () => accounts.setStatus(account, 'disabled')),
    ]
    await accounts.setStatus(account, 'active')
    await until(async () => (await ask(3, key.token))[200] === 3, 'it to be let in again')
    times.push(await gone(key.token, () => keys.revoke(account, key.id, Date.now())))
    t.ok(
      times.every((ms) => ms < knownMs),
      times.map((ms) => ms.toFixed(0)).join(', '),
    )
  })

  t.test('Valkey is lost: nobody fails, and nobody is unlimited', async (t) => {
    const { key } = await member('slow')
    await cluster.valkey.kill()
    const counts = await ask(120, key.token)
    t.ok((counts[200] ?? 0) <= 40, JSON.stringify(counts))
    t.same(
      Object.keys(counts).filter((status) => status !== '200' && status !== '429'),
      [],
    )
    await cluster.valkey.startAgain()
  })

  t.test('each tells of the database: to anybody what is not in order, to the operator all', async (t) => {
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
      ['database', 'durability', 'replication', 'clock', 'connections', 'nodes'],
    )
    t.ok(
      database?.every(({ ok }) => ok),
      JSON.stringify(database),
    )
    t.match(found('nodes'), { detail: /^3 nodes, all of \d+\.\d+\.\d+$/ })
    const metrics = await (await fetch(`${first.url}/metrics`, { headers: token })).text()
    t.match(metrics, /^svc_database_connections_left [1-9]\d*$/m)
    t.match(metrics, /^svc_database_standbys_synchronous 0$/m)

    await cluster.query('alter system set synchronous_commit = off')
    await cluster.query('select pg_reload_conf()')
    await until(async () => /^durability: .* is off: a crash/m.test((await told()).notes), 'it to be noted')
    t.equal((await told()).status, 200, 'which keeps no turn out')
    const stopped = first.stop()
    await until(async () => (await told()).status === 503, 'it to drain')
    t.match(
      await told(token),
      { status: 503, notes: /^durability: /, database: { length: 6 } },
      'who is not ready tells of it too',
    )
    t.equal(await stopped, 0)
    await first.start()
    await cluster.query('alter system reset synchronous_commit')
    await cluster.query('select pg_reload_conf()')
    await until(async () => (await told()).notes === '', 'it to be in order')

    first.cutOff()
    let longestMs = 0
    await until(async () => {
      const from = performance.now()
      const { notes } = await told()
      longestMs = Math.max(longestMs, performance.now() - from)
      return /^database: does not answer/m.test(notes)
    }, 'the silence to be noted')
    t.ok(longestMs < 1_500, `nobody waits for the database: ${longestMs.toFixed(0)} ms at most`)
    const from = performance.now()
    t.match((await told(token)).database, [{ what: 'database', ok: false, detail: /^does not answer/ }])
    t.ok(performance.now() - from < 5_000, 'not even who asks for all of it')
    first.cutOff(false)
    await until(async () => (await told()).notes === '' && first.isReady(), 'it to be back')
    t.notMatch([...texts].join('\n'), /postgres@|127\.0\.0\.1|localhost/, 'neither who connects nor where to')
  })

  t.test('the books are right', async (t) => {
    await until(async () => (await held()) === 0, 'every hold to end')
    const { ok, mismatches, holdsOpen } = await desk.store.ledger.verify()
    t.same({ ok, mismatches, holdsOpen }, { ok: true, mismatches: [], holdsOpen: 0 })
  })
}
