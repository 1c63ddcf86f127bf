/** The conversation on the page. Every change is stored at once, and a conversation without messages is not stored at all. */
import { createId, toTitle } from '../chat-message.ts'
import type { ChatMessage, ConversationRecord } from '../chat-message.ts'
import type { ConversationStore } from './conversation-store.ts'

/** What the chat endpoint receives for a message. */
export interface RequestMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string | readonly RequestPart[]
}
type RequestPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

interface RequestForm {
  /** An answer as the model is to read it. */
  readonly asText: (content: string) => string
  /** Whether the model sees pictures; for another one they are left out. */
  readonly withImages: boolean
}

export class OpenConversation {
  readonly #store: ConversationStore
  #record: ConversationRecord
  #messages: ChatMessage[]

  constructor(store: ConversationStore, stored?: { readonly record: ConversationRecord; readonly messages: ChatMessage[] }) {
    this.#store = store
    this.#record = stored?.record ?? {
      id: createId(),
      title: '',
      named: false,
      updatedAt: 0,
      system: '',
      temperature: null,
    }
    this.#messages = stored?.messages ?? []
  }

  get hasImages(): boolean {
    return this.#messages.some(({ images = [] }) => images.length > 0)
  }

  get record(): Readonly<ConversationRecord> {
    return this.#record
  }

  get id(): string {
    return this.#record.id
  }

  /** Oldest first. */
  get messages(): readonly ChatMessage[] {
    return this.#messages
  }

  /** The place of the next message. */
  get nextPlace(): number {
    return Math.max(Date.now(), (this.#messages.at(-1)?.place ?? 0) + 1)
  }

  add(message: ChatMessage): void {
    this.#messages.push(message)
    if (!this.#record.named && message.role === 'user') this.#retitle()
    this.save(message)
    this.#touch()
  }

  /** `isGrowing`: the answer is being written; other tabs are notified. */
  save(message: ChatMessage, isGrowing = false): void {
    if (this.#messages.includes(message)) void this.#store.saveMessage(this.id, message, isGrowing)
  }

  /** Removes a message and all after it, and returns them. */
  cutFrom(message: ChatMessage): ChatMessage[] {
    const at = this.#messages.indexOf(message)
    return at === -1 ? [] : this.remove(this.#messages.slice(at))
  }

  remove(messages: readonly ChatMessage[]): ChatMessage[] {
    const removedMessages = this.#messages.filter((message) => messages.includes(message))
    this.#messages = this.#messages.filter((message) => !removedMessages.includes(message))
    void this.#store.removeMessages(removedMessages.map(({ id }) => id))
    if (!this.#record.named) this.#retitle()
    return removedMessages
  }

  restore(messages: readonly ChatMessage[]): void {
    this.#messages = [...this.#messages, ...messages].sort((one, other) => one.place - other.place)
    for (const message of messages) this.save(message)
    if (!this.#record.named) this.#retitle()
    this.#touch()
  }

  update(changes: Partial<Pick<ConversationRecord, 'title' | 'named' | 'system' | 'temperature'>>): void {
    Object.assign(this.#record, changes)
    if (this.#messages.length > 0) void this.#store.saveConversation(this.#record)
  }

  /** The messages sent to the model: complete ones only, because it would take half an answer for its own whole one. */
  toRequest({ asText, withImages }: RequestForm): RequestMessage[] {
    const { system } = this.#record
    const instructions: RequestMessage[] = system === '' ? [] : [{ role: 'system', content: system }]
    const messages = this.#messages
      .filter(({ content, images = [], unfinished }) => (content !== '' || images.length > 0) && unfinished === undefined)
      .map(({ role, content, images = [] }): RequestMessage => {
        if (images.length === 0 || !withImages) return { role, content: asText(content) }
        const parts: RequestPart[] = images.map((url) => ({ type: 'image_url', image_url: { url } }))
        return { role, content: content === '' ? parts : [{ type: 'text', text: content }, ...parts] }
      })
    return [...instructions, ...messages.filter(({ content }) => content !== '')]
  }

  /** Tells the account's other tabs that an answer has ended. */
  announce(): void {
    if (this.#messages.length > 0) this.#touch()
  }

  #retitle(): void {
    this.#record.title = toTitle(this.#messages.find(({ role, content }) => role === 'user' && content !== '')?.content ?? '')
  }

  #touch(): void {
    this.#record.updatedAt = Date.now()
    void this.#store.saveConversation(this.#record)
  }
}
