/** Converts a complete upstream document to the product's response, with its usage. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { zeroUsage } from '../../exchange/exchange.ts'
import type { CallResult, Usage } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugin-chain.ts'
import { jsonHeaders } from '../../exchange/response-headers.ts'
import { clampCitations } from './citations.ts'
import { ClientEvents } from './client-events.ts'
import { needsNoFilter, filterResponse } from './response-filter.ts'
import type { FieldAllowlist } from './response-filter.ts'
import { isEmptyMessage, validateChoices } from './validate-completion.ts'
import { reconcileUsage, OutputCounter, findUsageReport, toPublicUsage, parseUsage } from './usage.ts'
import type { UsageBounds } from './usage.ts'

/** Input of both conversions. */
export interface BufferedCompletion {
  readonly document: Record<string, unknown>
  readonly allowlist: FieldAllowlist
  readonly bounds: UsageBounds
  readonly upstreamHost: string
  /** Usage measured during streaming, with the report it is based on, if the document was aggregated from a stream. */
  readonly streamUsage?: { readonly usage: Usage; readonly report: Record<string, unknown> | null }
}

/** @throws UpstreamFailure when the 200 is no success */
export function toCompletionResult(completion: BufferedCompletion): CallResult {
  const { usage, report } = completion.streamUsage ?? meterDocument(completion)
  const { usage: _, ...document } = completion.document
  const answer = needsNoFilter(document, completion.allowlist) ? document : filterResponse(document, completion.allowlist)
  const choices = validateChoices(answer, completion.upstreamHost).map(clampMessageCitations)
  const body = { ...answer, model: completion.allowlist.productId, choices, usage: toPublicUsage(report, usage) }
  return { usage, final: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body: JSON.stringify(body) } } }
}

/** The same for a client that requested a stream: one chunk per choice. @throws UpstreamFailure when the 200 is no success */
export function toSingleChunkResult(
  completion: BufferedCompletion,
  { includeUsage, onEvent, encoder }: Pick<CallContext, 'onEvent' | 'encoder'> & { readonly includeUsage: boolean },
): CallResult {
  const { usage, report } = completion.streamUsage ?? meterDocument(completion)
  const frames = new ClientEvents({ allowlist: completion.allowlist, includeUsage, onEvent, encoder })
  const { choices: _, usage: __, ...around } = completion.document
  const head = { ...around, object: 'chat.completion.chunk' }
  let all = ''
  for (const { message, finish_reason: finish, ...choice } of validateChoices(completion.document, completion.upstreamHost)) {
    const pieces = [
      { ...choice, delta: toDelta(message), finish_reason: null },
      { index: choice['index'], delta: {}, logprobs: null, finish_reason: finish },
    ]
    for (const piece of pieces) all += frames.consume({ ...head, choices: [piece] })
  }
  return { usage, final: { kind: 'trailer', frames: all + frames.buildTrailer(usage, report) } }
}

/** The usage that a complete document reports, or an estimate from its text. */
function meterDocument({ document, bounds, upstreamHost }: Pick<BufferedCompletion, 'document' | 'bounds' | 'upstreamHost'>): {
  readonly usage: Usage
  readonly report: Record<string, unknown> | null
} {
  const output = new OutputCounter()
  const choices = validateChoices(document, upstreamHost)
  for (const [index, { message }] of choices.entries()) if (isRecord(message)) output.add(message, index)
  const report = findUsageReport(document)
  // Nothing shows that the upstream has read the prompt.
  if (report === null && choices.every(({ message }) => isEmptyMessage(message)))
    return { usage: { ...zeroUsage, estimated: true }, report }
  return { usage: reconcileUsage(parseUsage(report), output, bounds), report }
}

function clampMessageCitations(choice: Record<string, unknown>): Record<string, unknown> {
  const { message } = choice
  if (!isRecord(message) || message['annotations'] === undefined) return choice
  const { content, annotations } = message
  return {
    ...choice,
    message: { ...message, annotations: clampCitations(annotations, typeof content === 'string' ? content.length : 0) },
  }
}

/** Converts a message to a single delta. In a stream, tool calls are numbered. */
function toDelta(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message['tool_calls'])) return message
  const calls = message['tool_calls'].map((call: unknown, index) => (isRecord(call) ? { index, ...call } : call))
  return { ...message, tool_calls: calls }
}
