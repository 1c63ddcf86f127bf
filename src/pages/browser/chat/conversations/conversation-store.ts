/**
 * The conversations of an account in this browser, in an IndexedDB database of the account's own. What the browser does not store
 * (forbidden or full storage) is kept in memory until the page is left, and `onProblem` reports that.
 */
import { openDB } from 'idb'
import type { DBSchema, IDBPDatabase } from 'idb'
import { listStoredKeys, readStored, writeStored } from '../../device-storage.ts'
import { getDatabaseName, getKeptKey, getLeftKeyPrefix } from '../../kept-conversations.ts'
import { createId } from '../chat-message.ts'
import type { ChatMessage, ConversationRecord } from '../chat-message.ts'

export type StoredMessage = ChatMessage & { readonly conversation: string }

interface Schema extends DBSchema {
  readonly conversations: { readonly key: string; readonly value: ConversationRecord }
  readonly messages: { readonly key: string; readonly value: StoredMessage; readonly indexes: { readonly conversation: string } }
}
type Name = 'conversations' | 'messages'
type Value<Store extends Name> = Schema[Store]['value']

/** Records of a page that was left before they were stored. */
interface KeptRecords {
  readonly conversations: readonly ConversationRecord[]
  readonly messages: readonly StoredMessage[]
  /** The message among them that the database had. */
  readonly storedBefore: string | null
}

/** Why the last write was refused: no storage at all, or no room. */
export type StorageProblem = 'forbidden' | 'full'

/** What another tab did. */
export type TabEvent =
  | { readonly kind: 'changed' | 'deleted'; readonly id: string }
  /** Asks for `writing` of a conversation. */
  | { readonly kind: 'asked'; readonly id: string }
  /** The tab writes an answer, of which a new state is stored. */
  | { readonly kind: 'writing'; readonly id: string; readonly message: string }
  /** The member signed out; `isRemoved`: and deletes the conversations. */
  | { readonly kind: 'cleared'; readonly isRemoved: boolean }

/** A removed conversation can be taken back this long, on any tab. */
export const undoMs = 10_000

const maxOpenMs = 3_000

export class ConversationStore {
  /** Called with null once everything is stored again. */
  onProblem: (problem: StorageProblem | null) => void = () => undefined
  onOtherTab: (event: TabEvent) => void = () => undefined
  readonly #account: string
  #database: IDBPDatabase<Schema> | null = null
  /** Records that the browser did not take, by id. */
  readonly #unsaved = { conversations: new Map<string, ConversationRecord>(), messages: new Map<string, StoredMessage>() }
  readonly #channel: BroadcastChannel
  #isCleared = false

  private constructor(account: string) {
    this.#account = account
    this.#channel = new BroadcastChannel(getDatabaseName(account))
    this.#channel.addEventListener('message', ({ data }: MessageEvent<TabEvent>) => this.onOtherTab(data))
  }

