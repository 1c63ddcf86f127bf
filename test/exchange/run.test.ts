/** The endings of an exchange, and the rules of the runner. Each ending is a row of the table in the drawing of the exchange. */
import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import type { Answer, Outcome, Usage } from '../../src/exchange/exchange.ts'
import { ClientLeft } from '../../src/exchange/outcome.ts'
import { definePlugin } from '../../src/exchange/plugin.ts'
import type { AnyPlugin } from '../../src/exchange/plugin.ts'
import { Chain } from '../../src/exchange/run.ts'
import type { Call } from '../../src/exchange/run.ts'
import { UpstreamFailure } from '../../src/exchange/upstream-failure.ts'
import { classify } from '../../src/upstream/failure.ts'
import { anExchange, fewServices, noon, ScriptedClient } from '../support/exchange.ts'

const usage: Usage = { inputTokens: 8, outputTokens: 4, estimated: false }
const reply = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"answer":true}' }
const whole: Call = async () => ({ usage, last: { kind: 'reply', reply } })

/** The money of a chain, in as few words as can be: what was held, and how each hold ended. */
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
    onFailure: (_, failure) => (failure instanceof UpstreamFailure ? classify(failure.facts) : undefined),
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
  readonly client: ScriptedClient
  readonly entries: string[]
  readonly outcome: Outcome
  /** The entries as they stood when the client was told its last word. */
  readonly seen: string[]
  readonly remembered: ReturnType<typeof fewServices>['remembered']
}

async function run(call: Call, before: readonly AnyPlugin[] = [], after: readonly AnyPlugin[] = []): Promise<Ran> {
  const { plugins, entries } = books()
  const { services, remembered } = fewServices()
  const client = new ScriptedClient()
  let seen: string[] = []
  client.onWord = () => {
    seen = [...entries]
  }
  const outcome = await new Chain([...before, ...plugins, ...after]).run(anExchange(), call, client, services)
  return { client, entries, outcome, seen, remembered }
}

const never: Call = async () => {
  throw new Error('nothing may be called')
}

