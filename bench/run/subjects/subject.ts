/** A compared program that answers turns, and its requests. */
import { request } from 'undici'
import type { Dispatcher } from 'undici'

export const shapes = ['whole', 'joined', 'streamed'] as const
/**
 * The shape of the answer. `whole`: in one piece, from an upstream that sends no other, so that every subject receives the same bytes. `joined`: in
 * one piece, from an upstream that sends events to clients that request a stream, as the gateway does. `streamed`: as 20 events.
 */
export type Shape = (typeof shapes)[number]

export const shapeNames = {
  whole: 'not streamed',
  joined: 'not streamed, 20 events from the upstream',
  streamed: 'streamed, 20 events',
} as const satisfies Record<Shape, string>

/** API formats that the gateway translates, with the event that ends a stream. */
const lastEvents = { responses: 'event: response.completed', messages: 'event: message_stop' } as const
export type TranslatedFormat = keyof typeof lastEvents

export interface Subject {
  readonly name: string
  /** Address of chat completions, or of `apiFormat`. */
  readonly url: string
  /** The API format of requests and answers; chat completions if it is left out. */
  readonly apiFormat?: TranslatedFormat
  readonly models: Readonly<Record<Shape, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Bearer tokens, one per account, used in rotation; empty for a subject without authentication. */
  readonly keys: readonly string[]
  readonly pid: number
  /** For this gateway: the files of its turns, and the address of its metrics. */
  readonly own?: { readonly database: string; readonly metrics: string }
  stop(): Promise<void>
}

export const answerTokens = 20

/** The models requested from a program that forwards model names. */
export const upstreamModels = { whole: 'demo-bench-whole', joined: 'demo-bench', streamed: 'demo-bench' } as const

/** One model for every shape. */
export function useModelForEveryShape(model: string): Subject['models'] {
  return { whole: model, joined: model, streamed: model }
}

export function createBody({ models, apiFormat }: Subject, shape: Shape): string {
  const content = 'Say something short, please. It is for a benchmark.'
  const fields = { model: models[shape], stream: shape === 'streamed' }
  const messages = [{ role: 'user', content }]
  if (apiFormat === 'responses') return JSON.stringify({ ...fields, input: messages, store: false })
  return JSON.stringify(apiFormat === 'messages' ? { ...fields, messages, max_tokens: 1000 } : { ...fields, messages })
}

/** Runs one turn and reads its whole answer; `turn` selects the key. @throws if it is not an answer */
export async function sendTurn(subject: Subject, shape: Shape, turn: number, dispatcher?: Dispatcher): Promise<string> {
  const key = subject.keys[turn % subject.keys.length]
  const { statusCode, body } = await request(subject.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...subject.headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: createBody(subject, shape),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${subject.name} answered ${statusCode}: ${text.slice(0, 300)}`)
  return text
}

/** A sentence if it does not do the same work as the others, so that its figures cannot be compared. */
export async function describeWrongAnswer(subject: Subject): Promise<string | null> {
  try {
    for (const shape of ['whole', 'joined'] as const) {
      const whole = JSON.parse(await sendTurn(subject, shape, 0)) as { readonly usage?: Readonly<Record<string, unknown>> }
      if ((whole.usage?.['completion_tokens'] ?? whole.usage?.['output_tokens']) !== answerTokens)
        return `${subject.name} gives no whole answer: ${JSON.stringify(whole)}`
    }
    const streamed = await sendTurn(subject, 'streamed', 0)
    const events = streamed.split('\n').filter((line) => line.startsWith('data: {')).length
    const lastEvent = subject.apiFormat === undefined ? 'data: [DONE]' : lastEvents[subject.apiFormat]
    if (events < answerTokens || !streamed.includes(lastEvent))
      return `${subject.name} gives no whole stream: ${events} events in ${streamed.length} characters`
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
