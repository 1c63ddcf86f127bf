/**
 * The newest 500 notifications, stored in a file so that they outlive the host. If the file cannot be written (a full disk) they stay
 * in memory until the host ends, and the next successful write contains all of them.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Notification } from '../protocol/results.ts'
import { parseJson } from '../../../system/parse-json.ts'

const maxNotifications = 500

/** The reason why the last write failed; undefined after a success. */
type SaveError = string | undefined

export class NotificationStore {
  readonly #path: string
  #list: Notification[] = []
  #currentWrite: Promise<SaveError> = Promise.resolve(undefined)
  #queuedWrite: Promise<SaveError> | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Reads the notifications of an earlier host. A file in an unknown format counts as none. */
  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch(() => '[]')
    try {
      const list: unknown = parseJson(text)
      if (Array.isArray(list)) this.#list = list as Notification[]
    } catch {
      this.#list = []
    }
  }

  list(): readonly Notification[] {
    return this.#list
  }

  get(id: string): Notification {
    const matchingNotification = this.#list.find((notification) => notification.id === id)
    if (!matchingNotification) throw new WorkbenchError('not_found', `no notification ${id}`, { hint: 'svc notification list' })
    return matchingNotification
  }

  findOldestUnread(): Notification | undefined {
    return this.#list.find((notification) => !notification.read)
  }

  findNewestUnread(): Notification | undefined {
    return this.#list.findLast((notification) => !notification.read)
  }

  countUnread(workspaceId: string): number {
    return this.#list.filter((notification) => notification.workspaceId === workspaceId && !notification.read).length
  }

  async add(notification: Notification): Promise<SaveError> {
    this.#list = [...this.#list, notification].slice(-maxNotifications)
    return this.#save()
  }

  async markRead(id: string): Promise<Notification> {
    const markedNotification = { ...this.get(id), read: true }
    this.#list = this.#list.map((notification) => (notification.id === id ? markedNotification : notification))
    await this.#save()
    return markedNotification
  }

  async remove(id: string): Promise<Notification> {
    const removedNotification = this.get(id)
    this.#list = this.#list.filter((notification) => notification.id !== id)
    await this.#save()
    return removedNotification
  }

  async clear(): Promise<number> {
    const clearedCount = this.#list.length
    this.#list = []
    await this.#save()
    return clearedCount
  }

  /** Writes one after another, each whole: a reader never sees a partial file. */
  #save(): Promise<SaveError> {
    // Several changes become one write of the list at the time of the write.
    this.#queuedWrite ??= this.#write(this.#currentWrite)
    return this.#queuedWrite
  }

  async #write(earlier: Promise<SaveError>): Promise<SaveError> {
    await earlier
    this.#currentWrite = this.#queuedWrite ?? earlier
    this.#queuedWrite = undefined
    const text = JSON.stringify(this.#list)
    try {
      await writeFile(`${this.#path}.new`, text, { mode: 0o600 })
      await rename(`${this.#path}.new`, this.#path)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}