t.test('1: what a plugin rejects before the hold gets its envelope, and no hold was made', async (t) => {
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

t.test('2: no upstream configured is 503, and refunded', async (t) => {
  const { client, seen } = await run(async () => {
    throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no key' })
  })
  t.equal(client.status, 503)
  t.match(client.json, { code: 'upstream_not_configured', stage: 'upstream', debug: { quotaRefunded: true } })
  t.same(seen, ['hold', 'refund'], 'durable before it was said')
})

t.test('3: whatever the upstream does wrong is remapped, its raw status told, and refunded', async (t) => {
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

t.test('4: a whole answer is settled, then sent', async (t) => {
  const { client, seen, outcome } = await run(whole)
  t.equal(client.status, 200)
  t.equal(client.body, reply.body)
  t.match(client.headers, { 'x-request-id': 'mbr_01TEST', 'x-svc-request-id': 'mbr_01TEST' })
  t.same(seen, ['hold', 'settle 8+4'])
  t.same(outcome, { kind: 'completed', usage })
})

t.test('5: a stream is settled before its end mark', async (t) => {
  const { client, seen, entries } = await run(async (_, { client }) => {
    client.open(200, {})
    client.write('data: {"a":1}\n\n')
    return { usage, last: { kind: 'tail', frames: 'data: [DONE]\n\n' } }
  })
  t.equal(client.body, 'data: {"a":1}\n\ndata: [DONE]\n\n')
  t.same(client.said, ['open', 'write', 'end'])
  t.same(seen, entries, 'nothing happened after the end mark')
  t.same(seen, ['hold', 'settle 8+4'])
})

t.test('6: a stream that breaks ends with the envelope and the end mark, and is refunded', async (t) => {
  const { client, seen, outcome } = await run(async (_, { client }) => {
    client.open(200, {})
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

t.test('7: a client that leaves is charged for what was produced', async (t) => {
  const { client, entries, outcome } = await run(async (_, wire) => {
    wire.client.open(200, {})
    client0(wire.client).leave()
    throw new ClientLeft({ inputTokens: 8, outputTokens: 2, estimated: true })
  })
  t.same(entries, ['hold', 'settle 8+2'])
  t.equal(outcome.kind, 'aborted')
  t.same(client.said, ['open'], 'nothing more is said to it')
})

t.test('8: a bug in a plugin is a 500 without details, and refunded', async (t) => {
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

t.test('9: a settle hook that fails changes nothing for the client, and the others still run', async (t) => {
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
  t.match(remembered.hooksFailed, [
    { plugin: 'broken', hook: 'onSettle' },
    { plugin: 'late', hook: 'onSettle' },
  ])
})

t.test('11: a plugin may answer itself; nothing is called, and the turn settles at zero', async (t) => {
  const cache = definePlugin({ name: 'cache', onRequest: () => ({ status: 200, headers: {}, body: 'cached' }) })
  const { client, entries } = await run(never, [], [cache])
  t.equal(client.body, 'cached')
  t.same(entries, ['hold', 'settle 0+0'])
})

t.test('12: what ends a stream at shutdown ends it like any failure', async (t) => {
  const { client, entries } = await run(async (_, { client }) => {
    client.open(200, {})
    throw new GatewayError('internal_error', { message: { en: 'The service is restarting.', zh: '服务正在重启。' } })
  })
  t.match(client.body, /^data: \{"ok":false.*restarting.*\}\n\ndata: \[DONE\]\n\n$/)
  t.same(entries, ['hold', 'refund'])
})

t.test('rule 1: hooks run in list order, in every hook, and a rejection stops the list', async (t) => {
  const order: string[] = []
  const tell = (name: string): AnyPlugin => ({
    name,
    onRequest: () => void order.push(`${name} request`),
    onResponse: () => void order.push(`${name} response`),
    onEvent: () => void order.push(`${name} event`),
    onFailure: () => void order.push(`${name} failure`),
    onSettle: () => void order.push(`${name} settle`),
  })
  const { services } = fewServices()
  const failing: Call = async (_, wire) => {
    await wire.accepted({ status: 200, stream: true })
    wire.event?.('{}')
    throw new GatewayError('upstream_error')
  }
  await new Chain([tell('a'), tell('b')]).run(anExchange(), failing, new ScriptedClient(), services)
  const each = ['request', 'response', 'event', 'failure', 'settle'].flatMap((hook) => [`a ${hook}`, `b ${hook}`])
  t.same(order, each)

  order.length = 0
  const refuse: AnyPlugin = {
    name: 'refuse',
    onRequest() {
      throw new GatewayError('invalid_request')
    },
  }
  await new Chain([tell('a'), refuse, tell('b')]).run(anExchange(), never, new ScriptedClient(), services)
  t.same(order, ['a request', 'a failure', 'b failure', 'a settle', 'b settle'])
})

t.test('rule 2: a later hook runs only where its needs and gives are filled', async (t) => {
  const ran: string[] = []
  const giver = definePlugin({ name: 'giver', gives: ['admission'], onSettle: () => void ran.push('giver') })
  const needer = definePlugin({
    name: 'needer',
    needs: ['hold'],
    onSettle: () => void ran.push('needer'),
    onFailure: () => void ran.push('failure'),
  })
  const { services } = fewServices()
  await new Chain([giver, needer]).run(anExchange(), never, new ScriptedClient(), services)
  t.same(ran, [])
})

t.test('rule 2: a query skips what is for turns', async (t) => {
  const ran: string[] = []
  const forTurns = definePlugin({ name: 'turns', on: 'turn', onRequest: () => void ran.push('turn') })
  const forAll = definePlugin({ name: 'all', onRequest: () => void ran.push('all') })
  const { services } = fewServices()
  await new Chain([forTurns, forAll]).run(anExchange({ kind: 'query' }), whole, new ScriptedClient(), services)
  t.same(ran, ['all'])
})

t.test('rule 3: a failure is handed along the list, and a failure hook with a bug does not lose it', async (t) => {
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
  t.match(remembered.hooksFailed, [{ plugin: 'buggy', hook: 'onFailure' }])
})

t.test('rule 3: what a failure hook returns that is no failure takes no failure’s place', async (t) => {
  const first = definePlugin({ name: 'first', onFailure: () => new GatewayError('upstream_rate_limited') })
  const tells = { name: 'tells', onFailure: async () => void (await Promise.reject(new Error('nobody answers'))) }
  const says = { name: 'says', onFailure: () => 'sorry' }
  const { client, remembered } = await run(never, [first, tells as unknown as AnyPlugin, says as unknown as AnyPlugin])
  t.equal(client.status, 429)
  t.match(remembered.hooksFailed, [
    { plugin: 'tells', hook: 'onFailure', error: { message: /not a promise/ } },
    { plugin: 'says', hook: 'onFailure', error: { message: /not string/ } },
  ])
})

t.test('an upstream’s failure is told as what it is, until a plugin has judged it', async (t) => {
  const facts = { kind: 'timeout', phase: 'idle' } as const
  const failing: Call = async () => {
    throw new UpstreamFailure(facts, 'host')
  }
  const seen: unknown[] = []
  const look = (name: string) => definePlugin({ name, onFailure: (_, failure) => void seen.push(failure) })
  await run(failing, [look('before')], [look('after')])
  t.match(seen, [new UpstreamFailure(facts, 'host'), { name: 'GatewayError', code: classify(facts).code }])
})

t.test('rule 5: an empty list works, and what nobody classified is an internal error', async (t) => {
  const { services, remembered } = fewServices()
  const good = new ScriptedClient()
  await new Chain([]).run(anExchange(), whole, good, services)
  t.equal(good.body, reply.body)
  for (const thrown of [new UpstreamFailure({ kind: 'timeout', phase: 'idle' }), 'a string', undefined, null]) {
    const bad = new ScriptedClient()
    await new Chain([]).run(
      anExchange(),
      async () => {
        throw thrown
      },
      bad,
      services,
    )
    t.equal(bad.status, 500)
    t.equal(bad.json['code'], 'internal_error')
  }
  t.equal(remembered.ended.length, 5, 'each exchange is told once')
})

t.test('rule 6: hooks that return no promise cost no turn of the event loop', async (t) => {
  const steps: string[] = []
  const quick = (name: string): AnyPlugin => ({ name, onRequest: () => void steps.push(name) })
  const { services } = fewServices()
  const running = new Chain([quick('a'), quick('b'), quick('c')]).run(
    anExchange(),
    async () => {
      steps.push('call')
      return { usage, last: { kind: 'reply', reply } } satisfies Answer
    },
    new ScriptedClient(),
    services,
  )
  t.same(steps, ['a', 'b', 'c'], 'all of them ran before anything was awaited')
  await running
  t.equal(steps.at(-1), 'call')
})

t.test('no listener, no event text', async (t) => {
  const { services } = fewServices()
  let listens: unknown
  const look: Call = async (_, wire) => {
    listens = wire.event
    return { usage, last: { kind: 'reply', reply } }
  }
  await new Chain([]).run(anExchange(), look, new ScriptedClient(), services)
  t.equal(listens, null)
  await new Chain([{ name: 'ear', onEvent: () => undefined }]).run(anExchange(), look, new ScriptedClient(), services)
  t.type(listens, 'function')
})

t.test('a header that cannot be sent is an internal error for the client, not a silence', async (t) => {
  const { services, remembered } = fewServices()
  const client = new ScriptedClient()
  const strict = client.reply.bind(client)
  client.reply = (status, headers, body) => {
    if (Object.values(headers).some((value) => /[\r\n]/.test(value))) throw new TypeError('Invalid character in header content')
    strict(status, headers, body)
  }
  const bad = definePlugin({ name: 'bad', onRequest: (x) => void (x.headers['x-bad'] = 'a\r\nb') })
  await new Chain([bad]).run(anExchange(), whole, client, services)
  t.equal(client.status, 500)
  t.equal(client.json['code'], 'internal_error')
  t.equal(remembered.ended.length, 1)
})

function client0(client: unknown): ScriptedClient {
  return client as ScriptedClient
}

t.test('how long a turn took does not change with the machine’s clock', async (t) => {
  const hours = 6 * 3_600_000
  for (const step of [hours, -hours]) {
    const time = { now: noon, ticks: 0 }
    const { services } = fewServices({ clock: { now: () => time.now, ticks: () => time.ticks } })
    const x = anExchange()
    const call: Call = async () => {
      time.now += step
      time.ticks += 41.7
      return { usage, last: { kind: 'reply', reply } }
    }
    await new Chain([]).run(x, call, new ScriptedClient(), services)
    t.equal(x.debug.latencyMs, 42)
  }
})
