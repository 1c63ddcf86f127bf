/** A whole answer: the upstream's document judged, metered, and shown as the product's. */
import { isRecord } from '../exchange/chat-request.ts'
import type { Answer, Usage } from '../exchange/exchange.ts'
import { jsonHeaders } from '../exchange/headers.ts'
import { placedIn } from './citations.ts'
import { Frames } from './frames.ts'
import { isFitToShow, shown } from './shown.ts'
import type { View } from './shown.ts'
import { choicesOf } from './success.ts'
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
  const { usage: _, ...document } = whole.document
  const answer = isFitToShow(document, whole.view) ? document : shown(document, whole.view)
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
