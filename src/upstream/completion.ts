/** A whole answer: the upstream's document judged, metered, and shown as the product's. */
import { isRecord } from '../exchange/chat-request.ts'
import type { Answer, Usage } from '../exchange/exchange.ts'
import { placedIn } from './citations.ts'
import { UpstreamFailure } from './failure.ts'
import { Frames } from './frames.ts'
import { shown } from './shown.ts'
import type { View } from './shown.ts'
import { believed, OutputCounter, reportIn, shownUsage, usageOf } from './usage.ts'
import type { Measure } from './usage.ts'

/** What an answer is made from. */
export interface Whole {
  readonly document: Record<string, unknown>
  readonly view: View
  readonly measure: Measure
  readonly upstreamHost: string
  /** What was metered as it passed, with the report it rests on, where the document was put together from a stream. */
  readonly metered?: { readonly usage: Usage; readonly report: Record<string, unknown> | null }
}

/** @throws UpstreamFailure when the 200 is no success */
export function completionOf(whole: Whole): Answer {
  const { usage, report } = whole.metered ?? meteredIn(whole)
  const answer = shown(whole.document, whole.view)
  const choices = choicesOf(answer, whole.upstreamHost).map(withCheckedMessage)
  const body = { ...answer, model: whole.view.productId, choices, usage: shownUsage(report, usage) }
  return { usage, last: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body: JSON.stringify(body) } } }
}

/** The same for a client that awaits a stream: each choice in one piece. @throws UpstreamFailure when the 200 is no success */
export function completionInOnePiece(
  whole: Whole,
  { includeUsage, onEvent }: { readonly includeUsage: boolean; readonly onEvent: ((json: string) => void) | null },
): Answer {
  const { usage, report } = whole.metered ?? meteredIn(whole)
  const frames = new Frames({ view: whole.view, includeUsage, onEvent })
  const { choices: _, usage: __, ...around } = whole.document
  const head = { ...around, object: 'chat.completion.chunk' }
  let all = ''
  for (const { message, finish_reason: finish, ...choice } of choicesOf(whole.document, whole.upstreamHost)) {
    const pieces = [
      { ...choice, delta: deltaOf(message), finish_reason: null },
      { index: choice['index'], delta: {}, logprobs: null, finish_reason: finish },
    ]
    for (const piece of pieces) {
      const chunk = { ...head, choices: [piece] }
      all += frames.take(chunk, JSON.stringify(chunk))
    }
  }
  return { usage, last: { kind: 'tail', frames: all + frames.tail(usage, report) } }
}

/** A JSON object that does not say that it is an error. @throws UpstreamFailure */
export function documentOf(text: string, upstreamHost: string | null): Record<string, unknown> {
  if (text.trim() === '') throw failed('empty', upstreamHost)
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw failed('not_json', upstreamHost)
  }
  if (!isRecord(document)) throw failed('not_json', upstreamHost)
  const { error } = document
  if (error !== undefined && error !== null) throw failed('error_object', upstreamHost, error)
  if (document['object'] === 'error' || document['type'] === 'error') throw failed('error_object', upstreamHost, document)
  return document
}

/** The choices of a completion, each of which has come to a good end. @throws UpstreamFailure */
export function choicesOf({ choices }: Record<string, unknown>, upstreamHost: string | null): Record<string, unknown>[] {
  if (!Array.isArray(choices) || choices.length === 0) throw failed('empty', upstreamHost)
  return choices.map((choice: unknown) => {
    if (!isRecord(choice)) throw failed('empty', upstreamHost)
    if (choice['error'] !== undefined && choice['error'] !== null) throw failed('error_object', upstreamHost, choice['error'])
    const finish = choice['finish_reason']
    if (typeof finish !== 'string' || finish === '') throw failed('no_finish', upstreamHost)
    if (isBadFinish(finish)) throw failed('bad_finish', upstreamHost)
    return choice
  })
}

/** Finish reasons that mean the upstream broke off. */
export function isBadFinish(finish: string): boolean {
  return finish === 'error' || finish === 'abort' || finish === 'insufficient_system_resource'
}

/** What a document that came whole says it used, or what its text comes to. */
export function meteredIn({ document, measure, upstreamHost }: Pick<Whole, 'document' | 'measure' | 'upstreamHost'>): {
  readonly usage: Usage
  readonly report: Record<string, unknown> | null
} {
  const output = new OutputCounter()
  for (const { message } of choicesOf(document, upstreamHost)) if (isRecord(message)) output.add(message)
  const report = reportIn(document)
  return { usage: believed(usageOf(report), output, measure), report }
}

function failed(
  reason: 'not_json' | 'empty' | 'error_object' | 'bad_finish' | 'no_finish',
  upstreamHost: string | null,
  error?: unknown,
): UpstreamFailure {
  return new UpstreamFailure({ kind: 'in_band', status: 200, reason, ...(error === undefined ? {} : { error }) }, upstreamHost)
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' }

function withCheckedMessage(choice: Record<string, unknown>): Record<string, unknown> {
  const { message } = choice
  if (!isRecord(message) || message['annotations'] === undefined) return choice
  const { content, annotations } = message
  return {
    ...choice,
    message: { ...message, annotations: placedIn(annotations, typeof content === 'string' ? content.length : 0) },
  }
}

/** A message as the one piece of a stream: there, calls have numbers. */
function deltaOf(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message['tool_calls'])) return message
  const calls = message['tool_calls'].map((call: unknown, index) => (isRecord(call) ? { index, ...call } : call))
  return { ...message, tool_calls: calls }
}
