/** Turns through every shipped configuration of a proxy: whole answers, streams, refusals, clients that leave. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Response } from 'undici'
import type { FakeCall } from '../../support/upstream/call-log.ts'
import { maxImmediateMs, startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { configurations, findConfiguration, nodeThatIsDown } from '../../support/proxies/configurations.ts'
import { publicHost } from '../../support/proxies/shipped-file.ts'
import { check, checkDocumentedTable, limitsOfProxies } from './known-failures.ts'

// Most of the time each proxy waits.
t.jobs = 4

const heartbeats = { heartbeatAfterMs: 300, heartbeatEveryMs: 300 }
const megabyte = 1024 * 1024
/**
 * Time to the first event. Caddy 2.6 now and then cuts off an answer that begins within milliseconds, presumably because Go's server closes
 * a request's body, whose end was not read yet, when the answer begins. Real upstreams take longer.
 */
const ttftMs = 100

for (const configuration of configurations) {
  t.test(configuration.name, async (t) => {
    const of = configuration.name
    const g = await startGateway(t, {
      listen: { trustedProxies: ['127.0.0.1'], siteUrl: `https://${publicHost}` },
      plans: { free: { rpm: 2 } },
    })
    const proxy = await configuration.start(t, [new URL(g.url).host, nodeThatIsDown])
    if (proxy === undefined) return
    const client = proxy.createClient()
    const { id, token } = await g.createMember()

    await check(t, { of, title: 'a whole answer arrives' }, async () => {
      const answer = await client.chat(token)
      const { choices } = (await answer.json()) as { readonly choices?: readonly unknown[] }
      return problems([answer.status !== 200 && `HTTP ${answer.status}`, choices?.length !== 1 && 'it has no choice'])
    })

    await check(t, { of, title: 'a stream arrives event by event' }, async () => {
      // The upstream falls silent after three events: what the client has by then was not held back for more.
      g.demo.script(() => ({ tokens: 20, ttftMs, betweenMs: 50, hang: { afterEvents: 3 } }))
      const leaving = new AbortController()
      const answer = await within(maxImmediateMs, client.chat(token, { stream: true }, { signal: leaving.signal }))
      const text = answer && (await readUntil(answer, (text) => countEvents(text) >= 3))
      leaving.abort()
      return problems([
        answer === undefined && 'the head was held back',
        text === undefined && 'events were held back',
        answer?.headers.get('content-encoding') != null && 'it is compressed',
      ])
    })

    if (configuration.forwardedProto !== undefined)
      await check(t, { of, title: 'a stream over HTTP/2 arrives event by event' }, async () => {
        g.demo.script(() => ({ tokens: 20, ttftMs, betweenMs: 50, hang: { afterEvents: 3 } }))
        const leaving = new AbortController()
        const answer = await within(
          maxImmediateMs,
          proxy.createClient({ http2: true }).chat(token, { stream: true }, { signal: leaving.signal }),
        )
        const text = answer && (await readUntil(answer, (text) => countEvents(text) >= 3))
        leaving.abort()
        return problems([text === undefined && 'it was held back'])
      })

    await check(t, { of, title: 'an unknown path is 404 in our envelope' }, async () => {
      return refusalProblems(await client.fetch('/v1/nothing'), 404, 'not_found')
    })
    await check(t, { of, title: 'a bad key is 401 in our envelope' }, async () => {
      return refusalProblems(await client.chat('svc_live_made_up'), 401, 'sign_in_required')
    })
    await check(t, { of, title: 'a member over the limit receives 429 and Retry-After' }, async () => {
      g.demo.script()
      const { token } = await g.createMember('free')
      let answer = await client.chat(token)
      for (let asked = 1; asked < 5 && answer.status === 200; asked += 1) {
        await answer.arrayBuffer()
        answer = await client.chat(token)
      }
      return [
        ...problems([answer.headers.get('retry-after') === null && 'without Retry-After']),
        ...(await refusalProblems(answer, 429, 'rate_limited')),
      ]
    })

    await check(t, { of, title: 'a request of 4 MB is served' }, async () => {
      g.demo.script(() => ({ text: 'Read.' }))
      const content = [{ type: 'text', text: 'What is this?' }, imageOf(4 * megabyte)]
      const answer = await client.chat(token, { model: 'svc', messages: [{ role: 'user', content }] })
      const text = await answer.text()
      return problems([answer.status !== 200 && `HTTP ${answer.status}: ${text.slice(0, 200)}`])
    })

    for (const [what, body, script] of [
      // Longer than any wait of this test.
      ['a stream with events', { stream: true }, { tokens: 10_000, ttftMs, betweenMs: 20 }],
      ['a silent stream', { stream: true }, { tokens: 20, ttftMs, betweenMs: 20, hang: { afterEvents: 3 } }],
      ['a whole answer', {}, { tokens: 10_000, ttftMs, betweenMs: 20 }],
    ] as const) {
      const title = `a client that leaves ${what} is hung up on upstream`
      await check(t, { of, title }, async () => {
        g.demo.script(() => script)
        const call = await leave(g, (signal) => client.chat(token, body, { signal }), 'stream' in body)
        const eventsBefore = call.events
        await endsWithinSteps(call, limitsOfProxies.has(`${of}: ${title}`) ? 180 : 3_000)
        return problems([
          call.abortedAt === null && `it was not noticed, ${call.events} events and ${eventsBefore} before it left`,
        ])
      })
    }
    t.ok((await g.listTurns(id)).length > 0, 'turns were charged')
  })
}

