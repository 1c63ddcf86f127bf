/** A reload changes prices, products, upstreams, limits and certificates while turns run: none fails, and each has one price. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import type { GatewayConfig } from '../../../../src/config/config.ts'
import { describePlugins } from '../../../../src/server/reload/describe-plugins.ts'
import type { EvaluatedConfig } from '../../../../src/server/reload/merge-reloaded-config.ts'
import { openForReading } from '../../../../src/store/sqlite/connection/connection.ts'
import { compileCacheEnvironment } from '../../../runner/clean-command.ts'
import { createExactPlans, shortTurn } from '../../../support/gateway/exact-plans.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { checkoutRoot, startServerProcess, writeTestConfig } from '../../../support/processes/server-process.ts'
import { createSelfSignedCertificate } from '../../../support/servers/tls-certificate.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

type Changes = Partial<Pick<GatewayConfig, 'prices' | 'products' | 'upstreams' | 'limits' | 'plans' | 'site'>>

/** The test's configuration with changes, as the short-lived process returns it. */
function evaluate({ config }: TestGateway, changes: Changes): () => Promise<EvaluatedConfig> {
  const { plugins, ...values } = { ...config, ...changes }
  return async () => structuredClone({ values, plugins: describePlugins(plugins) })
}

/** The price of `svc-2.1`, with a different one for input and output at each step. */
function createPrices({ prices }: GatewayConfig, step: number): Pick<GatewayConfig, 'prices'> {
  return { prices: { ...prices, flagship: { ...prices.flagship, input: 1 + step, output: 2 + step } } }
}

interface PricedTurn {
  readonly state: string
  readonly input: number
  readonly output: number
  readonly credits: number
  readonly expected: number
}

/** What the database has of each turn, and what its tokens cost at the price that it has. */
function readTurns(file: string): readonly PricedTurn[] {
  const db = openForReading(file, 1_000)
  try {
    return db
      .prepare(
        `select state, price_input as input, price_output as output, credits,
          (input_tokens * price_input + output_tokens * price_output) * (100 - discount_percent) as nano from turn order by id`,
      )
      .all()
      .map((row) => {
        const { nano, ...turn } = row as Omit<PricedTurn, 'expected'> & { nano: number }
        return { ...turn, expected: Math.ceil(nano / 100_000) }
      })
  } finally {
    db.close()
  }
}

