/** What is compared: a program that answers turns, and how it is asked. */
import { request } from 'undici'
import type { Dispatcher } from 'undici'

export const shapes = ['whole', 'joined', 'streamed'] as const
/**
 * How the answer comes. `whole`: in one piece, from an upstream that gives no other, so that everybody is given the same bytes. `joined`: in
 * one piece, from an upstream that gives events to whoever asks for them, as we do. `streamed`: as 20 events.
 */
export type Shape = (typeof shapes)[number]

export const shapeNames = {
  whole: 'not streamed',
  joined: 'not streamed, 20 events from the upstream',
  streamed: 'streamed, 20 events',
} as const satisfies Record<Shape, string>

export interface Subject {
  readonly name: string
  /** Of chat completions. */
  readonly url: string
  readonly models: Readonly<Record<Shape, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Bearer tokens, of an account each, that turns take in turn; empty where nobody is asked for one. */
  readonly keys: readonly string[]
  readonly pid: number
  /** For ours: where it writes its turns, and where its metrics are read. */
  readonly own?: { readonly database: string; readonly metrics: string }
  stop(): Promise<void>
}

export const answerTokens = 20

/** What a program that passes models on is asked for. */
export const upstreamModels = { whole: 'demo-bench-whole', joined: 'demo-bench', streamed: 'demo-bench' } as const

/** One model for every shape. */
export function inEveryShape(model: string): Subject['models'] {
  return { whole: model, joined: model, streamed: model }
}

export function bodyOf({ models }: Subject, shape: Shape): string {
  const messages = [{ role: 'user', content: 'Say something short, please. It is for a benchmark.' }]
  return JSON.stringify({ model: models[shape], stream: shape === 'streamed', messages })
}

/** One turn, and the whole of its answer; `turn` chooses the key. @throws where it is no answer */
export async function ask(subject: Subject, shape: Shape, turn: number, dispatcher?: Dispatcher): Promise<string> {
  const key = subject.keys[turn % subject.keys.length]
  const { statusCode, body } = await request(subject.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...subject.headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: bodyOf(subject, shape),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${subject.name} answered ${statusCode}: ${text.slice(0, 300)}`)
  return text
}

/** A sentence where it does not do the work that the others do: its figures would be of something else. */
export async function whyNoAnswer(subject: Subject): Promise<string | null> {
  try {
    for (const shape of ['whole', 'joined'] as const) {
      const whole = JSON.parse(await ask(subject, shape, 0)) as { readonly usage?: { readonly completion_tokens?: unknown } }
      if (whole.usage?.completion_tokens !== answerTokens)
        return `${subject.name} gives no whole answer: ${JSON.stringify(whole)}`
    }
    const streamed = await ask(subject, 'streamed', 0)
    const events = streamed.split('\n').filter((line) => line.startsWith('data: {')).length
    if (events < answerTokens || !streamed.includes('data: [DONE]'))
      return `${subject.name} gives no whole stream: ${events} events in ${streamed.length} characters`
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