const withHeartbeats = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] }, timeouts: heartbeats })
const { token } = await withHeartbeats.createMember()
for (const configuration of configurations) {
  t.test(`${configuration.name}, heartbeats`, async (t) => {
    const of = configuration.name
    const proxy = await configuration.start(t, [new URL(withHeartbeats.url).host, nodeThatIsDown])
    if (proxy === undefined) return
    const client = proxy.createClient()
    for (const hang of ['before_headers', { afterEvents: 2 }] as const) {
      const when = hang === 'before_headers' ? 'before its first event' : 'after an event'
      await check(t, { of, title: `comments arrive in a stream that is silent ${when}` }, async () => {
        const leaving = new AbortController()
        const messages = [{ role: 'user', content: `demo:${JSON.stringify({ tokens: 20, ttftMs, hang })}` }]
        const asked = client.chat(token, { stream: true, messages }, { signal: leaving.signal })
        const answer = await within(maxImmediateMs, asked)
        const text = answer && (await readUntil(answer, (text) => (text.match(/^:/gm)?.length ?? 0) >= 2))
        leaving.abort()
        return problems([answer === undefined && 'the head was held back', text === undefined && 'comments were held back'])
      })
    }
  })
}

t.test('Apache keeps an idle connection for longer than clients use it', async (t) => {
  const g = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  const proxy = await findConfiguration('Apache, one node').start(t, [new URL(g.url).host, nodeThatIsDown])
  if (proxy === undefined) return
  const answer = await proxy.createClient().fetch('/healthz')
  await answer.arrayBuffer()
  t.match(answer.headers.get('keep-alive'), /timeout=65\b/)
})

t.test('the table in docs/proxies.md has these results', { buffered: false }, async (t) => checkDocumentedTable(t, 'turns'))

/** Begins a turn, lets the upstream write, and leaves. */
async function leave(g: TestGateway, ask: (signal: AbortSignal) => Promise<Response>, isStream: boolean): Promise<FakeCall> {
  const leaving = new AbortController()
  const next = g.demo.next()
  const answer = ask(leaving.signal)
  answer.catch(() => undefined)
  const call = await next
  await waitUntil(() => call.events >= 1, 'the upstream to write')
  if (isStream) await readUntil(await answer, (text) => countEvents(text) >= 1)
  else await pause(50)
  leaving.abort()
  return call
}

/** Waits for the end of a call in so many pauses of 20 ms, so that a machine that stands still does not shorten this deadline. */
async function endsWithinSteps(call: FakeCall, steps: number): Promise<void> {
  const ended = call.ended.then(() => true)
  for (let step = 0; step < steps; step += 1) if ((await Promise.race([ended, pause(20)])) === true) return
}

/** Reads until the text is enough, and leaves the rest. Undefined where that takes too long. */
async function readUntil(answer: Response, isEnough: (text: string) => boolean): Promise<string | undefined> {
  const read = async (): Promise<string | undefined> => {
    const decoder = new TextDecoder()
    let text = ''
    const reader = answer.body?.getReader()
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {}
      if (done) return undefined
      text += decoder.decode(value as Uint8Array, { stream: true })
      if (isEnough(text)) return text
    }
  }
  return within(
    maxImmediateMs,
    read().catch(() => undefined),
  )
}

async function refusalProblems(answer: Response, status: number, code: string): Promise<readonly string[]> {
  const text = await answer.text()
  return problems([
    answer.status !== status && `HTTP ${answer.status} in place of ${status}`,
    !text.includes(`"${code}"`) && `no ${code} in ${text.slice(0, 200)}`,
  ])
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController()
  try {
    return await Promise.race([promise, pause(ms, undefined, { signal: timer.signal })])
  } finally {
    timer.abort()
  }
}

function imageOf(bytes: number): object {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } }
}

function countEvents(text: string): number {
  return text.match(/^data: /gm)?.length ?? 0
}

function problems(found: readonly (string | false)[]): readonly string[] {
  return found.filter((problem) => problem !== false)
}
