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
import { listMarkedRemoved, parseAll, parseConversation, parseKeptRecords, parseMessage } from './parse-records.ts'
import type { KeptRecords, StoredMessage } from './parse-records.ts'

interface Schema extends DBSchema {
  readonly conversations: { readonly key: string; readonly value: ConversationRecord }
  readonly messages: { readonly key: string; readonly value: StoredMessage; readonly indexes: { readonly conversation: string } }
}
type Name = 'conversations' | 'messages'
type Value<Store extends Name> = Schema[Store]['value']

/** A removed conversation, in the memory of this page alone. */
interface RemovedConversation {
  /** Whether another tab has removed it, and alone can take it back. */
  readonly isElsewhere: boolean
  record: ConversationRecord | undefined
  readonly messages: Map<string, StoredMessage>
  /** The end of its removal from the database. */
  done: Promise<void>
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

const maxOpenMs = 3_000

const nothingKept: KeptRecords = { conversations: [], messages: [], storedBefore: null, removed: [] }

const parsers: { readonly [Store in Name]: (value: unknown) => Value<Store> | undefined } = {
  conversations: parseConversation,
  messages: parseMessage,
}

export class ConversationStore {
  /** Called with null once everything is stored again. */
  onProblem: (problem: StorageProblem | null) => void = () => undefined
  onOtherTab: (event: TabEvent) => void = () => undefined
  readonly #account: string
  #database: IDBPDatabase<Schema> | null = null
  /** Records that the browser did not take, by id. */
  readonly #unsaved = { conversations: new Map<string, ConversationRecord>(), messages: new Map<string, StoredMessage>() }
  /** What is written of them is kept here, so that an answer in progress does not bring a removed conversation back. */
  readonly #removed = new Map<string, RemovedConversation>()
  readonly #channel: BroadcastChannel
  #isCleared = false

