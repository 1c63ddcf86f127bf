/** Several serving threads form one server: limits are exact over all of them, and one that dies leaves nothing behind. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { openForReading } from '../../../../src/store/sqlite/connection/connection.ts'
import { verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import type { Script } from '../../../support/upstream/script.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { createExactPlans, shortTurn } from '../../../support/gateway/exact-plans.ts'
import { maxImmediateMs, createTemporaryFolder, testConfig, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { writeTestConfig, startServerProcess } from '../../../support/processes/server-process.ts'

const request = shortTurn
/** The upstream fails at it. */
const failingPrompt = 'a null schema'
const plans = createExactPlans(10)

/** A plugin that names the serving thread, and ends or stalls it on request. */
const plugin = `{
  name: 'worker-test',
  onRequest(x) {
    x.headers['x-worker'] = String(process.getBuiltinModule('node:worker_threads').threadId)
    if (x.inbound.headers['x-die'] !== undefined) setImmediate(() => { throw new Error('a fault of a plugin') })
    if (x.inbound.headers['x-stall'] !== undefined) for (;;);
  },
}`

async function startWorkers(t: Test) {
  const upstream = await startFakeUpstream({ maxCalls: 10_000 })
  t.teardown(() => upstream.close())
  let script: Script | Promise<Script> | undefined
  upstream.script(({ rawBody }) => (rawBody.includes(failingPrompt) ? { status: 500 } : script))
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'gateway.db')
  const server = await startServerProcess(t, {
    WORKERS: '2',
    DATA_DIR: folder,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    METRICS_TOKEN: 'scrape-me',
    GATEWAY_CONFIG: writeTestConfig(
      folder,
      `{ ...base, limits: { addressRpm: 1_000_000 }, timeouts: { drainNoticeMs: 200 }, plugins: [...base.plugins, ${plugin}],
        plans: { ...base.plans, ...${JSON.stringify(plans)} }, defaultPlan: 'ample' }`,
    ),
  })
  const operate = createOperatorCli(t, folder, { plans, defaultPlan: 'ample' })
  const { url } = server
  return {
    server,
    url,
    file,
    folder,
    /** How the upstream answers from now on. */
    setScript: (as: Script | Promise<Script> | undefined) => void (script = as),
    async createMember(as: keyof typeof plans): Promise<string> {
      const email = `${as}@example.com`
      await operate('account', 'create', '--email', email, '--plan', as)
      const made = await operate('key', 'create', '--account', email, '--name', 'test')
      return /svc_live_\w+/.exec(made.stdout)?.[0] ?? ''
    },
    /** Opens a new connection each time, so that any worker may accept it. */
    chat: (token: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close', ...headers },
        body: JSON.stringify({ ...request, ...body }),
      }),
    /** The statuses of so many turns at once. None of those that are admitted ends before so many were refused. */
    async countAdmitted(token: string, { of, refused }: { readonly of: number; readonly refused: number }) {
      const { promise, resolve } = Promise.withResolvers<Script>()
      script = promise
      let refusedCount = 0
      const answers = repeat(of, async () => {
        const answer = await this.chat(token)
        if (answer.status !== 200) refusedCount += 1
        return answer
      })
      await waitUntil(() => refusedCount >= refused, 'the refusals')
      resolve({ tokens: 1 })
      const counts = await countStatuses(answers)
      script = undefined
      return counts
    },
    models: (token: string) => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } }),
    async readMetric(name: string, label = ''): Promise<number> {
      const text = await (await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })).text()
      const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      return lines.filter((line) => line.includes(label)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    countOpenHolds(): number {
      return this.countTurns('held')
    },
    countTurns(state: string): number {
      const db = openForReading(file, 1_000)
      try {
        return Number(db.prepare('select count(*) from turn where state = ?').pluck().get(state))
      } finally {
        db.close()
      }
    },
  }
}

