/** The endings of an exchange and the rules of the chain. */
import t from 'tap'
import { GatewayError } from '../../../../src/errors.ts'
import type { CallResult, Outcome, Usage } from '../../../../src/exchange/exchange.ts'
import { ClientDisconnected } from '../../../../src/exchange/exchange.ts'
import { definePlugin } from '../../../../src/exchange/plugins/plugin.ts'
import type { AnyPlugin } from '../../../../src/exchange/plugins/plugin.ts'
import { PluginChain } from '../../../../src/exchange/plugins/plugin-chain.ts'
import type { TurnHandler } from '../../../../src/exchange/plugins/plugin-chain.ts'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { classifyFailure } from '../../../../src/upstream/errors/classify-failure.ts'
import { createTestExchange, createTestServices, noon, RecordingClient } from '../../../support/gateway/test-exchange.ts'

const usage: Usage = { inputTokens: 8, outputTokens: 4, estimated: false }
const reply = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"answer":true}' }
const whole: TurnHandler = async () => ({ usage, final: { kind: 'reply', reply } })

/** A minimal ledger: what was held, and how each hold ended. */
function books(): { plugins: AnyPlugin[]; entries: string[] } {
  const entries: string[] = []
  const reserve = definePlugin({
    name: 'reserve',
    gives: ['hold'],
    async onRequest(x) {
      entries.push('hold')
      x.hold = { id: 1, credits: 100, inputEstimate: 8, outputCap: 100 }
    },
    async onSettle(_, outcome) {
      await Promise.resolve()
      if (outcome.kind !== 'failed') entries.push(`settle ${outcome.usage.inputTokens}+${outcome.usage.outputTokens}`)
    },
  })
  const envelope = definePlugin({
    name: 'envelope',
    onFailure: (_, failure) => (failure instanceof UpstreamFailure ? classifyFailure(failure.facts) : undefined),
  })
  const refund = definePlugin({
    name: 'refund',
    needs: ['hold'],
    async onSettle(x, outcome) {
      if (outcome.kind !== 'failed') return
      await Promise.resolve()
      entries.push('refund')
      x.debug.quotaRefunded = true
    },
  })
  return { plugins: [reserve, envelope, refund], entries }
}

interface Ran {
  readonly client: RecordingClient
  readonly entries: string[]
  readonly outcome: Outcome
  /** The entries at the moment at which the client got its final frames. */
  readonly seen: string[]
  readonly remembered: ReturnType<typeof createTestServices>['recorded']
}

async function run(call: TurnHandler, before: readonly AnyPlugin[] = [], after: readonly AnyPlugin[] = []): Promise<Ran> {
  const { plugins, entries } = books()
  const { services, recorded } = createTestServices()
  const client = new RecordingClient()
  let seen: string[] = []
  client.onCall = () => {
    seen = [...entries]
  }
  const outcome = await new PluginChain([...before, ...plugins, ...after]).run(createTestExchange(), call, client, services)
  return { client, entries, outcome, seen, remembered: recorded }
}

const never: TurnHandler = async () => {
  throw new Error('nothing may be called')
}

t.test('1: sends the envelope if a plugin rejects before the hold, and holds nothing', async (t) => {
  for (const [code, status] of [
    ['sign_in_required', 401],
    ['rate_limited', 429],
    ['official_models_only', 400],
    ['quota_exceeded', 402],
  ] as const) {
    const refuse = definePlugin({
      name: 'refuse',
      onRequest() {
        throw new GatewayError(code)
      },
    })
    const { client, entries } = await run(never, [refuse])
    t.equal(client.status, status)
    t.match(client.json, { ok: false, code, debug: { quotaRefunded: undefined } })
    t.same(entries, [], `${code} holds nothing`)
  }
})

t.test('2: sends 503 and refunds without a configured upstream', async (t) => {
  const { client, seen } = await run(async () => {
    throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no key' })
  })
  t.equal(client.status, 503)
  t.match(client.json, { code: 'upstream_not_configured', stage: 'upstream', debug: { quotaRefunded: true } })
  t.same(seen, ['hold', 'refund'], 'durable before it was sent')
})

