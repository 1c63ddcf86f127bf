/** A message of a conversation, and the conversation, as they are stored on the device. */
import type { ErrorEnvelope, TokenUsage } from '../api-types.ts'

export interface ChatMessage {
  readonly id: string
  /** Orders the messages of a conversation, also when two tabs add some at the same time. */
  readonly place: number
  readonly role: 'user' | 'assistant'
  content: string
  reasoning?: string
  /** How long the model reasoned before its first word. */
  reasoningMs?: number
  /** Pictures that the member attached, as data URLs. */
  readonly images?: readonly string[]
  /** The name of the model that answered. */
  model?: string
  /** Why a complete answer is shorter than it might be: stopped by the member, or the model's own reason. */
  cut?: 'stopped' | 'length' | 'content_filter'
  usage?: TokenUsage | null
  /** What the turns of this answer cost; null where the service did not report it in time. */
  credits?: number | null
  /** Why an answer is incomplete: `'left'` while it is written and for good if the page was closed meanwhile, or the failure. */
  unfinished?: 'left' | StoredFailure
}

/** A stored failure; without an envelope the answer broke off. */
export interface StoredFailure {
  readonly status: number
  readonly envelope: ErrorEnvelope | null
  /** Seconds, and Unix milliseconds. */
  readonly retryAfter?: number | null
  readonly resetsAt?: number | null
}

export interface ConversationRecord {
  readonly id: string
  title: string
  /** Whether the member chose the title. */
  named: boolean
  updatedAt: number
  /** Instructions that precede each request; empty for none. */
  system: string
  /** Null leaves it to the model. */
  temperature: number | null
}

/** Random, in pages without TLS too, where browsers offer no `randomUUID`. */
export function createId(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

const maxTitleLength = 60

/** The first words of a text, cut between words where it has any. */
export function toTitle(text: string): string {
  const line = text
    .trim()
    .replaceAll(/\s+/g, ' ')
    .slice(0, 4 * maxTitleLength)
  if (line.length <= maxTitleLength) return line
  const shortLine = line.slice(0, maxTitleLength)
  const end = shortLine.lastIndexOf(' ')
  return `${shortLine.slice(0, end > maxTitleLength / 2 ? end : maxTitleLength).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** The tokens of an answer that took more than one turn. */
export function addUsage(before: ChatMessage['usage'], usage: ChatMessage['usage']): ChatMessage['usage'] {
  if (before === null || before === undefined || usage === null || usage === undefined) return usage
  return {
    ...usage,
    prompt_tokens: before.prompt_tokens + usage.prompt_tokens,
    completion_tokens: before.completion_tokens + usage.completion_tokens,
    total_tokens: before.total_tokens + usage.total_tokens,
  }
}
