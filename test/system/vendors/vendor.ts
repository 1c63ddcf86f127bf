/** What a vendor answers in its documented form, and what the gateway must make of it. */
import type { AnswerEvent, ReasoningField } from '../../../src/conversation/answer-event.ts'
import type { ErrorCode } from '../../../src/errors.ts'

export interface Vendor {
  readonly name: string
  /** A repository and the number of an issue or pull request on GitHub, a path in a repository, or an address. */
  readonly sources: readonly string[]
  readonly answers: readonly VendorAnswer[]
  readonly failures: readonly VendorFailure[]
}

export interface VendorAnswer {
  readonly name: string
  /** The events of the stream, without `[DONE]`. */
  readonly stream: readonly object[]
  readonly whole: object
  /** Of both, with joined pieces and without usage. */
  readonly events: readonly AnswerEvent[]
  /** What is charged. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly cachedInputTokens?: number }
}

export type VendorFailure = { readonly name: string; readonly code: ErrorCode } & (
  | { readonly status: number; readonly body: object | string; readonly retryAfter?: string }
  /** A stream that begins with status 200. */
  | { readonly stream: readonly object[] }
  /** A whole answer of status 200. */
  | { readonly whole: object }
)

export const text = (value: string): AnswerEvent => ({ kind: 'text', text: value })

export const reasoning = (value: string, field: ReasoningField = 'reasoning_content'): AnswerEvent => ({
  kind: 'reasoning',
  text: value,
  field,
})

export const call = (index: number, id: string, name: string, args: string): AnswerEvent => ({
  kind: 'call',
  index,
  id,
  name,
  arguments: args,
})

export const finish = (reason: string): AnswerEvent => ({ kind: 'finish', reason })

type Fields = Readonly<Record<string, unknown>>

/** Chunks of one choice around a vendor's own head; `null` deltas are left out. */
export function toChunks(head: Fields, deltas: readonly object[]): readonly object[] {
  return deltas.map((delta) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  }))
}

export function toCompletion(head: Fields, message: object, finishReason: string, usage: object): object {
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finishReason }],
    usage,
  }
}

/** OpenAI's form of an error. */
export const openAiError = (message: string, type: string, code: string | null = null) => ({
  error: { message, type, param: null, code },
})