t.test('3: maps whatever the upstream does wrong, reports its raw status, and refunds', async (t) => {
  const status = (status: number) => ({ kind: 'status', status, contentType: '', retryAfter: null, body: '' }) as const
  for (const [facts, expected, code, raw] of [
    [status(401), 503, 'upstream_not_configured', 401],
    [status(429), 429, 'upstream_rate_limited', 429],
    [status(500), 502, 'upstream_error', 500],
    [{ kind: 'network', code: 'ECONNREFUSED' }, 502, 'upstream_error', undefined],
    [{ kind: 'timeout', phase: 'idle' }, 502, 'upstream_error', undefined],
    [{ kind: 'in_band', status: 200, reason: 'not_json' }, 502, 'upstream_error', 200],
  ] as const) {
    const { client, seen } = await run(async () => {
      throw new UpstreamFailure(facts)
    })
    t.equal(client.status, expected)
    t.match(client.json, { code, debug: { quotaRefunded: true } })
    t.equal((client.json['debug'] as Record<string, unknown>)['upstreamStatus'], raw)
    t.same(seen, ['hold', 'refund'])
  }
})

t.test('4: settles a whole response, then sends it', async (t) => {
  const { client, seen, outcome } = await run(whole)
  t.equal(client.status, 200)
  t.equal(client.body, reply.body)
  t.match(client.headers, { 'x-request-id': 'mbr_01TEST', 'x-svc-request-id': 'mbr_01TEST' })
  t.same(seen, ['hold', 'settle 8+4'])
  t.same(outcome, { kind: 'completed', usage })
})

t.test('5: settles a stream before [DONE]', async (t) => {
  const { client, seen, entries } = await run(async (_, { client }) => {
    client.writeHead(200, {})
    client.write('data: {"a":1}\n\n')
    return { usage, final: { kind: 'trailer', frames: 'data: [DONE]\n\n' } }
  })
  t.equal(client.body, 'data: {"a":1}\n\ndata: [DONE]\n\n')
  t.same(client.calls, ['open', 'write', 'end'])
  t.same(seen, entries, 'nothing happened after [DONE]')
  t.same(seen, ['hold', 'settle 8+4'])
})

t.test('6: ends an interrupted stream with the envelope and [DONE], and refunds', async (t) => {
  const { client, seen, outcome } = await run(async (_, { client }) => {
    client.writeHead(200, {})
    client.write('data: {"a":1}\n\n')
    throw new UpstreamFailure({ kind: 'network', code: 'ECONNRESET' })
  })
  const [first, last, done] = client.body.split('\n\n')
  t.equal(first, 'data: {"a":1}')
  const envelope = JSON.parse(String(last).slice(6)) as Record<string, unknown>
  t.match(envelope, { ok: false, code: 'upstream_error', requestId: 'mbr_01TEST', debug: { quotaRefunded: true } })
  t.notOk('choices' in envelope, 'no reader can take it for a chunk')
  t.equal(done, 'data: [DONE]')
  t.same(seen, ['hold', 'refund'])
  t.match(outcome, { kind: 'failed', streamed: true })
})

t.test('7: charges a client that disconnects for the output so far', async (t) => {
  const { client, entries, outcome } = await run(async (_, callContext) => {
    callContext.client.writeHead(200, {})
    client0(callContext.client).disconnect()
    throw new ClientDisconnected({ inputTokens: 8, outputTokens: 2, estimated: true })
  })
  t.same(entries, ['hold', 'settle 8+2'])
  t.equal(outcome.kind, 'aborted')
  t.same(client.calls, ['open'], 'it gets nothing more')
})

t.test('8: sends a 500 without details and refunds when a plugin has a bug', async (t) => {
  for (const call of [whole, never]) {
    const broken = definePlugin({
      name: 'broken',
      onRequest() {
        throw new TypeError('secret detail sk-12345')
      },
    })
    const { client, seen } = await run(call, [], [broken])
    t.equal(client.status, 500)
    t.match(client.json, { code: 'internal_error', debug: { quotaRefunded: true } })
    t.notMatch(client.body, /secret|sk-12345|TypeError/)
    t.same(seen, ['hold', 'refund'])
  }
})

t.test('9: runs the other settle hooks, and changes nothing for the client, when one fails', async (t) => {
  const broken = definePlugin({
    name: 'broken',
    onSettle() {
      throw new Error('disk full')
    },
  })
  const late = definePlugin({ name: 'late', onSettle: async () => Promise.reject(new Error('disk still full')) })
  const { client, entries, remembered } = await run(whole, [broken, late])
  t.equal(client.body, reply.body)
  t.same(entries, ['hold', 'settle 8+4'])
  t.match(remembered.hookFailures, [
    { plugin: 'broken', hook: 'onSettle' },
    { plugin: 'late', hook: 'onSettle' },
  ])
})

