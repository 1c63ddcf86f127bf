/** An exchange in another API format, through the plugin chain: request, answer, failures. */
import type { Test } from 'tap'
import t from 'tap'
import { GatewayError } from '../../../src/errors.ts'
import type { AnswerEncoder } from '../../../src/exchange/api-format/api-format.ts'
import { createCompletionResult } from '../../../src/exchange/completion-result.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import type { AnyPlugin } from '../../../src/exchange/plugins/plugin.ts'
import { PluginChain } from '../../../src/exchange/plugins/plugin-chain.ts'
import type { TurnHandler } from '../../../src/exchange/plugins/plugin-chain.ts'
import { createHeartbeat, openStream } from '../../../src/exchange/response-headers.ts'
import { ExchangeTranslation, translateAnswers } from '../../../src/formats/exchange-translation.ts'
import { deriveSealKey, ReasoningSeal } from '../../../src/formats/reasoning-seal.ts'
import { createTestExchange, createTestServices, noon, RecordingClient } from '../../support/gateway/test-exchange.ts'
import { createLineFormat } from '../../support/formats/line-format.ts'

const settings = {
  sealKey: deriveSealKey(Buffer.alloc(32, 1)),
  products: new Map(['svc-2.1', 'gpt-own'].map((id) => [id, new Set<never>()])),
  aliases: { responses: { 'gpt-6-luna': 'svc-2.1-fast', 'gpt-*': 'svc-2.1', 'a*b*c': 'svc-2.1-pro' } },
}
const usage = { inputTokens: 5, outputTokens: 2, estimated: false }

function createTranslated(fails?: keyof AnswerEncoder): { x: Exchange & Partial<Slots>; translation: ExchangeTranslation } {
  const translation = new ExchangeTranslation(createLineFormat(fails === undefined ? {} : { fails }), {
    settings,
    now: () => noon,
  })
  return { x: createTestExchange({ translation }), translation }
}

interface Run {
  readonly body?: Readonly<Record<string, unknown>>
  readonly call?: TurnHandler
  readonly plugins?: readonly AnyPlugin[]
  readonly fails?: keyof AnswerEncoder
}

/** One exchange, whose body the first plugin reads. */
async function run(t: Test, { body = { ask: 'Hi' }, call = answer, plugins = [], fails }: Run) {
  const { x, translation } = createTranslated(fails)
  const { services, recorded } = createTestServices()
  const client = new RecordingClient()
  const read: AnyPlugin = {
    name: 'read',
    onRequest(x) {
      x.chat = translation.translateRequest(Buffer.from(JSON.stringify({ model: 'svc-2.1', ...body })), 'acc_1')
    },
  }
  const outcome = await new PluginChain([read, ...plugins]).run(x, translateAnswers(call), client, services)
  t.equal(recorded.outcomes.length, 1)
  return { client, outcome, recorded }
}

const answer: TurnHandler = async (x, callContext) => createCompletionResult({ content: 'Hello.' }, { x, callContext, usage })

t.test('translates a whole answer', async (t) => {
  const { client, outcome } = await run(t, {})
  t.equal(client.body, 'whole Hello. Hi true')
  t.equal(client.status, 200)
  t.equal(outcome.kind, 'completed')
})

t.test('sends the last events after the settlement', async (t) => {
  let bodyAtSettlement = ''
  const call: TurnHandler = async (_, callContext) => {
    openStream(callContext)
    const { client, encoder } = callContext
    if (encoder === undefined) throw new Error('the exchange is not translated')
    client.write(createHeartbeat(callContext))
    for (const content of ['Hel', 'lo']) client.write(encoder.push([{ kind: 'text', text: content }]))
    const frames = encoder.push([{ kind: 'usage', usage: { prompt_tokens: 5 } }]) + encoder.end()
    return { usage, final: { kind: 'trailer', frames } }
  }
  const settle: AnyPlugin = { name: 'settle', onSettle: () => void (bodyAtSettlement = result.body) }
  const { x, translation } = createTranslated()
  const result = new RecordingClient()
  x.chat = translation.translateRequest(Buffer.from('{"model":"svc-2.1","ask":"Hi","stream":true}'), 'acc_1')
  await new PluginChain([settle]).run(x, translateAnswers(call), result, createTestServices().services)
  t.equal(bodyAtSettlement, 'start mbr_01TEST svc-2.1 0 Hi\nheartbeat\npush Hel\npush lo\n')
  t.equal(result.body, `${bodyAtSettlement}usage {"prompt_tokens":5}\nend\n`)
})

