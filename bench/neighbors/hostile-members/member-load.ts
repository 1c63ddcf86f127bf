/** The load of other members: requests of all shapes, sent by the clock, from accounts and addresses of their own. */
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { memberPassword } from './nodes.ts'
import type { Member } from './nodes.ts'

interface Shape {
  /** Of so many requests, how many are of this shape. */
  readonly weight: number
  readonly path: string
  /** Null: a GET request. */
  readonly body: object | null
  /** What a right answer contains. */
  readonly expects: string
}

export interface PhaseFigures {
  readonly timesMs: ReadonlyMap<string, readonly number[]>
  /** What went wrong, in words. */
  readonly failures: readonly string[]
}

const model = 'svc-2.1'
const sentence = 'The quick brown fox jumps over the lazy dog, and then it rains in the "valley" for many days.\n'
const user = (content: string) => ({ role: 'user', content })
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const chat = { model, max_tokens: 200, messages: [user(sentence.repeat(10))] }
const messages = { model, max_tokens: 200, messages: [user(sentence.repeat(40))] }
const tool = { name: 'f', description: 'Reports the weather.' }

const shapes: Readonly<Record<string, Shape>> = {
  'chat, streamed': { weight: 25, path: '/v1/chat/completions', body: { ...chat, stream: true }, expects: '[DONE]' },
  'chat, whole': { weight: 15, path: '/v1/chat/completions', body: chat, expects: '"finish_reason":"stop"' },
  'chat, tools': {
    weight: 10,
    path: '/v1/chat/completions',
    body: { ...chat, messages: [user('answer-call')], tools: [{ type: 'function', function: { ...tool, parameters } }] },
    expects: '"tool_calls"',
  },
  'responses, streamed': {
    weight: 10,
    path: '/v1/responses',
    body: { model, max_output_tokens: 200, stream: true, input: sentence.repeat(20) },
    expects: 'response.completed',
  },
  'messages, streamed': { weight: 10, path: '/v1/messages', body: { ...messages, stream: true }, expects: 'message_stop' },
  'messages, whole': { weight: 5, path: '/v1/messages', body: messages, expects: '"end_turn"' },
  'messages, 200 KB': {
    weight: 5,
    path: '/v1/messages',
    body: { ...messages, stream: true, messages: [user(sentence.repeat(2_000))], tools: [{ ...tool, input_schema: parameters }] },
    expects: 'message_stop',
  },
  'token count': {
    weight: 5,
    path: '/v1/messages/count_tokens',
    body: { model, messages: [user('Hello!')] },
    expects: 'input_tokens',
  },
  models: { weight: 8, path: '/v1/models', body: null, expects: model },
  embeddings: { weight: 4, path: '/v1/embeddings', body: { model: 'svc-embed', input: ['one', 'two'] }, expects: '"embedding"' },
  'sign-in': { weight: 3, path: '/api/membership/auth/sign-in', body: {}, expects: '"account"' },
}

const shortTurn = { ...chat, stream: true, messages: [user('Say something short.')] }
const shortShapes: typeof shapes = {
  'short turn': { weight: 1, path: '/v1/chat/completions', body: shortTurn, expects: '[DONE]' },
}
const requestTimeoutMs = 120_000

export class MemberLoad {
  readonly #urls: readonly string[]
  readonly #members: readonly Member[]
  /** Names of shapes, each as often as its weight. */
  readonly #plan: readonly string[]
  readonly #bodies: ReadonlyMap<string, Buffer>
  readonly #shapes: typeof shapes
  readonly #dispatcher = new Agent({ connections: 64, pipelining: 1, allowH2: true, connect: { rejectUnauthorized: false } })
  #sentCount = 0

  constructor(urls: readonly string[], members: readonly Member[], kind: 'mixed' | 'short') {
    this.#urls = urls
    this.#members = members
    this.#shapes = kind === 'mixed' ? shapes : shortShapes
    this.#plan = spread(this.#shapes)
    this.#bodies = new Map(Object.entries(this.#shapes).map(([name, { body }]) => [name, Buffer.from(JSON.stringify(body))]))
  }

  /** Sends so many requests a second for so long; resolves when the last has been answered. */
  async run(seconds: number, perSecond: number): Promise<PhaseFigures> {
    const timesMs = new Map<string, number[]>()
    const failures: string[] = []
    const running: Promise<void>[] = []
    const began = performance.now()
    for (let nth = 0; nth < seconds * perSecond; nth++) {
      const dueMs = began + (nth * 1000) / perSecond
      await pause(Math.max(0, dueMs - performance.now()))
      const sent = this.#sentCount++
      const name = this.#plan[sent % this.#plan.length] ?? ''
      running.push(
        this.#send(name, sent).then((failure) => {
          // From when it was due, so that a stall counts for each request that it delays.
          timesMs.set(name, [...(timesMs.get(name) ?? []), performance.now() - dueMs])
          if (failure !== null) failures.push(`${name}: ${failure}`)
        }),
      )
    }
    await Promise.all(running)
    return { timesMs, failures }
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy()
  }

  /** Null if the answer is right. */
  async #send(name: string, sent: number): Promise<string | null> {
    const shape = this.#shapes[name]
    const nth = sent % this.#members.length
    const member = this.#members[nth]
    const url = this.#urls[sent % this.#urls.length]
    if (shape === undefined || member === undefined || url === undefined) return 'no such request'
    const isSignIn = name === 'sign-in'
    const body = isSignIn ? JSON.stringify({ email: member.email, password: memberPassword }) : this.#bodies.get(name)
    try {
      const { statusCode, body: answer } = await request(url + shape.path, {
        method: shape.body === null ? 'GET' : 'POST',
        dispatcher: this.#dispatcher,
        signal: AbortSignal.timeout(requestTimeoutMs),
        headers: {
          'x-forwarded-for': `198.51.100.${nth % 250}`,
          ...(shape.body === null ? {} : { 'content-type': 'application/json' }),
          ...(isSignIn ? { 'sec-fetch-site': 'same-origin' } : { authorization: `Bearer ${member.key}` }),
        },
        ...(shape.body === null ? {} : { body: body ?? null }),
      })
      const text = await answer.text()
      return statusCode === 200 && text.includes(shape.expects) ? null : `${statusCode} ${text.slice(0, 200)}`
    } catch (error) {
      return (error as { code?: string }).code ?? String(error)
    }
  }
}

/** Spreads the shapes evenly over one round of requests. */
function spread(all: typeof shapes): readonly string[] {
  return Object.entries(all)
    .flatMap(([name, { weight }]) => Array.from({ length: weight }, (_, index) => ({ name, at: (index + 0.5) / weight })))
    .toSorted((a, b) => a.at - b.at)
    .map(({ name }) => name)
}