t.test('11: lets a plugin answer; calls nothing and settles the turn at zero', async (t) => {
  const cache = definePlugin({ name: 'cache', onRequest: () => ({ status: 200, headers: {}, body: 'cached' }) })
  const { client, entries } = await run(never, [], [cache])
  t.equal(client.body, 'cached')
  t.same(entries, ['hold', 'settle 0+0'])
})

t.test('12: ends a stream at shutdown like any failure', async (t) => {
  const { client, entries } = await run(async (_, { client }) => {
    client.writeHead(200, {})
    throw new GatewayError('internal_error', { message: { en: 'The service is restarting.', zh: '服务正在重启。' } })
  })
  t.match(client.body, /^data: \{"ok":false.*restarting.*\}\n\ndata: \[DONE\]\n\n$/)
  t.same(entries, ['hold', 'refund'])
})

t.test('rule 1: runs every hook in list order, and stops at a rejection', async (t) => {
  const order: string[] = []
  const tell = (name: string): AnyPlugin => ({
    name,
    onRequest: () => void order.push(`${name} request`),
    onResponse: () => void order.push(`${name} response`),
    onEvent: () => void order.push(`${name} event`),
    onFailure: () => void order.push(`${name} failure`),
    onSettle: () => void order.push(`${name} settle`),
  })
  const { services } = createTestServices()
  const failing: TurnHandler = async (_, callContext) => {
    await callContext.onUpstreamHeaders({ status: 200, stream: true })
    callContext.onEvent?.('{}')
    throw new GatewayError('upstream_error')
  }
  await new PluginChain([tell('a'), tell('b')]).run(createTestExchange(), failing, new RecordingClient(), services)
  const each = ['request', 'response', 'event', 'failure', 'settle'].flatMap((hook) => [`a ${hook}`, `b ${hook}`])
  t.same(order, each)

  order.length = 0
  const refuse: AnyPlugin = {
    name: 'refuse',
    onRequest() {
      throw new GatewayError('invalid_request')
    },
  }
  await new PluginChain([tell('a'), refuse, tell('b')]).run(createTestExchange(), never, new RecordingClient(), services)
  t.same(order, ['a request', 'a failure', 'b failure', 'a settle', 'b settle'])
})

t.test('rule 2: runs a later hook only if its needs and gives are filled', async (t) => {
  const ran: string[] = []
  const giver = definePlugin({ name: 'giver', gives: ['admission'], onSettle: () => void ran.push('giver') })
  const needer = definePlugin({
    name: 'needer',
    needs: ['hold'],
    onSettle: () => void ran.push('needer'),
    onFailure: () => void ran.push('failure'),
  })
  const { services } = createTestServices()
  await new PluginChain([giver, needer]).run(createTestExchange(), never, new RecordingClient(), services)
  t.same(ran, [])
})

t.test('rule 2: skips plugins for turns in an unmetered request', async (t) => {
  const ran: string[] = []
  const forTurns = definePlugin({ name: 'turns', on: 'turn', onRequest: () => void ran.push('turn') })
  const forAll = definePlugin({ name: 'all', onRequest: () => void ran.push('all') })
  const { services } = createTestServices()
  await new PluginChain([forTurns, forAll]).run(createTestExchange({ kind: 'unmetered' }), whole, new RecordingClient(), services)
  t.same(ran, ['all'])
})

t.test('rule 3: passes a failure along the list, and does not lose it when a failure hook has a bug', async (t) => {
  const first = definePlugin({ name: 'first', onFailure: () => new GatewayError('upstream_rate_limited') })
  const buggy = definePlugin({
    name: 'buggy',
    onFailure() {
      throw new Error('bug')
    },
  })
  const seen: unknown[] = []
  const last = definePlugin({ name: 'last', onFailure: (_, failure) => void seen.push(failure) })
  const { client, remembered } = await run(never, [first, buggy, last])
  t.match(seen, [{ code: 'upstream_rate_limited' }])
  t.equal(client.status, 429)
  t.match(remembered.hookFailures, [{ plugin: 'buggy', hook: 'onFailure' }])
})

