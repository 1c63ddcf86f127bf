/** Refusals of large bodies through every shipped configuration: each client reads our envelope, and others are served meanwhile. */
import t from 'tap'
import type { RequestInit } from 'undici'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { configurations, findConfiguration } from '../../support/proxies/configurations.ts'
import type { PublicClient } from '../../support/proxies/public-client.ts'
import { check, checkDocumentedTable, knownFailures } from './known-failures.ts'

t.jobs = 3

/** `bench/neighbors/large-refusals.ts` sends thousands. */
const atOnce = 2
const strangersAtOnce = 4
/** The share that is lost varies: what is known to fail is asked for until one is lost. */
const timesOfKnownFailure = 400
const megabyte = 1024 * 1024

const g = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] }, plans: { free: { rpm: 1 } } })
const node = new URL(g.url).host

for (const configuration of configurations) {
  t.test(configuration.name, async (t) => {
    const of = configuration.name
    const proxy = await configuration.start(t, [node, node])
    if (proxy === undefined) return
    const client = proxy.createClient()
    const { token } = await g.createMember()
    const limited = await g.createMember('free')
    await (await client.chat(limited.token)).arrayBuffer()

    // A session of its own for each request at once: Node's client has memory for ten megabytes in a session.
    const http2 = Array.from({ length: atOnce }, () => proxy.createClient({ http2: true }))

    for (const { title, request, status, code, by = [client] } of [
      { title: '4 MB with a bad key', request: post(chat, 'svc_live_made_up', 4), status: 401, code: 'sign_in_required' },
      { title: '4 MB over the plan’s limit', request: post(chat, limited.token, 4), status: 429, code: 'rate_limited' },
      { title: '11 MB, which is too large', request: post(chat, token, 11), status: 413, code: 'payload_too_large' },
      { title: '4 MB to an unknown path', request: post('/v1/nothing', token, 4), status: 404, code: 'not_found' },
      {
        title: '4 MB in chunks with a bad key',
        request: chunked(post(chat, 'svc_live_made_up', 4)),
        status: 401,
        code: 'sign_in_required',
      },
      {
        title: '4 MB over HTTP/2 with a bad key',
        request: post(chat, 'svc_live_made_up', 4),
        status: 401,
        code: 'sign_in_required',
        by: http2,
      },
    ]) {
      if (by === http2 && configuration.forwardedProto === undefined) continue
      const whole = `each request of ${title} is refused in our envelope`
      const isKnown = knownFailures.has(`${of}: ${whole}`)
      await check(t, { of, title: whole }, () =>
        askOften(async (asker) => refusalProblem(by[asker % by.length] ?? client, request(), status, code), { isKnown }),
      )
    }
  })
}

for (const { name } of configurations.filter(({ name }) => name.includes('several nodes'))) {
  t.test(`${name}: made-up keys with 4 MB do not keep members out`, async (t) => {
    const proxy = await findConfiguration(name).start(t, [node, node])
    if (proxy === undefined) return
    const client = proxy.createClient()
    const { token } = await g.createMember()
    const over = new AbortController()
    const refused = () => refusalProblem(client, post(chat, 'svc_live_made_up', 4)(), 401, 'sign_in_required')
    const strangers = askOften(refused, { times: strangersAtOnce })
    const attack = strangers.finally(() => over.abort())
    const statuses: number[] = []
    const member = proxy.createClient()
    while (!over.signal.aborted || statuses.length < 10) {
      const answer = await member.fetch('/v1/models', { headers: { authorization: `Bearer ${token}` } })
      await answer.arrayBuffer()
      statuses.push(answer.status)
    }
    await attack
    t.same(
      statuses.filter((status) => status !== 200),
      [],
      `of ${statuses.length} requests of a member`,
    )
  })
}

t.test('the table in docs/proxies.md has these results', { buffered: false }, async (t) => checkDocumentedTable(t, 'refusals'))

type Post = readonly [path: string, init: RequestInit]

const chat = '/v1/chat/completions'

function post(path: string, token: string, megabytes: number): () => Post {
  const url = `data:image/png;base64,${'A'.repeat(megabytes * megabyte)}`
  const content = [{ type: 'image_url', image_url: { url } }]
  const body = JSON.stringify({ model: 'svc', messages: [{ role: 'user', content }] })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return () => [path, { method: 'POST', headers, body }]
}

/** Without a length, as clients send what they do not have in one piece. */
function chunked(create: () => Post): () => Post {
  return () => {
    const [path, init] = create()
    const body = Buffer.from(String(init.body))
    const pieces = async function* () {
      for (let at = 0; at < body.length; at += 65_536) yield body.subarray(at, at + 65_536)
    }
    return [path, { ...init, body: pieces(), duplex: 'half' }]
  }
}

async function refusalProblem(client: PublicClient, [path, init]: Post, status: number, code: string): Promise<string | null> {
  try {
    const answer = await client.fetch(path, init)
    const text = await answer.text()
    return answer.status === status && text.includes(`"${code}"`) ? null : `HTTP ${answer.status}: ${text.slice(0, 60)}`
  } catch (error) {
    return `no answer: ${String((error as Error).cause ?? error)}`
  }
}

/** What went wrong, counted: `7 × HTTP 502`. */
async function askOften(
  ask: (asker: number) => Promise<string | null>,
  { times = atOnce, isKnown = false } = {},
): Promise<readonly string[]> {
  const found: string[] = []
  let asked = 0
  const [most, enough] = isKnown ? [timesOfKnownFailure, 1] : [times, Infinity]
  const askers = Array.from({ length: times }, async (_, asker) => {
    while (asked++ < most && found.length < enough) {
      const problem = await ask(asker)
      if (problem !== null) found.push(problem)
    }
  })
  await Promise.all(askers)
  return [...Map.groupBy(found, (problem) => problem)].map(([problem, all]) => `${all.length} × ${problem}`)
}