  static async open(account: string): Promise<ConversationStore> {
    const store = new ConversationStore(account)
    // A browser that neither opens nor refuses must not keep the page from working.
    const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), maxOpenMs))
    store.#database = await Promise.race([store.#open(), late]).catch(() => null)
    await store.recover()
    return store
  }

  async #open(): Promise<IDBPDatabase<Schema>> {
    return openDB<Schema>(getDatabaseName(this.#account), 1, {
      upgrade(database) {
        database.createObjectStore('conversations', { keyPath: 'id' })
        database.createObjectStore('messages', { keyPath: 'id' }).createIndex('conversation', 'conversation')
      },
      // Another tab deletes the database at sign-out.
      blocking: () => this.#database?.close(),
      terminated: () => (this.#database = null),
    })
  }

  get isPersistent(): boolean {
    return this.#database !== null
  }

  /** Newest first. */
  async list(): Promise<ConversationRecord[]> {
    const all = await this.#readAll('conversations')
    return all.filter(({ deletedAt }) => deletedAt === null).sort((one, other) => other.updatedAt - one.updatedAt)
  }

  async find(id: string): Promise<ConversationRecord | undefined> {
    const found = await this.#get('conversations', id)
    return found?.deletedAt === null ? found : undefined
  }

  findMessage(id: string): Promise<StoredMessage | undefined> {
    return this.#get('messages', id)
  }

  /** Oldest first. */
  async loadMessages(id: string): Promise<StoredMessage[]> {
    const stored = (await this.#database?.getAllFromIndex('messages', 'conversation', id).catch(() => [])) ?? []
    const unsaved = [...this.#unsaved.messages.values()].filter(({ conversation }) => conversation === id)
    const byId = new Map([...stored, ...unsaved].map((message) => [message.id, message]))
    return [...byId.values()].sort((one, other) => one.place - other.place)
  }

  /** The conversations whose title or messages contain the text, in any case. */
  async search(text: string): Promise<ConversationRecord[]> {
    const wanted = text.toLocaleLowerCase()
    const hits = new Set<string>()
    for (const { conversation, content } of await this.#readAll('messages'))
      if (!hits.has(conversation) && content.toLocaleLowerCase().includes(wanted)) hits.add(conversation)
    return (await this.list()).filter(({ id, title }) => hits.has(id) || title.toLocaleLowerCase().includes(wanted))
  }

  async saveConversation(record: ConversationRecord): Promise<void> {
    await this.#put('conversations', { ...record })
    this.announce({ kind: 'changed', id: record.id })
  }

  /** `isGrowing`: the answer is being written; other tabs are notified. */
  async saveMessage(conversation: string, message: ChatMessage, isGrowing = false): Promise<void> {
    await this.#put('messages', { ...message, conversation })
    if (isGrowing) this.announce({ kind: 'writing', id: conversation, message: message.id })
  }

  /** All deletions begin at once, so that a read which follows sees none of the messages. */
  async removeMessages(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#unsaved.messages.delete(id)
    await Promise.all(ids.map((id) => this.#database?.delete('messages', id).catch(() => undefined)))
  }

  /** Hides a conversation; `purge` removes it later, `restore` takes it back. */
  async remove(id: string, at: number): Promise<void> {
    await this.#setDeleted(id, at)
    this.announce({ kind: 'deleted', id })
  }

  async restore(id: string): Promise<void> {
    await this.#setDeleted(id, null)
    this.announce({ kind: 'changed', id })
  }

  /** Removes what was deleted before `at` for good. */
  async purge(at: number): Promise<void> {
    for (const { id, deletedAt } of await this.#readAll('conversations')) {
      if (deletedAt === null || deletedAt > at) continue
      await this.removeMessages((await this.loadMessages(id)).map((message) => message.id))
      this.#unsaved.conversations.delete(id)
      await this.#database?.delete('conversations', id).catch(() => undefined)
    }
  }

  /** Stores nothing from here on: the member has signed out. */
  close(): void {
    this.#isCleared = true
    this.#channel.close()
    this.#database?.close()
    this.#database = null
  }

  /**
   * Keeps what is not stored yet synchronously, for a page that is being left: a browser drops transactions that have not ended then. The
   * next page that opens the store puts it in its place. `running` is the message that is being written.
   */
  keepForNextPage(running: StoredMessage | null): void {
    if (this.#isCleared) return
    const { conversations, messages } = this.#unsaved
    const isStored = running !== null && !messages.has(running.id)
    const kept: KeptRecords = {
      conversations: [...conversations.values()],
      messages: [...[...messages.values()].filter(({ id }) => id !== running?.id), ...(running === null ? [] : [running])],
      storedBefore: isStored ? running.id : null,
    }
    if (kept.conversations.length + kept.messages.length > 0)
      writeStored('localStorage', `${getLeftKeyPrefix(this.#account)}${createId()}`, JSON.stringify(kept))
  }

  /** Stores what pages that were left have kept. */
  async recover(): Promise<void> {
    for (const key of listStoredKeys('localStorage', getLeftKeyPrefix(this.#account))) {
      const kept = readStored('localStorage', key)
      // Another tab was faster.
      if (kept === null) continue
      const { conversations, messages, storedBefore }: KeptRecords = JSON.parse(kept)
      writeStored('localStorage', key, null)
      for (const record of conversations) {
        const stored = await this.#get('conversations', record.id)
        if (stored === undefined || stored.updatedAt <= record.updatedAt) await this.#put('conversations', record)
      }
      for (const message of messages) {
        const stored = await this.#get('messages', message.id)
        // A message that was stored and is not there any more was removed meanwhile.
        const isRemoved = stored === undefined && message.id === storedBefore
        if (!isRemoved && (stored?.content.length ?? 0) <= message.content.length) await this.#put('messages', message)
      }
    }
  }

  async #setDeleted(id: string, deletedAt: number | null): Promise<void> {
    const found = await this.#get('conversations', id)
    if (found !== undefined) await this.#put('conversations', { ...found, deletedAt })
  }

  async #get<Store extends Name>(name: Store, id: string): Promise<Value<Store> | undefined> {
    const unsaved = this.#unsaved[name] as Map<string, Value<Store>>
    return unsaved.get(id) ?? (await this.#database?.get(name, id).catch(() => undefined))
  }

  async #readAll<Store extends Name>(name: Store): Promise<Value<Store>[]> {
    const stored = (await this.#database?.getAll(name).catch(() => [])) ?? []
    const unsaved = this.#unsaved[name] as Map<string, Value<Store>>
    return [...new Map([...stored.map((record) => [record.id, record] as const), ...unsaved]).values()]
  }

  async #put<Store extends Name>(name: Store, record: Value<Store>): Promise<void> {
    if (this.#isCleared) return
    const unsaved = this.#unsaved[name] as Map<string, Value<Store>>
    unsaved.set(record.id, record)
    if (this.#database === null) return this.onProblem('forbidden')
    try {
      await this.#database.put(name, record)
      // A newer state of the record may have come meanwhile.
      if (unsaved.get(record.id) === record) unsaved.delete(record.id)
      writeStored('localStorage', getKeptKey(this.#account), '1')
      await this.#saveUnsaved(record.id)
    } catch (failure) {
      this.onProblem(failure instanceof DOMException && failure.name === 'QuotaExceededError' ? 'full' : 'forbidden')
    }
  }

  /** Tries again what was refused earlier. @throws where it is refused again */
  async #saveUnsaved(justSaved: string): Promise<void> {
    for (const name of ['conversations', 'messages'] as const) {
      const unsaved = this.#unsaved[name] as Map<string, Value<typeof name>>
      for (const [id, record] of unsaved) {
        if (id === justSaved) continue
        await this.#database?.put(name, record)
        if (unsaved.get(id) === record) unsaved.delete(id)
      }
    }
    this.onProblem(null)
  }

  /** Tells the other tabs of the account. */
  announce(event: TabEvent): void {
    if (!this.#isCleared) this.#channel.postMessage(event)
  }
}