t.test('rule 3: ignores a failure hook’s result that is no failure', async (t) => {
  const first = definePlugin({ name: 'first', onFailure: () => new GatewayError('upstream_rate_limited') })
  const tells = { name: 'tells', onFailure: async () => void (await Promise.reject(new Error('ignored'))) }
  const says = { name: 'says', onFailure: () => 'sorry' }
  const { client, remembered } = await run(never, [first, tells as unknown as AnyPlugin, says as unknown as AnyPlugin])
  t.equal(client.status, 429)
  t.match(remembered.hookFailures, [
    { plugin: 'tells', hook: 'onFailure', error: { message: /not a promise/ } },
    { plugin: 'says', hook: 'onFailure', error: { message: /not string/ } },
  ])
})

t.test('passes an upstream’s failure unchanged until a plugin has classified it', async (t) => {
  const facts = { kind: 'timeout', phase: 'idle' } as const
  const failing: TurnHandler = async () => {
    throw new UpstreamFailure(facts, 'host')
  }
  const seen: unknown[] = []
  const look = (name: string) => definePlugin({ name, onFailure: (_, failure) => void seen.push(failure) })
  await run(failing, [look('before')], [look('after')])
  t.match(seen, [new UpstreamFailure(facts, 'host'), { name: 'GatewayError', code: classifyFailure(facts).code }])
})

t.test('rule 5: works with an empty list, and maps unclassified errors to internal_error', async (t) => {
  const { services, recorded } = createTestServices()
  const good = new RecordingClient()
  await new PluginChain([]).run(createTestExchange(), whole, good, services)
  t.equal(good.body, reply.body)
  for (const thrown of [new UpstreamFailure({ kind: 'timeout', phase: 'idle' }), 'a string', undefined, null]) {
    const bad = new RecordingClient()
    await new PluginChain([]).run(
      createTestExchange(),
      async () => {
        throw thrown
      },
      bad,
      services,
    )
    t.equal(bad.status, 500)
    t.equal(bad.json['code'], 'internal_error')
  }
  t.equal(recorded.outcomes.length, 5, 'records each exchange once')
})

t.test('rule 6: does not await hooks that return no promise', async (t) => {
  const steps: string[] = []
  const quick = (name: string): AnyPlugin => ({ name, onRequest: () => void steps.push(name) })
  const { services } = createTestServices()
  const running = new PluginChain([quick('a'), quick('b'), quick('c')]).run(
    createTestExchange(),
    async () => {
      steps.push('call')
      return { usage, final: { kind: 'reply', reply } } satisfies CallResult
    },
    new RecordingClient(),
    services,
  )
  t.same(steps, ['a', 'b', 'c'], 'all of them ran before anything was awaited')
  await running
  t.equal(steps.at(-1), 'call')
})

t.test('no listener, no event text', async (t) => {
  const { services } = createTestServices()
  let listens: unknown
  const look: TurnHandler = async (_, callContext) => {
    listens = callContext.onEvent
    return { usage, final: { kind: 'reply', reply } }
  }
  await new PluginChain([]).run(createTestExchange(), look, new RecordingClient(), services)
  t.equal(listens, null)
  await new PluginChain([{ name: 'ear', onEvent: () => undefined }]).run(
    createTestExchange(),
    look,
    new RecordingClient(),
    services,
  )
  t.type(listens, 'function')
})

t.test('sends an internal error for an invalid header', async (t) => {
  const { services, recorded } = createTestServices()
  const client = new RecordingClient()
  const strict = client.reply.bind(client)
  client.reply = (status, headers, body) => {
    if (Object.values(headers).some((value) => /[\r\n]/.test(value))) throw new TypeError('Invalid character in header content')
    strict(status, headers, body)
  }
  const bad = definePlugin({ name: 'bad', onRequest: (x) => void (x.headers['x-bad'] = 'a\r\nb') })
  await new PluginChain([bad]).run(createTestExchange(), whole, client, services)
  t.equal(client.status, 500)
  t.equal(client.json['code'], 'internal_error')
  t.equal(recorded.outcomes.length, 1)
})

function client0(client: unknown): RecordingClient {
  return client as RecordingClient
}

t.test('measures a turn’s time with the monotonic clock', async (t) => {
  const hours = 6 * 3_600_000
  for (const step of [hours, -hours]) {
    const time = { now: noon, ticks: 0 }
    const { services } = createTestServices({ clock: { now: () => time.now, monotonicMs: () => time.ticks } })
    const x = createTestExchange()
    const call: TurnHandler = async () => {
      time.now += step
      time.ticks += 41.7
      return { usage, final: { kind: 'reply', reply } }
    }
    await new PluginChain([]).run(x, call, new RecordingClient(), services)
    t.equal(x.debug.latencyMs, 42)
  }
})