  private constructor(account: string) {
    this.#account = account
    this.#channel = new BroadcastChannel(getDatabaseName(account))
    this.#channel.addEventListener('message', ({ data }: MessageEvent<TabEvent>) => {
      this.#followRemoval(data)
      this.onOtherTab(data)
    })
  }

  static async open(account: string): Promise<ConversationStore> {
    const store = new ConversationStore(account)
    // A browser that neither opens nor refuses must not keep the page from working.
    const openTimeout = new Promise<null>((resolve) => setTimeout(() => resolve(null), maxOpenMs))
    store.#database = await Promise.race([store.#open(), openTimeout]).catch(() => null)
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
    return all.filter(({ id }) => !this.#removed.has(id)).sort((one, other) => other.updatedAt - one.updatedAt)
  }

  async find(id: string): Promise<ConversationRecord | undefined> {
    return this.#removed.has(id) ? undefined : this.#get('conversations', id)
  }

  findMessage(id: string): Promise<StoredMessage | undefined> {
    return this.#get('messages', id)
  }

  /** Oldest first. */
  async loadMessages(id: string): Promise<StoredMessage[]> {
    const storedMessages = parseAll(await this.#readStored('messages', id), parseMessage)
    const unsavedMessages = [...this.#unsaved.messages.values()].filter(({ conversation }) => conversation === id)
    const byId = new Map([...storedMessages, ...unsavedMessages].map((message) => [message.id, message]))
    return [...byId.values()].sort((one, other) => one.place - other.place)
  }

  /** The conversations whose title or messages contain the text, in any case. */
  async search(text: string): Promise<ConversationRecord[]> {
    const lowerCaseText = text.toLowerCase()
    const hits = new Set<string>()
    // Only the two fields that decide are checked: parsing each message takes longer than reading it.
    for (const message of [...(await this.#readStored('messages')), ...this.#unsaved.messages.values()]) {
      if (!isSearchable(message) || hits.has(message.conversation)) continue
      if (message.content.toLowerCase().includes(lowerCaseText)) hits.add(message.conversation)
    }
    return (await this.list()).filter(({ id, title }) => hits.has(id) || title.toLowerCase().includes(lowerCaseText))
  }

  async saveConversation(record: ConversationRecord): Promise<void> {
    await this.#put('conversations', { ...record })
    if (!this.#removed.has(record.id)) this.announce({ kind: 'changed', id: record.id })
  }

  /** `isGrowing`: the answer is being written; other tabs are notified. */
  async saveMessage(conversation: string, message: ChatMessage, isGrowing = false): Promise<void> {
    await this.#put('messages', { ...message, conversation })
    if (isGrowing) this.announce({ kind: 'writing', id: conversation, message: message.id })
  }

  /** All deletions begin at once, so that a read which follows sees none of the messages. */
  async removeMessages(ids: readonly string[]): Promise<void> {
    for (const messages of [this.#unsaved.messages, ...[...this.#removed.values()].map((removed) => removed.messages)])
      for (const id of ids) messages.delete(id)
    await Promise.all(ids.map((id) => this.#database?.delete('messages', id).catch(() => undefined)))
  }

  /** Removes a conversation for good. Until the page is left, `restore` takes it back. */
  async remove(id: string): Promise<void> {
    const removedConversation = this.#startRemoval(id, false)
    removedConversation.done = this.#finishRemoval(id, removedConversation)
    await removedConversation.done
    this.announce({ kind: 'deleted', id })
  }

  #startRemoval(id: string, isElsewhere: boolean): RemovedConversation {
    const removedConversation = {
      isElsewhere,
      record: undefined,
      messages: new Map<string, StoredMessage>(),
      done: Promise.resolve(),
    }
    this.#removed.set(id, removedConversation)
    return removedConversation
  }

  async #finishRemoval(id: string, removed: RemovedConversation): Promise<void> {
    // A browser drops a transaction that has not ended when the page is left; the next page ends the removal then.
    const key = this.#keep({ ...nothingKept, removed: [id] })
    const [record, messages] = await Promise.all([this.#get('conversations', id), this.loadMessages(id)])
    // What was written meanwhile is newer.
    removed.record ??= record
    for (const message of messages) if (!removed.messages.has(message.id)) removed.messages.set(message.id, message)
    if (await this.#delete(id)) writeStored('localStorage', key, null)
  }

  async restore(id: string): Promise<void> {
    const removedConversation = this.#removed.get(id)
    await removedConversation?.done
    if (removedConversation?.record === undefined) return
    this.#removed.delete(id)
    await Promise.all([...removedConversation.messages.values()].map((message) => this.#put('messages', message)))
    await this.saveConversation(removedConversation.record)
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
   * next page that opens the store puts it in its place. `message` is being written.
   */
  keepForNextPage(message: StoredMessage | null): void {
    if (this.#isCleared) return
    const runningMessage = message === null || this.#removed.has(message.conversation) ? null : message
    const { conversations, messages } = this.#unsaved
    const isStored = runningMessage !== null && !messages.has(runningMessage.id)
    const keptRecords = {
      conversations: [...conversations.values()],
      messages: [
        ...[...messages.values()].filter(({ id }) => id !== runningMessage?.id),
        ...(runningMessage === null ? [] : [runningMessage]),
      ],
      storedBefore: isStored ? runningMessage.id : null,
      removed: [],
    }
    if (keptRecords.conversations.length + keptRecords.messages.length > 0) this.#keep(keptRecords)
  }

  /** Returns the key. */
  #keep(records: KeptRecords): string {
    const key = `${getLeftKeyPrefix(this.#account)}${createId()}`
    writeStored('localStorage', key, JSON.stringify(records))
    return key
  }

  /** Stores what pages that were left have kept. */
  async recover(): Promise<void> {
    for (const key of listStoredKeys('localStorage', getLeftKeyPrefix(this.#account))) {
      const keptText = readStored('localStorage', key)
      // Another tab was faster.
      if (keptText === null) continue
      const { conversations, messages, storedBefore, removed } = parseKeptRecords(keptText) ?? nothingKept
      const isRemoved = (await Promise.all(removed.map((id) => this.#delete(id)))).every(Boolean)
      if (isRemoved) writeStored('localStorage', key, null)
      for (const record of conversations) {
        const storedRecord = await this.#get('conversations', record.id)
        if (storedRecord === undefined || storedRecord.updatedAt <= record.updatedAt) await this.#put('conversations', record)
      }
      for (const message of messages) {
        const storedMessage = await this.#get('messages', message.id)
        // A message that was stored and is not there any more was removed meanwhile.
        const isRemoved = storedMessage === undefined && message.id === storedBefore
        if (!isRemoved && (storedMessage?.content.length ?? 0) <= message.content.length) await this.#put('messages', message)
      }
    }
    for (const id of listMarkedRemoved(await this.#readStored('conversations'))) await this.#delete(id)
  }

  /** Removes a conversation with its messages in one transaction; returns whether the database has none of it any more. */
  async #delete(id: string): Promise<boolean> {
    const { conversations, messages } = this.#unsaved
    conversations.delete(id)
    for (const message of messages.values()) if (message.conversation === id) messages.delete(message.id)
    if (this.#database === null) return true
    try {
      const transaction = this.#database.transaction(['conversations', 'messages'], 'readwrite')
      const isDone = transaction.done.then(
        () => true,
        () => false,
      )
      const messageStore = transaction.objectStore('messages')
      const keys = await messageStore.index('conversation').getAllKeys(id)
      await Promise.all([...keys.map((key) => messageStore.delete(key)), transaction.objectStore('conversations').delete(id)])
      return await isDone
    } catch {
      return false
    }
  }

  /** What this tab wrote before it learned of the removal is removed, and it writes no more until the conversation is taken back. */
  #followRemoval(event: TabEvent): void {
    if (event.kind === 'deleted' && !this.#removed.has(event.id)) {
      this.#startRemoval(event.id, true)
      void this.#delete(event.id)
    }
    if (event.kind === 'changed' && this.#removed.get(event.id)?.isElsewhere === true) this.#removed.delete(event.id)
  }

  async #get<Store extends Name>(name: Store, id: string): Promise<Value<Store> | undefined> {
    const unsavedValues = this.#unsaved[name] as Map<string, Value<Store>>
    return unsavedValues.get(id) ?? parsers[name](await this.#database?.get(name, id).catch(() => undefined))
  }

  async #readAll<Store extends Name>(name: Store): Promise<Value<Store>[]> {
    const unsavedValues = this.#unsaved[name] as Map<string, Value<Store>>
    const storedValues = parseAll(await this.#readStored(name), parsers[name])
    return [...new Map([...storedValues.map((record) => [record.id, record] as const), ...unsavedValues]).values()]
  }

  /** Values of a whole store, or of one conversation. Where the browser cannot read one of them, the others are read one by one. */
  async #readStored(name: Name, conversation?: string): Promise<unknown[]> {
    const database = this.#database
    if (database === null) return []
    const byConversation = conversation !== undefined
    try {
      return byConversation
        ? await database.getAllFromIndex('messages', 'conversation', conversation)
        : await database.getAll(name)
    } catch {
      const keyReading = byConversation
        ? database.getAllKeysFromIndex('messages', 'conversation', conversation)
        : database.getAllKeys(name)
      const keys = await keyReading.catch(() => [])
      return Promise.all(keys.map((key) => database.get(name, key).catch(() => undefined)))
    }
  }

  /** Whether the record is of a removed conversation; then it is kept in memory, to be stored if the conversation is taken back. */
  #holdRemoved(record: ConversationRecord | StoredMessage): boolean {
    const removedConversation = this.#removed.get('conversation' in record ? record.conversation : record.id)
    if (removedConversation === undefined) return false
    if ('conversation' in record) removedConversation.messages.set(record.id, record)
    else removedConversation.record = record
    return true
  }

  async #put<Store extends Name>(name: Store, record: Value<Store>): Promise<void> {
    if (this.#isCleared || this.#holdRemoved(record)) return
    const unsavedValues = this.#unsaved[name] as Map<string, Value<Store>>
    unsavedValues.set(record.id, record)
    if (this.#database === null) return this.onProblem('forbidden')
    try {
      await this.#database.put(name, record)
      // A newer state of the record may have come meanwhile.
      if (unsavedValues.get(record.id) === record) unsavedValues.delete(record.id)
      writeStored('localStorage', getKeptKey(this.#account), '1')
      await this.#saveUnsaved(record.id)
    } catch (failure) {
      this.onProblem(failure instanceof DOMException && failure.name === 'QuotaExceededError' ? 'full' : 'forbidden')
    }
  }

  /** Tries again what was refused earlier. @throws where it is refused again */
  async #saveUnsaved(justSaved: string): Promise<void> {
    for (const name of ['conversations', 'messages'] as const) {
      const unsavedRecords = this.#unsaved[name] as Map<string, Value<typeof name>>
      for (const [id, record] of unsavedRecords) {
        if (id === justSaved) continue
        await this.#database?.put(name, record)
        if (unsavedRecords.get(id) === record) unsavedRecords.delete(id)
      }
    }
    this.onProblem(null)
  }

  /** Tells the other tabs of the account. */
  announce(event: TabEvent): void {
    if (!this.#isCleared) this.#channel.postMessage(event)
  }
}

function isSearchable(value: unknown): value is Pick<StoredMessage, 'conversation' | 'content'> {
  const { conversation, content } = (value ?? {}) as Partial<Record<'conversation' | 'content', unknown>>
  return typeof conversation === 'string' && typeof content === 'string'
}
