/** Thread that sends requests made to stop the server, for each kind of attack from two accounts at once, while the main thread tells it to. */
import { connect as connectHttp2 } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import type { Readable } from 'node:stream'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { Agent, request } from 'undici'
import { reportCpuTime } from './cpu-time.ts'

export interface Attack {
  /** Addresses of the nodes. */
  readonly urls: readonly string[]
  /** Each kind of request is sent by each of them. */
  readonly keys: readonly string[]
  /** Of the account that announces long bodies and sends nothing of them. */
  readonly idleKey: string
}

interface Answer {
  readonly status: number
  readonly answer: Readable
}

type Counts = Record<string, Record<string, number>>

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)
const model = 'svc-2.1'
const call = (index: number) => ({ type: 'function_call', call_id: `c${index}`, name: `f${index}`, arguments: '{}' })
const tool = (index: number) => ({ type: 'function', name: `f${index}`, parameters: {} })
const chat = (text: string) => ({ model, stream: true, max_tokens: 16, messages: [{ role: 'user', content: text }] })
const picture = `data:image/png;base64,${'iVBORw0KGgoA'.repeat(1.6e6)}`
const userMessage = (index: number) => ({ role: 'user', content: `number ${index}` })
const imageUrl = 'http://127.0.0.1:9/a.png'

const attacks: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'tools and calls': ['responses', { model, input: range(30_000).map(call), tools: range(30_000).map(tool) }],
  'token counts': ['messages/count_tokens', { model, messages: range(60_000).map(userMessage) }],
  metadata: ['responses', { model, input: 'x', stream: true, metadata: { a: 'x'.repeat(12e6) } }],
  fields: ['responses', { model, input: 'x', ...Object.fromEntries(range(200_000).map((index) => [`field_${index}`, 1])) }],
  picture: ['responses', { model, input: [{ role: 'user', content: [{ type: 'input_image', image_url: picture }] }] }],
  embeddings: ['embeddings', { model: 'svc-embed', input: range(1_000).map((index) => `text ${index}`) }],
  'calls of an upstream': ['chat/completions', chat('answer-calls')],
  'nesting of an upstream': ['chat/completions', chat('answer-nesting')],
  'failures of an upstream': ['chat/completions', chat('answer-error')],
  'address of a picture': [
    'chat/completions',
    { model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: imageUrl } }] }] },
  ],
}
const longAnswer = Buffer.from(JSON.stringify({ ...chat('answer-long'), max_tokens: 8_000 }))
const unfinishedBytes = 31 * 2 ** 20
const unfinishedCount = 100
const unreadMs = 5_000

const bodies = Object.entries(attacks).map(([name, [path, body]]) => ({ name, path, body: Buffer.from(JSON.stringify(body)) }))

/** Begins all attacks; the returned function ends them. */
function beginAttacks({ urls, keys, idleKey }: Attack, counts: Counts): () => Promise<void> {
  const ended = new AbortController()
  const dispatcher = new Agent({ connections: 64, pipelining: 1 })
  const sessions = new Set<ClientHttp2Session>()
  const count = (name: string, result: string | number): void => {
    const kind = (counts[name] ??= {})
    kind[result] = (kind[result] ?? 0) + 1
  }
  const send = async (url: string, key: string, path: string, body: Buffer): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'x-forwarded-for': '203.0.113.1' }
    if (url.startsWith('https:')) return sendHttp2(url, { ...headers, ':method': 'POST', ':path': `/v1/${path}` }, body, sessions)
    const { statusCode, body: answer } = await request(`${url}/v1/${path}`, {
      method: 'POST',
      dispatcher,
      signal: ended.signal,
      headers,
      body,
    })
    return { status: statusCode, answer }
  }
  const repeat = async (name: string, sendOnce: () => Promise<string | number>): Promise<void> => {
    while (!ended.signal.aborted) {
      try {
        count(name, await sendOnce())
      } catch (error) {
        if (!ended.signal.aborted) count(name, (error as { code?: string }).code ?? String(error))
      }
      await pause(20)
    }
  }
  const running = urls.flatMap((url) =>
    keys.flatMap((key) => [
      ...bodies.map(({ name, path, body }) =>
        repeat(name, async () => {
          const { status, answer } = await send(url, key, path, body)
          for await (const _ of answer);
          return status
        }),
      ),
      repeat('answers that are not read', async () => {
        const { status, answer } = await send(url, key, 'chat/completions', longAnswer)
        if (status === 200) await pause(unreadMs, undefined, { signal: ended.signal }).catch(() => undefined)
        answer.on('error', () => undefined).destroy()
        return status
      }),
      repeat('resets within an answer', async () => {
        const { status, answer } = await send(url, key, 'chat/completions', longAnswer)
        for await (const _ of answer) break
        answer.on('error', () => undefined).destroy()
        return status
      }),
    ]),
  )
  const closeUnfinished = urls.map((url) => beginUnfinishedBodies(url, idleKey))
  return async () => {
    ended.abort()
    for (const close of closeUnfinished) close()
    for (const session of sessions) session.destroy()
    await dispatcher.destroy()
    await Promise.all(running)
  }
}

/** Each request has a connection of its own: a client's connection with 10 MB to send refuses further requests. */
function sendHttp2(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  sessions: Set<ClientHttp2Session>,
): Promise<Answer> {
  const session = connectHttp2(url, { rejectUnauthorized: false, maxSessionMemory: 100 }).on('error', () => undefined)
  sessions.add(session)
  const stream = session.request(headers)
  const answer = new Promise<Answer>((resolve, reject) => {
    stream.once('response', ({ ':status': status = 0 }) => resolve({ status, answer: stream })).once('error', reject)
    session.once('close', () => reject(new Error('the connection was closed')))
  })
  stream.once('close', () => {
    session.destroy()
    sessions.delete(session)
  })
  stream.end(body)
  return answer
}

/** Announces long bodies and sends nothing of them; returns what closes their connections. */
function beginUnfinishedBodies(url: string, key: string): () => void {
  const path = '/v1/messages/count_tokens'
  const { protocol, hostname, port } = new URL(url)
  if (protocol === 'https:') {
    const session = connectHttp2(url, { rejectUnauthorized: false }).on('error', () => undefined)
    const headers = { ':method': 'POST', ':path': path, authorization: `Bearer ${key}`, 'content-length': unfinishedBytes }
    for (const _ of range(unfinishedCount)) session.request(headers).on('error', () => undefined)
    return () => session.destroy()
  }
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${unfinishedBytes}\r\n\r\n`
  const sockets = range(unfinishedCount).map(() => {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    socket.write(head)
    return socket
  })
  return () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
}

const counts: Counts = {}
let end: (() => Promise<void>) | undefined
reportCpuTime()
parentPort?.on('message', async (message: Attack | 'end' | 'cpu') => {
  if (message === 'cpu') return
  if (message === 'end') {
    await end?.()
    parentPort?.postMessage(counts)
  } else end = beginAttacks(message, counts)
})
