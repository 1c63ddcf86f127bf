/** What has been said, kept in this tab for this account and nowhere else. */
import type { Envelope } from './wire.ts'

/** Longer histories cost their reader more with every turn; the oldest messages are left behind. */
const mostCharacters = 2_000_000

export interface Message {
  readonly role: 'user' | 'assistant'
  content: string
  reasoning?: string
  /** The name of the model that answered. */
  readonly model?: string
  /** What kept an answer from its end: `'left'` while it is written and ever after if the page went away meanwhile, or the failure. */
  unfinished?: 'left' | KeptFailure
}

/** A failure as it is kept; without an envelope the answer broke off. */
export interface KeptFailure {
  readonly status: number
  readonly envelope: Envelope | null
}

export class Conversation {
  readonly #key: string
  /** Oldest first. */
  #messages: Message[]

  constructor(account: string) {
    this.#key = `conversation:${account}`
    this.#messages = read(this.#key)
  }

  get messages(): readonly Message[] {
    return this.#messages
  }

  add(message: Message): void {
    this.#messages.push(message)
    this.save()
  }

  clear(): void {
    this.#messages = []
    this.save()
  }

  remove(message: Message): void {
    this.#messages = this.#messages.filter((one) => one !== message)
    this.save()
  }

  /** What the model is sent: everything said to its end. Half an answer would look to it like its own whole one. */
  toRequest(asText: (content: string) => string): { role: Message['role']; content: string }[] {
    return this.#messages
      .filter(({ content, unfinished }) => content !== '' && unfinished === undefined)
      .map(({ role, content }) => ({ role, content: asText(content) }))
  }

  save(): void {
    let text = JSON.stringify(this.#messages)
    while (text.length > mostCharacters && this.#messages.length > 2) {
      this.#messages.splice(0, 2)
      text = JSON.stringify(this.#messages)
    }
    try {
      sessionStorage.setItem(this.#key, text)
    } catch {
      // A full or forbidden storage costs the history after a reload, not the conversation.
    }
  }
}

function read(key: string): Message[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isMessage) : []
  } catch {
    return []
  }
}

function isMessage(value: unknown): value is Message {
  return (
    typeof value === 'object' &&
    value !== null &&
    'role' in value &&
    (value.role === 'user' || value.role === 'assistant') &&
    'content' in value &&
    typeof value.content === 'string'
  )
}