t.test('streams an answer that the gateway makes itself', async (t) => {
  const { client } = await run(t, { body: { ask: 'Hi', stream: true } })
  t.match(client.body, /^start .*\npush Hello\.\nfinish stop\nusage .*"total_tokens":7\}\nend\n$/)
})

t.test('renders a failure in the format', async (t) => {
  const fail: AnyPlugin = {
    name: 'fail',
    onRequest() {
      throw new GatewayError('quota_exceeded', { retryAfter: 3 })
    },
  }
  const before = await run(t, { plugins: [fail] })
  t.match(before.client, {
    status: 402,
    body: 'failed quota_exceeded',
    headers: { 'retry-after': '3', 'x-request-id': 'mbr_01TEST' },
  })
  const invalid = await run(t, { body: { ask: 1 } })
  t.match(invalid.client, { status: 400, body: 'failed invalid_request' })
  const inStream: TurnHandler = async (_, callContext) => {
    openStream(callContext)
    throw new GatewayError('upstream_error')
  }
  const { client, outcome } = await run(t, { call: inStream })
  t.match(client.body, /^start .*\nfailed upstream_error\n$/)
  t.match(outcome, { kind: 'failed', streamed: true })
})

t.test('fails the turn when the answer cannot be encoded', async (t) => {
  for (const [fails, body, sent] of [
    ['whole', {}, 'failed internal_error'],
    ['start', { stream: true }, 'failed internal_error'],
    ['push', { stream: true }, 'start mbr_01TEST svc-2.1 0 Hi\nfailed internal_error\n'],
    ['end', { stream: true }, 'start mbr_01TEST svc-2.1 0 Hi\nfailed internal_error\n'],
  ] as const) {
    const { client, outcome } = await run(t, { body: { ask: 'Hi', ...body }, fails })
    t.equal(client.body, sent, fails)
    t.match(outcome, { kind: 'failed', failure: { code: 'internal_error' } }, fails)
  }
})

t.test('closes the connection when the failure cannot be encoded either', async (t) => {
  const inStream: TurnHandler = async (_, callContext) => {
    openStream(callContext)
    throw new GatewayError('upstream_error')
  }
  const { client, recorded } = await run(t, { call: inStream, fails: 'fail' })
  t.same(client.calls, ['open', 'write', 'cut'])
  t.match(recorded.requestFailures, [{ code: 'internal_error' }])
})

t.test("translates a plugin's completion, and passes its other replies", async (t) => {
  const reply = (body: string): AnyPlugin => ({ name: 'reply', onRequest: () => ({ status: 200, headers: {}, body }) })
  const cached = await run(t, { plugins: [reply('{"choices":[{"message":{"content":"Cached."}}]}')] })
  t.equal(cached.client.body, 'whole Cached. Hi true')
  const other = await run(t, { plugins: [reply('{"note":"closed on Sunday"}')] })
  t.equal(other.client.body, '{"note":"closed on Sunday"}')
})

t.test('names the ignored fields before those that the upstream does not receive', async (t) => {
  const { client } = await run(t, {
    body: { ask: 'Hi', note: 1 },
    plugins: [{ name: 'mapping', onRequest: (x) => void (x.headers['x-svc-fields-dropped'] = 'other') }],
  })
  t.equal(client.headers['x-svc-fields-dropped'], 'note, other')
})

t.test('resolves aliases, and ids of products first', async (t) => {
  for (const [model, product] of [
    ['gpt-6-luna', 'svc-2.1-fast'],
    ['gpt-6', 'svc-2.1'],
    ['gpt-own', 'gpt-own'],
    ['gpt', 'gpt'],
    ['abc', 'svc-2.1-pro'],
    ['a-b-c', 'svc-2.1-pro'],
    ['acb', 'acb'],
    ['ac', 'ac'],
    ['claude-x', 'claude-x'],
  ] as const) {
    const { translation } = createTranslated()
    t.equal(translation.translateRequest(Buffer.from(JSON.stringify({ model, ask: 'Hi' })), 'acc_1').model, product, model)
    t.equal(translation.requestedModel, model)
  }
})

t.test("opens reasoning that was sealed for the account, and no other account's", async (t) => {
  const sealed = new ReasoningSeal(settings.sealKey, 'acc_1').seal('because')
  const raw = Buffer.from(JSON.stringify({ model: 'svc-2.1', ask: 'Hi', sealed }))
  t.match(createTranslated().translation.translateRequest(raw, 'acc_1').messages, [{ reasoning_content: 'because' }, {}])
  t.equal(createTranslated().translation.translateRequest(raw, 'acc_2').messages.length, 1)
})
