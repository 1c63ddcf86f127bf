/** Several threads that serve are one server: what is exact is exact over all of them, and one that dies leaves nothing behind. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { openForReading } from '../../src/store/sqlite/connection.ts'
import { verifyFile } from '../../src/store/sqlite/verify-file.ts'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import type { Script } from '../../src/upstream/demo/script.ts'
import { Browser } from '../support/browser.ts'
import { exactPlans, shortTurn } from '../support/exact-plans.ts'
import { atOnceMs, temporaryFolder, testConfig, until } from '../support/gateway.ts'
import { operatorOf } from '../support/operate.ts'
import { configIn, startServer } from '../support/server.ts'

const asked = shortTurn
const plans = exactPlans(10)

/** Says who serves, and dies where it is told to. */
const plugin = `{
  name: 'worker-test',
  onRequest(x) {
    x.headers['x-worker'] = String(process.getBuiltinModule('node:worker_threads').threadId)
    if (x.inbound.headers['x-die'] !== undefined) setImmediate(() => { throw new Error('a fault of a plugin') })
  },
}`

async function start(t: Test) {
  const upstream = await startDemoUpstream({ keep: 10_000 })
  t.teardown(() => upstream.close())
  let script: Script | undefined
  upstream.script(() => script)
  const folder = temporaryFolder(t)
  const file = join(folder, 'gateway.db')
  const server = await startServer(t, {
    WORKERS: '2',
    DATA_DIR: folder,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    METRICS_TOKEN: 'scrape-me',
    GATEWAY_CONFIG: configIn(
      folder,
      `{ ...base, limits: { addressRpm: 1_000_000 }, timeouts: { noticeMs: 200 }, plugins: [...base.plugins, ${plugin}],
        plans: { ...base.plans, ...${JSON.stringify(plans)} }, defaultPlan: 'ample' }`,
    ),
  })
  const operate = operatorOf(t, folder, { plans, defaultPlan: 'ample' })
  const { url } = server
  return {
    server,
    url,
    file,
    folder,
    /** How the upstream answers from now on. */
    answers: (as: Script | undefined) => void (script = as),
    async member(as: keyof typeof plans): Promise<string> {
      const email = `${as}@example.com`
      await operate('account', 'create', '--email', email, '--plan', as)
      const made = await operate('key', 'create', '--account', email, '--name', 'test')
      return /svc_live_\w+/.exec(made.output)?.[0] ?? ''
    },
    /** A connection of its own each time: so any worker may get it. */
    chat: (token: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close', ...headers },
        body: JSON.stringify({ ...asked, ...body }),
      }),
    models: (token: string) => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } }),
    async metric(name: string): Promise<number> {
      const text = await (await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })).text()
      const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    held(): number {
      const db = openForReading(file, 1_000)
      try {
        return Number(db.prepare(`select count(*) from turn where state = 'held'`).pluck().get())
      } finally {
        db.close()
      }
    },
  }
}

