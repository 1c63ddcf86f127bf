/** The answer that is being written: it is requested, stored while it grows, and ends in one of four ways. */
import type { ChatModel } from '../../page-data.ts'
import { ApiError } from '../api-client.ts'
import { getProps } from '../page.ts'
import { requestCompletion } from './chat-completion.ts'
import { createBrokenStreamError } from './chat-failure.ts'
import { addUsage } from './chat-message.ts'
import type { ChatMessage } from './chat-message.ts'
import type { OpenConversation, RequestMessage } from './conversations/open-conversation.ts'

const { statuses } = getProps('chat')
/** A discarded tab sends no `pagehide`; at most this much of an answer is lost with it. */
const saveIntervalMs = 1_000
/** Firefox and WebKit abort requests before `pagehide`: by milliseconds, or by as long as the next page takes to arrive. */
const leaveDelayMs = 150
const navigationDelayMs = 5_000

/** `left`: the page was left meanwhile, so that a request which the browser ended is no failure. */
export type AnswerEnd =
  | { readonly kind: 'complete' | 'stopped' | 'left' }
  | { readonly kind: 'failed'; readonly failure: ApiError }

export class AnswerRun {
  readonly conversation: OpenConversation
  readonly message: ChatMessage
  /** The turn's id, once the answer has begun. */
  requestId: string | null = null
  readonly #abort = new AbortController()
  #isLeft = false

  constructor(conversation: OpenConversation, message: ChatMessage) {
    this.conversation = conversation
    this.message = message
  }

  stop(): void {
    this.#abort.abort()
  }

  /** The page is being left. */
  leave(): void {
    this.#isLeft = true
  }

  /** Writes the answer into the message. `isLeaving`: the page may be about to be left. */
  async write(
    { model, messages }: { readonly model: ChatModel; readonly messages: readonly RequestMessage[] },
    onUpdate: () => void,
    getLeavingSince: () => number,
  ): Promise<AnswerEnd> {
    const { message, conversation } = this
    const before = message.usage
    const saveTimer = setInterval(() => conversation.save(message, true), saveIntervalMs)
    try {
      await this.#receive(model, messages, before, onUpdate)
      return { kind: 'complete' }
    } catch (thrown) {
      const isStopped = thrown instanceof DOMException && thrown.name === 'AbortError'
      const isLeaving = performance.now() - getLeavingSince() < navigationDelayMs
      if (!isStopped) await new Promise((resolve) => setTimeout(resolve, isLeaving ? navigationDelayMs : leaveDelayMs))
      if (this.#isLeft) return { kind: 'left' }
      if (isStopped) {
        delete message.unfinished
        message.cut = 'stopped'
        return { kind: 'stopped' }
      }
      const failure = thrown instanceof ApiError ? thrown : createBrokenStreamError()
      const { status, envelope, retryAfter, resetsAt } = failure
      message.unfinished = { status, envelope, retryAfter, resetsAt }
      return { kind: 'failed', failure }
    } finally {
      clearInterval(saveTimer)
    }
  }

  async #receive(
    model: ChatModel,
    messages: readonly RequestMessage[],
    usage: ChatMessage['usage'],
    onUpdate: () => void,
  ): Promise<void> {
    const { message, conversation } = this
    const { signal } = this.#abort
    const temperature = model.capabilities.includes('chat') ? conversation.record.temperature : null
    let startedMs: number | null = null
    const finish = await requestCompletion(
      { model, messages, temperature, signal, statuses },
      (delta) => {
        if (delta.reasoning !== '') startedMs ??= performance.now()
        if (delta.content !== '' && startedMs !== null) message.reasoningMs ??= performance.now() - startedMs
        message.content += delta.content
        message.reasoning = (message.reasoning ?? '') + delta.reasoning
        onUpdate()
      },
      ({ requestId }) => (this.requestId = requestId),
    )
    if (finish === null) throw createBrokenStreamError()
    delete message.unfinished
    message.usage = addUsage(usage, finish.usage) ?? null
    if (finish.reason === 'length' || finish.reason === 'content_filter') message.cut = finish.reason
  }
}