t.test('a turn that began before a reload ends at the price with which it began', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 20, betweenMs: 20 }))
  const running = await g.chat(token, { stream: true, max_tokens: 64 })
  const [before] = readTurns(join(g.config.store.dataDir, 'gateway.db'))
  t.same(await g.gateway.reload(evaluate(g, createPrices(g.config, 6))), { ok: true, changed: ['prices'], needsRestart: [] })
  t.equal(g.gateway.threads.configurations, 2)
  const after = await g.chat(token, { max_tokens: 64 })
  t.equal(after.status, 200)
  await after.text()
  t.match(await running.text(), /\[DONE\]/)
  await g.waitUntilSettled()
  const turns = readTurns(join(g.config.store.dataDir, 'gateway.db'))
  t.same(
    turns.map(({ state, input, output }) => [state, input, output]),
    [
      ['settled', before?.input, before?.output],
      ['settled', 7_000, 8_000],
    ],
  )
  for (const { credits, expected } of turns) t.equal(credits, expected)
  await waitUntil(() => g.gateway.threads.configurations === 1, 'the earlier configuration to be released')
  const models = (await (await fetch(`${g.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).json()) as object
  t.match(JSON.stringify(models), '"input":7', 'members see the new price')
})

t.test('100 reloads while turns run fail none, and leave memory as it was', async (t) => {
  const g = await startGateway(t, { limits: { addressRpm: 1_000_000 }, plans: createExactPlans(1_000_000), defaultPlan: 'ample' })
  const { token } = await g.createMember('ample')
  const statuses: number[] = []
  const reloading = new AbortController()
  const callers = Array.from({ length: 8 }, async (_, caller) => {
    while (!reloading.signal.aborted) {
      const answer = await g.chat(token, { ...shortTurn, stream: caller % 2 === 0 })
      const text = await answer.text()
      statuses.push(caller % 2 === 0 && !text.includes('[DONE]') ? 0 : answer.status)
    }
  })
  const heapAfter: number[] = []
  for (let step = 1; step <= 100; step++) {
    // Each other time an upstream's settings change too, so that its connections are replaced.
    const main = { ...g.config.upstreams['main']!, maxPending: step % 4 < 2 ? 1_000 : 900 }
    const done = statuses.length
    const report = await g.gateway.reload(evaluate(g, { ...createPrices(g.config, step % 2), upstreams: { main } }))
    t.ok(report.ok)
    await waitUntil(() => statuses.length > done, 'turns under this configuration')
    if (step % 25 !== 0) continue
    await waitUntil(() => g.gateway.threads.configurations <= 2, 'earlier configurations to be released')
    collectGarbage()
    heapAfter.push(process.memoryUsage().heapUsed)
  }
  reloading.abort()
  await Promise.all(callers)
  await g.waitUntilSettled()
  t.same([...new Set(statuses)], [200])
  const turns = readTurns(join(g.config.store.dataDir, 'gateway.db'))
  t.equal(turns.length, statuses.length)
  const prices = new Set(turns.map(({ input, output }) => `${input}/${output}`))
  prices.delete('435/870')
  t.same([...prices].toSorted(), ['1000/2000', '2000/3000'], 'each turn has one of the two prices, whole')
  t.same(
    turns.filter(({ state, credits, expected }) => state !== 'settled' || credits !== expected),
    [],
  )
  await waitUntil(() => g.gateway.threads.configurations === 1, 'all earlier configurations to be released')
  const [first = 0, , , last = 0] = heapAfter
  t.comment(`heap after 25, 50, 75 and 100 reloads: ${heapAfter.join(', ')}; turns: ${turns.length}`)
  t.ok(last - first < 6_000_000, 'less than 80 KB for each reload, and for the turns beside it')
})

t.test('a refused configuration changes nothing', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const { 'svc-2.1': _gone, ...products } = g.config.products
  const broken = { ...createPrices(g.config, 6), upstreams: {}, products }
  const report = await g.gateway.reload(evaluate(g, broken))
  t.match(report, { ok: false, faults: [/there is no upstream 'main'/] })
  t.match(g.log.join(''), 'was not reloaded')
  await (await g.chat(token)).text()
  await g.waitUntilSettled()
  t.equal(readTurns(join(g.config.store.dataDir, 'gateway.db'))[0]?.input, 435)
  t.equal(g.gateway.threads.configurations, 1)
})

t.test('a product that cannot be served is reported once, and not again at each reload', async (t) => {
  const g = await startGateway(t)
  const countReports = (id: string): number => g.log.filter((line) => line.includes(`'${id}' is not sold`)).length
  const { 'svc-img': picture } = g.config.products
  if (picture === undefined) throw new Error('there is no product svc-img')
  const targets = picture.targets.map((target) => ({ ...target, model: null }))
  const without = { ...g.config.products, 'svc-img': { ...picture, targets } }
  for (const products of [without, without, { ...without, other: { ...picture, targets } }])
    t.ok((await g.gateway.reload(evaluate(g, { products }))).ok)
  t.equal(countReports('svc-img'), 1)
  t.equal(countReports('other'), 1)
})

t.test('reloads that are requested during a reload share the next one', async (t) => {
  const g = await startGateway(t)
  const gate = Promise.withResolvers<void>()
  const first = g.gateway.reload(async () => {
    await gate.promise
    return evaluate(g, createPrices(g.config, 1))()
  })
  let evaluations = 0
  const count = async (): Promise<EvaluatedConfig> => {
    evaluations++
    return evaluate(g, createPrices(g.config, 2))()
  }
  const others = [g.gateway.reload(count), g.gateway.reload(count), g.gateway.reload(count)]
  t.equal(evaluations, 0)
  gate.resolve()
  t.ok((await first).ok)
  for (const report of await Promise.all(others)) t.same(report, { ok: true, changed: ['prices'], needsRestart: [] })
  t.equal(evaluations, 1)
})

t.test('limits of requests and bodies are reloaded', async (t) => {
  const g = await startGateway(t, { limits: { chatBodyBytes: 1024, accountBodiesBytes: 1024, allBodiesBytes: 2048 } })
  const { token } = await g.createMember()
  const long = { messages: [{ role: 'user', content: 'word '.repeat(2_000) }], max_tokens: 16 }
  t.equal((await g.chat(token, long)).status, 413)
  const larger = { chatBodyBytes: 1_000_000, accountBodiesBytes: 1_000_000, allBodiesBytes: 2_000_000 }
  await g.gateway.reload(evaluate(g, { limits: { ...g.config.limits, ...larger } }))
  const answer = await g.chat(token, long)
  t.equal(answer.status, 200)
  await answer.text()
  await g.gateway.reload(evaluate(g, { limits: { ...g.config.limits, addressRpm: 1 } }))
  t.equal((await g.chat(token, long)).status, 429)
})

t.test('new connections get the certificate that the files have at a reload', async (t) => {
  const folder = createTemporaryFolder(t)
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const install = (): string => {
    const made = createSelfSignedCertificate(createTemporaryFolder(t))
    writeFileSync(cert, readFileSync(made.cert))
    writeFileSync(key, readFileSync(made.key))
    return readFileSync(made.cert, 'utf8')
  }
  install()
  const g = await startGateway(t, { listen: { tls: { cert, key } } })
  const readFingerprint = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = tls.connect({ port: Number(new URL(g.url).port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      })
      socket.on('error', reject)
    })
  const first = await readFingerprint()
  install()
  t.equal(await readFingerprint(), first)
  t.ok((await g.gateway.reload(evaluate(g, {}))).ok)
  const second = await readFingerprint()
  t.not(second, first)
  writeFileSync(key, 'half of a file')
  t.match(await g.gateway.reload(evaluate(g, {})), { ok: false, faults: [/no certificate and its key/] })
  t.equal(await readFingerprint(), second)
})

/** Ends the serving thread on request. */
const dyingPlugin = `{
  name: 'reload-test',
  onRequest(x) {
    if (x.inbound.headers['x-die'] !== undefined) setImmediate(() => { throw new Error('a fault of a plugin') })
  },
}`

// With one thread reloads are as in the tests above.
t.test('svc-gateway reload and SIGHUP read the file and its secrets again, for every thread', async (t) => {
  const upstream = await startFakeUpstream({ maxCalls: 10_000 })
  t.teardown(() => upstream.close())
  const keys: unknown[] = []
  upstream.script(({ headers }) => {
    keys.push(headers.authorization)
    return undefined
  })
  const folder = createTemporaryFolder(t)
  const keyFile = join(folder, 'upstream.key')
  const plans = createExactPlans(1_000_000)
  const write = (input: number, rest = ''): string =>
    writeTestConfig(
      folder,
      `{ ...base, prices: { ...base.prices, flagship: { input: ${input}, output: 2, discountPercent: 0 } },
        limits: { addressRpm: 1_000_000 }, plans: ${JSON.stringify(plans)}, defaultPlan: 'ample',
        plugins: [...base.plugins, ${dyingPlugin}]${rest} }`,
    )
  writeFileSync(keyFile, 'sk-first-key-0123\n')
  const env = {
    WORKERS: '2',
    DATA_DIR: folder,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    UPSTREAM_API_KEY_FILE: keyFile,
    METRICS_TOKEN: 'scrape-me',
    GATEWAY_CONFIG: write(1),
  }
  const server = await startServerProcess(t, env)
  const operate = createOperatorCli(t, folder, { plans, defaultPlan: 'ample' })
  await operate('account', 'create', '--email', 'ann@example.com')
  const { stdout } = await operate('key', 'create', '--account', 'ann@example.com', '--name', 'test')
  const token = /svc_live_\w+/.exec(stdout)?.[0] ?? ''
  const send = (headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close', ...headers },
      body: JSON.stringify(shortTurn),
    })
  const chat = async (): Promise<void> => {
    // New connections, so that every thread serves some.
    const answers = await Promise.all(Array.from({ length: 12 }, () => send()))
    for (const answer of answers) {
      t.equal(answer.status, 200)
      await answer.text()
    }
  }
  const readPrices = (): number[] => [...new Set(readTurns(join(folder, 'gateway.db')).map(({ input }) => input))]
  const reload = async (): Promise<{ code: number; stdout: string }> => {
    const command = [join(checkoutRoot, 'src/operator/main.ts'), 'reload']
    const code = `import('${command[0]}').then(({ main }) => main(['', '', 'reload']))`
    return promisify(execFile)(process.execPath, ['--eval', code], {
      env: { PATH: process.env['PATH'], ...compileCacheEnvironment, DATA_DIR: folder, GATEWAY_CONFIG: env.GATEWAY_CONFIG },
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
    )
  }
  const readMetrics = async (): Promise<string> =>
    (await fetch(`${server.url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })).text()
  const findReload = async (): Promise<unknown> => {
    const { findings } = JSON.parse((await operate('doctor', '--json')).stdout) as { findings: { what: string }[] }
    return findings.find(({ what }) => what === 'reload')
  }
  await chat()
  t.same(readPrices(), [1_000])
  t.notMatch(await readMetrics(), /^svc_config_reload_success_timestamp_seconds/m)
  t.match(await readMetrics(), /^svc_config_reload_successful 1$/m)
  t.equal(await findReload(), undefined)

  write(3, `, timeZone: 'Asia/Shanghai'`)
  writeFileSync(keyFile, 'sk-second-key-0123\n')
  const reloaded = await reload()
  t.equal(reloaded.code, 0)
  t.match(reloaded.stdout, 'Reloaded: upstreams, prices.')
  t.match(reloaded.stdout, 'As before until a restart: timeZone.')
  keys.length = 0
  await chat()
  t.same(readPrices(), [1_000, 3_000])
  t.same([...new Set(keys)], ['Bearer sk-second-key-0123'])

  t.match(await findReload(), { ok: true, detail: /^the last one, .* ago, was accepted$/ })
  const accepted = /^svc_config_reload_success_timestamp_seconds (\S+)$/m.exec(await readMetrics())?.[1]
  t.ok(Number(accepted) > 1.7e9, String(accepted))

  write(5, ', listne: {}')
  const refused = await reload()
  const metrics = await readMetrics()
  for (const line of [
    'svc_config_reloads_total{outcome="accepted"} 1',
    'svc_config_reloads_total{outcome="refused"} 1',
    'svc_config_reload_successful 0',
    `svc_config_reload_success_timestamp_seconds ${accepted}`,
  ])
    t.ok(metrics.split('\n').includes(line), line)
  t.match(await findReload(), {
    ok: false,
    detail: /^the last one, .* ago, was refused, .*unknown key 'listne'\. Correct it and run/,
  })
  t.equal(refused.code, 1)
  t.match(refused.stdout, "unknown key 'listne'")
  writeFileSync(env.GATEWAY_CONFIG, 'process.exit(0)\n')
  t.match(await reload(), { code: 1, stdout: /its process ended with 0/ })
  writeFileSync(env.GATEWAY_CONFIG, `throw new Error('no key')\n`)
  t.match(await reload(), { code: 1, stdout: /no key/ })
  t.match(await findReload(), { ok: false, detail: /no key\. Correct it and run/ })
  // Threads import the plugins of the file, so it must be one that can be evaluated.
  write(5, ', listne: {}')
  await chat()
  t.same(readPrices(), [1_000, 3_000])

  // Its replacement serves as the thread beside it does, whatever the file has now.
  await send({ 'x-die': '1' }).catch(() => undefined)
  const countWorkers = async (): Promise<string> => (await readMetrics()).replace(/[^]*^(svc_workers \d)$[^]*/m, '$1')
  await waitUntil(() => server.log().includes('a worker died and is replaced'), 'the thread to end')
  await waitUntil(async () => (await countWorkers()) === 'svc_workers 2', 'another one to serve', 50)
  await chat()
  t.same(readPrices(), [1_000, 3_000])

  write(7)
  server.child.kill('SIGHUP')
  await waitUntil(() => server.log().split('the configuration was reloaded').length === 3, 'the reload')
  t.match(await readMetrics(), /^svc_config_reload_successful 1$/m)
  t.match(await findReload(), { ok: true })
  await chat()
  t.same(readPrices(), [1_000, 3_000, 7_000])
  t.notMatch(server.log(), /sk-(?:first|second)-key/)
  t.equal(await server.terminate('SIGTERM'), 0)
  t.equal((await reload()).code, 1, 'no server can be reached')
})
