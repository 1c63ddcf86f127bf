/** Answers that a limit or a slow client cuts off, in every API format: how they end, and what they cost. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createMovableClock } from '../../../support/gateway/movable-clock.ts'
import { hugeAnswerConfig } from '../../../support/gateway/huge-answer.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { startScriptedServer } from '../../../support/upstream/scripted-server.ts'

interface FormatCase {
  readonly path: string
  readonly toBody: (maxTokens: number) => Readonly<Record<string, unknown>>
  /** The end of an answer that was cut off. */
  readonly ending: RegExp
}

/** As shipped. */
const totalMs = 900_000

/** More than all buffers between an upstream and a client hold. */
const cap = 20_000_000
const pieceText = 'word '.repeat(6_400)
/** Of four bytes each. */
const pieceTokens = pieceText.length / 4

const message = [{ role: 'user', content: 'Hello!' }]
const formats: readonly FormatCase[] = [
  {
    path: '/v1/chat/completions',
    toBody: (max) => ({ max_tokens: max, messages: message }),
    ending: /"finish_reason":"length".*data: \[DONE\]\n\n$/s,
  },
  {
    path: '/v1/responses',
    toBody: (max) => ({ max_output_tokens: max, input: message }),
    ending: /event: response\.incomplete\n.*"reason":"max_output_tokens"/s,
  },
  {
    path: '/v1/messages',
    toBody: (max) => ({ max_tokens: max, messages: message }),
    ending: /"stop_reason":"max_tokens".*event: message_stop\n/s,
  },
]

function post({ url }: TestGateway, path: string, token: string, body: object): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', ...body }),
  })
}

for (const { path, toBody, ending } of formats) {
  t.test(`${path} ends a stream at the total time as cut off, and charges it`, async (t) => {
    const { clock, advance } = createMovableClock()
    const g = await startGateway(t, { upstreams: { main: { restAfterFailures: 1 } } }, { clock })
    const { token } = await g.createMember()
    g.demo.script(() => ({ tokens: 200, hang: { afterEvents: 20 } }))
    for (let round = 0; round < 2; round++) {
      const response = await post(g, path, token, { ...toBody(400), stream: true })
      await waitUntil(() => (g.demo.calls[round]?.tokens ?? 0) >= 18, 'the answer to begin')
      // All of it has been read when the next check comes.
      await pause(20)
      advance(totalMs + 1)
      const text = await response.text()
      t.match(text, ending)
      t.notMatch(text, /upstream_|"error":\{/)
    }
    const turns = await g.listTurns()
    t.equal(turns.length, 2, 'the target does not rest after the first')
    for (const turn of turns) {
      t.match(turn, { state: 'settled', code: null, estimated: true })
      t.ok(turn.outputTokens >= 18 && turn.inputTokens > 0, `${turn.outputTokens} tokens`)
    }
  })

  t.test(`${path} refunds a whole answer at the total time`, async (t) => {
    const { clock, advance } = createMovableClock()
    const g = await startGateway(t, { upstreams: { main: { restAfterFailures: 1 } } }, { clock })
    const { token } = await g.createMember()
    g.demo.script(() => ({ tokens: 200, hang: { afterEvents: 20 } }))
    for (let round = 0; round < 2; round++) {
      const response = post(g, path, token, toBody(400))
      await waitUntil(() => (g.demo.calls[round]?.tokens ?? 0) >= 18, 'the answer to begin')
      await pause(20)
      advance(totalMs + 1)
      t.match(await (await response).text(), /upstream_error.*"quotaRefunded":true/s)
    }
    t.match(await g.listTurns(), [{ state: 'refunded' }, { state: 'refunded' }], 'nothing counts against the target')
  })

  t.test(`${path} charges what a client received that stopped reading until the upstream gave up`, async (t) => {
    const choice = { index: 0, delta: { content: pieceText }, finish_reason: null }
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] }
    const piece = `data: ${JSON.stringify(chunk)}\n\n`
    const upstream = await startScriptedServer(t, async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let sent = 0; sent < 2_000; sent++) {
        if (response.write(piece)) continue
        // A server that gives up writing. The client stands still for as many steps as that takes.
        const isDrained = await Promise.race([once(response, 'drain').then(() => true), standStill()])
        if (!isDrained) break
      }
      response.socket?.resetAndDestroy()
    })
    const g = await startGateway(t, {
      products: { 'svc-2.1': { maxOutputTokens: cap, contextLength: 2 * cap } },
      prices: hugeAnswerConfig.prices,
      upstreams: { main: { baseUrl: upstream.url, restAfterFailures: 1 } },
    })
    const { token } = await g.createMember()
    const body = JSON.stringify({ model: 'svc-2.1', ...toBody(cap), stream: true })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = request(g.url + path, { method: 'POST', headers, agent: false }).end(body)
    // Nothing is read of it before a listener is added below.
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    // The upstream gives up after the first of them.
    await standStill()
    await standStill()
    const text = await readText(response)
    // The text is too long to be printed.
    t.ok(ending.test(text), 'it is cut off')
    t.equal(text.includes('"code":"upstream_'), false)
    const received = text.match(/"delta":(?:\{"content":|\{"type":"text_delta","text":)?"word /g)?.length ?? 0
    t.ok(received > 10, `${received} pieces received`)
    await g.waitUntilSettled()
    const [turn] = await g.listTurns()
    t.match(turn, { state: 'settled', code: 'aborted' })
    // The last piece may be lost.
    t.ok((turn?.outputTokens ?? 0) >= (received - 1) * pieceTokens, `${turn?.outputTokens} tokens for ${received} pieces`)
  })
}

/** Longer than a client may delay an answer without being the slow side, counted in steps, so that a paused machine does not shorten it. */
async function standStill(): Promise<false> {
  for (let step = 0; step < 12; step++) await pause(100)
  return false
}