async function statuses(answers: readonly Promise<Response>[]): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {}
  for (const answer of answers) {
    const { status } = await answer
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

const times = <Item>(count: number, make: () => Item): Item[] => Array.from({ length: count }, make)

t.test('two workers serve as one', async (t) => {
  const s = await start(t)
  t.match(s.server.output(), '2 workers serve')
  const ample = await s.member('ample')

  await t.test('both serve, and one page of metrics has what both have done', async (t) => {
    const answers = await Promise.all(times(40, () => s.chat(ample)))
    await Promise.all(answers.map((answer) => answer.text()))
    t.equal(new Set(answers.map(({ headers }) => headers.get('x-worker'))).size, 2)
    await until(async () => (await s.metric('svc_turns_total')) === 40, 'all turns to be counted', 50)
    t.equal(await s.metric('svc_ledger_holds_open'), 0)
    t.equal(await s.metric('svc_workers'), 2)
    t.equal((await fetch(`${s.url}/readyz`)).status, 200)
    await until(() => [1, 2].every((worker) => s.server.log().includes(`"worker":${worker},"requestId"`)), 'the lines of both')
    t.ok(
      s.server
        .log()
        .trim()
        .split('\n')
        .every((line) => JSON.parse(line)),
      'in one log, whole lines',
    )
  })

  await t.test('a quota for twenty turns is for twenty, of two hundred at once', async (t) => {
    const token = await s.member('twenty')
    s.answers({ headMs: 6_000, tokens: 1 })
    const answers = times(200, () => s.chat(token))
    t.same(await statuses(answers), { 200: 20, 402: 180 })
    s.answers(undefined)
  })

  await t.test('ten requests a minute are ten', async (t) => {
    const token = await s.member('slow')
    const from = performance.now()
    const counts = await statuses(times(60, () => s.models(token)))
    // One comes back each six seconds; a slow machine may see it.
    const back = Math.floor((performance.now() - from) / 6_000)
    t.ok((counts[200] ?? 0) >= 10 && (counts[200] ?? 0) <= 10 + back, JSON.stringify(counts))
  })

  await t.test('five turns at once are five', async (t) => {
    const token = await s.member('narrow')
    s.answers({ headMs: 6_000, tokens: 1 })
    t.same(await statuses(times(60, () => s.chat(token))), { 200: 5, 429: 55 })
    t.equal((await s.chat(token)).status, 200, 'and then again')
    s.answers(undefined)
  })

  await t.test('a key revoked through one is refused by all at once', async (t) => {
    const browser = new Browser({ url: s.url, config: testConfig(t, { store: { dataDir: s.folder } }) })
    await browser.signIn('revoking@example.com')
    const { id, token } = (await browser.post('auth/api-keys', { name: 'soon gone' })).body as { id: string; token: string }
    // Until both remember it.
    const seen = new Set<string | null>()
    while (seen.size < 2) {
      const answer = await s.chat(token)
      await answer.text()
      seen.add(answer.headers.get('x-worker'))
    }
    t.equal((await browser.delete(`auth/api-keys/${id}`)).status, 200)
    const from = performance.now()
    await until(async () => (await statuses(times(8, () => s.models(token))))[401] === 8, 'all to refuse it')
    t.ok(performance.now() - from < atOnceMs, `${Math.round(performance.now() - from)} ms`)
  })

  await t.test('one that dies is replaced, and what it held is given back at once', async (t) => {
    s.answers({ tokens: 40, betweenMs: 250 })
    const streams = await Promise.all(times(16, () => s.chat(ample, { stream: true, max_tokens: 64 })))
    t.equal(s.held(), 16)
    const dying = await s.chat(ample, { stream: true, max_tokens: 64 }, { 'x-die': '1' }).catch(() => undefined)
    await dying?.text().catch(() => undefined)
    const from = performance.now()
    const whole = Promise.all(
      streams.map(async (stream) => {
        const text = await stream.text().catch(() => '')
        return { worker: stream.headers.get('x-worker'), isWhole: text.endsWith('[DONE]\n\n') && !text.includes('"ok":false') }
      }),
    )
    await until(() => s.server.log().includes('what a worker held was given back'), 'the holds to be given back')
    t.ok(performance.now() - from < atOnceMs)
    const held = s.held()
    const endings = await whole
    const survived = endings.filter(({ isWhole }) => isWhole)
    t.equal(held, survived.length, 'exactly those of the one that died')
    t.ok(survived.length > 0 && survived.length < 16, `${survived.length} of 16 went on`)
    t.equal(new Set(survived.map(({ worker }) => worker)).size, 1)
    s.answers(undefined)
    await until(async () => (await s.metric('svc_workers')) === 2, 'another one to serve', 50)
    t.equal(await s.metric('svc_worker_deaths_total'), 1)
    t.ok((await s.metric('svc_turns_total')) >= 40, 'what it had counted stays')
    const workers = new Set((await Promise.all(times(40, () => s.chat(ample)))).map(({ headers }) => headers.get('x-worker')))
    t.equal(workers.size, 2, 'both serve again')
    t.match(s.server.log(), /"msg":"a worker died; another one takes its place"/)
  })

  await t.test('a second server on the same port is refused, although workers share theirs', async (t) => {
    const { port } = new URL(s.url)
    const second = await startServer(t, { WORKERS: '2', DATA_DIR: temporaryFolder(t), PORT: port })
    t.equal(second.child.exitCode, 1)
    t.match(second.log(), `127.0.0.1:${port} is in use by another program. Stop it, or choose another PORT.`)
  })

  await t.test('told to stop, it loses no request', async (t) => {
    s.answers({ tokens: 20, betweenMs: 50 })
    const streams = await Promise.all(times(24, () => s.chat(ample, { stream: true, max_tokens: 64 })))
    const ended = s.server.end('SIGTERM')
    const texts = await Promise.all(streams.map((stream) => stream.text()))
    t.ok(texts.every((text) => text.endsWith('[DONE]\n\n') && !text.includes('"ok":false')))
    t.equal(await ended, 0)
  })

  const { ok, holdsOpen, mismatches } = verifyFile(s.file)
  t.same({ ok, holdsOpen, mismatches }, { ok: true, holdsOpen: 0, mismatches: [] })
})
