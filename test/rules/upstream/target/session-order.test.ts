/** Which target serves a conversation: chosen by account and session, over the weights, among the targets that are well. */
import t from 'tap'
import base from '../../../../gateway.config.ts'
import { checkConfig } from '../../../../src/config/config.ts'
import type { Exchange, Slots } from '../../../../src/exchange/exchange.ts'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { parseChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { identifySession } from '../../../../src/upstream/target/session-order.ts'
import { Upstreams } from '../../../../src/upstream/target/upstreams.ts'
import { createTestExchange } from '../../../support/gateway/test-exchange.ts'

const names = ['a', 'b', 'c', 'd'] as const
const weights: Readonly<Record<string, number>> = { a: 1, b: 2, c: 1, d: 0 }
const targets = names.map((upstream) => ({ upstream, model: 'm', weight: weights[upstream] ?? 0 }))
const product = { ...base.products['auto']!, id: 'auto', capabilities: ['chat'] }
const config = checkConfig({
  ...base,
  upstreams: Object.fromEntries(
    names.map((name) => [name, { baseUrl: `https://${name}.example.com/v1`, apiKey: 'sk-key-of-test' }]),
  ),
  products: { auto: { ...base.products['auto']!, rules: [], targets } },
  apiFormats: {},
})

function createUpstreams(): Upstreams {
  // Another number each time: no order of a conversation depends on it.
  let calls = 0
  const upstreams = new Upstreams(config, null, () => (calls++ % 10) / 10)
  t.teardown(() => upstreams.close())
  return upstreams
}

interface Turn {
  readonly account?: string
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly sessionMark?: string
  readonly capabilities?: readonly string[]
}

const hello = { role: 'user', content: 'Hello' }

function toExchange({ account = 'acc_1', body = {}, headers = {}, sessionMark, capabilities = ['chat'] }: Turn) {
  return {
    ...createTestExchange({ inboundHeaders: headers }),
    caller: { account: { id: account } },
    product: { ...product, capabilities },
    chat: parseChatRequest(Buffer.from(JSON.stringify({ model: 'auto', messages: [hello], ...body }))),
    ...(sessionMark === undefined ? {} : { translation: { sessionMark } }),
  } as unknown as Exchange & Partial<Slots>
}

const listOrder = (upstreams: Upstreams, turn: Turn, now = 0): string[] =>
  upstreams.selectCandidates(targets, null, now, toExchange(turn)).map(({ upstream }) => upstream.name)

const sessions = Array.from({ length: 4_000 }, (_, i) => ({ body: { prompt_cache_key: `session-${i}` } }))

t.test('a conversation has one order of targets, also after a restart and on another node', async (t) => {
  const [one, other] = [createUpstreams(), createUpstreams()]
  for (const turn of sessions.slice(0, 100)) {
    const order = listOrder(one, turn)
    t.same([...order].toSorted(), [...names])
    t.equal(order.at(-1), 'd', 'a target of weight 0 is the last')
    for (const upstreams of [one, one, other]) t.same(listOrder(upstreams, turn), order)
  }
})

t.test('conversations are shared out by the weights', async (t) => {
  const upstreams = createUpstreams()
  const counts = Map.groupBy(sessions, (turn) => listOrder(upstreams, turn)[0])
  for (const name of ['a', 'b', 'c']) {
    const share = (counts.get(name)?.length ?? 0) / sessions.length
    t.ok(Math.abs(share - (weights[name] ?? 0) / 4) < 0.03, `${name}: ${share}`)
  }
  t.notOk(counts.has('d'))
})

t.test(
  'a target that rests hands over its own conversations alone, by the weights of the others, and gets them back',
  async (t) => {
    const upstreams = createUpstreams()
    const before = sessions.map((turn) => listOrder(upstreams, turn))
    const failure = (): UpstreamFailure => new UpstreamFailure({ kind: 'timeout', phase: 'first_byte' }, 'b.example.com')
    const health = upstreams.getHealth('b/m')
    while (health.wouldAdmit(0)) health.recordFailure(failure(), 0, 0)
    const during = sessions.map((turn) => listOrder(upstreams, turn))
    t.same(
      during,
      before.map((order) => order.filter((name) => name !== 'b')),
      'the others keep their order, so that those of b go to the next in theirs',
    )
    const moved = before.flatMap((order, i) => (order[0] === 'b' ? [during[i]?.[0]] : []))
    const toA = moved.filter((name) => name === 'a').length / moved.length
    t.ok(Math.abs(toA - 0.5) < 0.05, 'no target takes them all')
    let now = 60_000
    for (; health.breaker.isOpen; now += 60_000) {
      health.admits(now, true)
      health.recordSuccess(now, now)
    }
    t.same(
      sessions.map((turn) => listOrder(upstreams, turn, now)),
      before,
    )
  },
)

t.test('a conversation leaves a target that has just failed for it, for a minute, and no others do', async (t) => {
  const upstreams = createUpstreams()
  const [turn = {}] = sessions
  const [first = '', ...others] = listOrder(upstreams, turn)
  const health = upstreams.getHealth(`${first}/m`)
  const caller = { account: 'acc_1', kind: '' }
  const fail = (facts: UpstreamFailure['facts'], now: number): void =>
    health.recordFailure(new UpstreamFailure(facts, 'a.example.com'), now, now, caller)
  health.recordSuccess(0, 0, { account: 'acc_2', kind: '' })
  fail({ kind: 'in_band', status: 200, reason: 'no_finish' }, 1)
  t.same(listOrder(upstreams, turn, 2), [...others.slice(0, -1), first, 'd'], 'it is the last one with a weight')
  const ofOther = { ...turn, account: 'acc_2' }
  t.same(listOrder(upstreams, ofOther, 2), listOrder(createUpstreams(), ofOther), 'the failure may be that of the request')
  t.same(listOrder(upstreams, turn, 60_002), [first, ...others], 'after a minute it is tried again')
  fail({ kind: 'timeout', phase: 'first_byte' }, 70_000)
  t.same(listOrder(upstreams, turn, 70_001).at(-2), first)
  t.same(listOrder(upstreams, turn, 130_001), [first, ...others])
  fail({ kind: 'timeout', phase: 'first_byte' }, 140_000)
  health.recordSuccess(140_002, 140_001, caller)
  t.same(listOrder(upstreams, turn, 140_003), [first, ...others], 'after a call that worked as well')
})

t.test('accounts with the same session are spread like any others', async (t) => {
  const upstreams = createUpstreams()
  const same = sessions.filter((turn) => listOrder(upstreams, turn)[0] === listOrder(upstreams, { ...turn, account: 'acc_2' })[0])
  // By chance alone: 1/16 + 1/4 + 1/16.
  t.ok(Math.abs(same.length / sessions.length - 0.375) < 0.03, String(same.length))
  t.not(identifySession(toExchange({ account: 'acc_1' })), identifySession(toExchange({ account: 'acc_2' })))
})

t.test('the session is what the agent names it, else the beginning of the conversation', async (t) => {
  const grown = {
    messages: [{ role: 'system', content: 'Today is Monday.' }, hello, { role: 'assistant', content: 'Hi' }, hello],
  }
  const otherTalk = { messages: [{ role: 'user', content: 'Something else' }] }
  const parts = (...texts: string[]) => ({ messages: [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }] })
  const long = `${'x'.repeat(5_000)}`
  /** Turns of one session in each row, and all rows are different sessions. */
  const rows: readonly (readonly Turn[])[] = [
    [
      {},
      { body: grown },
      { headers: { 'session-id': '' } },
      { body: { prompt_cache_key: '' } },
      { body: { prompt_cache_key: 'k'.repeat(257) } },
    ],
    [{ body: otherTalk }],
    [{ body: { prompt_cache_key: 'k1' } }, { body: { ...otherTalk, prompt_cache_key: 'k1' }, headers: { 'session-id': 's1' } }],
    [{ body: { prompt_cache_key: 'k2' } }],
    [
      { headers: { 'session-id': 's1' } },
      { headers: { 'session-id': 's1' }, body: otherTalk, sessionMark: 'u1' },
      { headers: { session_id: 's1' } },
    ],
    [{ headers: { 'x-claude-code-session-id': 's2' } }, { headers: { 'x-claude-code-session-id': 's2' }, body: otherTalk }],
    [{ headers: { conversation_id: 's3' } }],
    [{ sessionMark: 'u1' }, { sessionMark: 'u1', body: otherTalk }],
    [{ body: parts('Hello', 'there') }, { body: { messages: [...parts('Hello', 'there').messages, hello] } }],
    [{ body: parts('Hello', 'you') }],
    [{ body: { messages: [{ role: 'user', content: long }] } }],
    [{ body: { messages: [{ role: 'user', content: `${long}y` }] } }],
    [{ body: { messages: [{ role: 'system', content: 'only' }] } }],
    [{ body: { messages: [{ role: 'assistant', content: null }] } }],
  ]
  const marks = rows.map((row) => {
    const [first, ...rest] = row.map((turn) => identifySession(toExchange(turn)))
    for (const each of rest) t.equal(each, first)
    return first
  })
  t.equal(new Set(marks).size, rows.length)
})

t.test('turns without a conversation are distributed at random', async (t) => {
  const upstreams = createUpstreams()
  for (const turn of [{ capabilities: ['embedding'] }, { capabilities: ['image'] }]) {
    const firsts = new Set(Array.from({ length: 20 }, () => listOrder(upstreams, turn)[0]))
    t.ok(firsts.size > 1, String(turn.capabilities))
  }
})
