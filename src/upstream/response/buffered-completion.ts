/** Converts a whole answer to the product's response, with its usage. */
import type { ChatAnswerContext } from '../../codecs/chat/chat-encoder.ts'
import { zeroUsage } from '../../exchange/exchange.ts'
import type { CallResult, Usage } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import { jsonHeaders } from '../../exchange/response-headers.ts'
import { clampCompletionCitations } from '../../codecs/chat/clamp-citations.ts'
import { ClientEvents } from '../../codecs/chat/client-events.ts'
import { needsNoFilter, filterResponse } from '../../codecs/chat/response-filter.ts'
import type { FieldAllowlist } from '../../codecs/chat/response-filter.ts'
import { reconcileUsage, OutputCounter, toPublicUsage, parseUsage } from './usage.ts'
import type { UsageBounds } from './usage.ts'
import type { WholeAnswer } from './whole-answer.ts'

/** Input of both conversions. */
export interface BufferedCompletion {
  readonly answer: WholeAnswer
  readonly allowlist: FieldAllowlist
  readonly bounds: UsageBounds
  readonly context: ChatAnswerContext
  readonly upstreamHost: string
  /** Usage measured during streaming, with the report it is based on, if the answer was aggregated from a stream. */
  readonly streamUsage?: MeasuredUsage
}

interface MeasuredUsage {
  readonly usage: Usage
  readonly report: Record<string, unknown> | null
}

/** @throws UpstreamFailure when the 200 is no success */
export function toCompletionResult(completion: BufferedCompletion, { encoder }: Pick<CallContext, 'encoder'> = {}): CallResult {
  const { answer } = completion
  const { usage, report } = meterAnswer(completion)
  const publicUsage = toPublicUsage(report, usage)
  const body =
    encoder === undefined
      ? JSON.stringify({ ...toPublicCompletion(completion), usage: publicUsage })
      : encoder.whole([...answer.toEvents(), { kind: 'usage', usage: publicUsage }])
  return { usage, final: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body } } }
}

/**
 * The same for a client that requested a stream: one chunk per choice. The upstream cannot stream, or has ignored that a stream was requested.
 * @throws UpstreamFailure when the 200 is no success
 */
export function toSingleChunkResult(
  completion: BufferedCompletion,
  options: Pick<CallContext, 'onEvent' | 'encoder' | 'describeCharge'> & { readonly includeUsage: boolean },
): CallResult {
  const { usage, report } = meterAnswer(completion)
  const { allowlist, context } = completion
  const events = new ClientEvents({ ...options, allowlist, context })
  return {
    usage,
    final: {
      kind: 'trailer',
      frames:
        completion.answer.writeTo(events) + events.buildTrailer(toPublicUsage(report, usage), options.describeCharge?.(usage)),
    },
  }
}

function toPublicCompletion({ answer, allowlist }: BufferedCompletion): Record<string, unknown> {
  const { usage: _, ...document } = answer.toCompletion()
  const filteredCompletion = needsNoFilter(document, allowlist) ? document : filterResponse(document, allowlist)
  return { ...clampCompletionCitations(filteredCompletion), model: allowlist.productId }
}

/** The usage that an answer reports, or an estimate from its text. @throws UpstreamFailure when the answer is no success */
function meterAnswer({ answer, bounds, upstreamHost, streamUsage }: BufferedCompletion): MeasuredUsage {
  if (streamUsage !== undefined) return streamUsage
  const output = new OutputCounter()
  const hasOutput = answer.measure(output, upstreamHost)
  const { report } = answer
  // Nothing shows that the upstream has read the prompt.
  if (report === null && !hasOutput) return { usage: { ...zeroUsage, estimated: true }, report }
  return { usage: reconcileUsage(parseUsage(report), output, bounds), report }
}