async function countStatuses(answers: readonly Promise<Response>[]): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {}
  for (const answer of answers) {
    const { status } = await answer
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

const repeat = <Item>(count: number, make: () => Item): Item[] => Array.from({ length: count }, make)

t.test('two workers serve as one server', async (t) => {
  const s = await startWorkers(t)
  t.match(s.server.output(), '2 workers serve')
  const ample = await s.createMember('ample')

  await t.test('both serve, and one metrics page has the work of both', async (t) => {
    const answers = await Promise.all(repeat(40, () => s.chat(ample)))
    await Promise.all(answers.map((answer) => answer.text()))
    t.equal(new Set(answers.map(({ headers }) => headers.get('x-worker'))).size, 2)
    await waitUntil(async () => (await s.readMetric('svc_turns_total')) === 40, 'all turns to be counted', 50)
    t.equal(await s.readMetric('svc_ledger_holds_open'), 0)
    t.equal(await s.readMetric('svc_workers'), 2)
    t.equal((await fetch(`${s.url}/readyz`)).status, 200)
    await waitUntil(
      () => [1, 2].every((worker) => s.server.log().includes(`"worker":${worker},"requestId"`)),
      'the lines of both',
    )
    t.ok(
      s.server
        .log()
        .trim()
        .split('\n')
        .every((line) => JSON.parse(line)),
      'in one log, whole lines',
    )
  })

  await t.test('admit twenty of two hundred concurrent turns on quota for twenty', async (t) => {
    const token = await s.createMember('twenty')
    t.same(await s.countAdmitted(token, { of: 200, refused: 180 }), { 200: 20, 429: 180 })
  })

  await t.test('admit ten requests a minute where ten are allowed', async (t) => {
    const token = await s.createMember('slow')
    const from = performance.now()
    const counts = await countStatuses(repeat(60, () => s.models(token)))
    // One slot returns every six seconds; a slow machine may see it.
    const back = Math.floor((performance.now() - from) / 6_000)
    t.ok((counts[200] ?? 0) >= 10 && (counts[200] ?? 0) <= 10 + back, JSON.stringify(counts))
  })

  await t.test('run five concurrent turns where five are allowed', async (t) => {
    const token = await s.createMember('narrow')
    t.same(await s.countAdmitted(token, { of: 60, refused: 55 }), { 200: 5, 429: 55 })
    t.equal((await s.chat(token)).status, 200, 'and then again')
  })

  await t.test('refuse a key on all workers as soon as one revokes it', async (t) => {
    const browser = new WebsiteClient({ url: s.url, config: testConfig(t, { store: { dataDir: s.folder } }) })
    await browser.signIn('revoking@example.com')
    const { id, token } = (await browser.post('auth/api-keys', { name: 'soon gone' })).body as { id: string; token: string }
    // Until both have it cached.
    const seen = new Set<string | null>()
    while (seen.size < 2) {
      const answer = await s.chat(token)
      await answer.text()
      seen.add(answer.headers.get('x-worker'))
    }
    t.equal((await browser.delete(`auth/api-keys/${id}`)).status, 200)
    const from = performance.now()
    await waitUntil(async () => (await countStatuses(repeat(8, () => s.models(token))))[401] === 8, 'all to refuse it')
    t.ok(performance.now() - from < maxImmediateMs, `${Math.round(performance.now() - from)} ms`)
  })

  await t.test('replace a dead worker and release its holds at once', async (t) => {
    s.setScript({ tokens: 40, betweenMs: 250 })
    const streams = await Promise.all(repeat(16, () => s.chat(ample, { stream: true, max_tokens: 64 })))
    t.equal(s.countOpenHolds(), 16)
    const dying = await s.chat(ample, { stream: true, max_tokens: 64 }, { 'x-die': '1' }).catch(() => undefined)
    await dying?.text().catch(() => undefined)
    const from = performance.now()
    const whole = Promise.all(
      streams.map(async (stream) => {
        const text = await stream.text().catch(() => '')
        return { worker: stream.headers.get('x-worker'), isWhole: text.endsWith('[DONE]\n\n') && !text.includes('"ok":false') }
      }),
    )
    await waitUntil(() => s.server.log().includes('holds of an ended worker were released'), 'the holds to be given back')
    t.ok(performance.now() - from < maxImmediateMs)
    const held = s.countOpenHolds()
    const endings = await whole
    const survived = endings.filter(({ isWhole }) => isWhole)
    t.equal(held, survived.length, 'exactly those of the one that died')
    t.ok(survived.length > 0 && survived.length < 16, `${survived.length} of 16 went on`)
    t.equal(new Set(survived.map(({ worker }) => worker)).size, 1)
    s.setScript(undefined)
    await waitUntil(async () => (await s.readMetric('svc_workers')) === 2, 'another one to serve', 50)
    t.equal(await s.readMetric('svc_worker_deaths_total'), 1)
    t.ok((await s.readMetric('svc_turns_total')) >= 40, 'what it had counted stays')
    const expired = s.countTurns('expired')
    t.ok(expired > 0, `${expired} holds were released`)
    t.equal(await s.readMetric('svc_turns_total', 'outcome="expired"'), expired)
    t.equal(await s.readMetric('svc_refunds_total', 'code="expired"'), expired)
    const workers = new Set((await Promise.all(repeat(40, () => s.chat(ample)))).map(({ headers }) => headers.get('x-worker')))
    t.equal(workers.size, 2, 'both serve again')
    t.match(s.server.log(), /"msg":"a worker died and is replaced"/)
  })

  await t.test('replace a stalled worker, which is logged', async (t) => {
    const deaths = await s.readMetric('svc_worker_deaths_total')
    const stalled = s.chat(ample, {}, { 'x-stall': '1' }).catch(() => 'disconnected')
    await waitUntil(() => s.server.log().includes('a worker does not respond and is replaced'), 'the worker to be replaced', 50)
    t.equal(await stalled, 'disconnected')
    await waitUntil(async () => (await s.readMetric('svc_workers')) === 2, 'another one to serve', 50)
    t.equal(await s.readMetric('svc_worker_deaths_total'), deaths + 1)
    const workers = new Set((await Promise.all(repeat(40, () => s.chat(ample)))).map(({ headers }) => headers.get('x-worker')))
    t.equal(workers.size, 2, 'both serve again')
  })

  await t.test('refuse a second server on the same port, although workers share theirs', async (t) => {
    const { port } = new URL(s.url)
    const second = await startServerProcess(t, { WORKERS: '2', DATA_DIR: createTemporaryFolder(t), PORT: port })
    t.equal(second.child.exitCode, 1)
    t.match(second.log(), `127.0.0.1:${port} is in use by another program. Stop it, or choose another PORT.`)
  })

  await t.test('lose no request at shutdown', async (t) => {
    s.setScript({ tokens: 20, betweenMs: 50 })
    const streams = await Promise.all(repeat(24, () => s.chat(ample, { stream: true, max_tokens: 64 })))
    const ended = s.server.terminate('SIGTERM')
    const texts = await Promise.all(streams.map((stream) => stream.text()))
    t.ok(texts.every((text) => text.endsWith('[DONE]\n\n') && !text.includes('"ok":false')))
    t.equal(await ended, 0)
  })

  const { ok, holdsOpen, mismatches } = verifyDatabaseFile(s.file)
  t.same({ ok, holdsOpen, mismatches }, { ok: true, holdsOpen: 0, mismatches: [] })
})

t.test('the failing turns of two members refuse no turn of another, on any thread', async (t) => {
  const gateway = await startWorkers(t)
  const [other, ...failing] = [
    await gateway.createMember('ample'),
    await gateway.createMember('narrow'),
    await gateway.createMember('slow'),
  ] as const
  const failure = { messages: [{ role: 'user', content: failingPrompt }] }
  const statuses: number[] = []
  for (let round = 0; round < 15; round++) {
    for (const token of failing) for (let nth = 0; nth < 3; nth++) t.not((await gateway.chat(token, failure)).status, 200)
    const response = await gateway.chat(other)
    await response.text()
    statuses.push(response.status)
  }
  t.same(new Set(statuses), new Set([200]))
})
