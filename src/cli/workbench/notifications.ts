/**
 * The record of what was notified: kept in a file, so that it outlives the host; the newest 500. Where the file cannot be written (a
 * full disk) it is right until the host ends, and written whole with the next change that can be.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { WorkbenchError } from './protocol.ts'
import type { Notification } from './results.ts'

const mostKept = 500

/** Why the file could not be written; undefined where it was. */
type Unkept = string | undefined

export class Notifications {
  readonly #path: string
  #list: Notification[] = []
  #writing: Promise<Unkept> = Promise.resolve(undefined)
  #waiting: Promise<Unkept> | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Reads what an earlier host kept. A file that is not ours to read is as good as none. */
  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch(() => '[]')
    try {
      const list: unknown = JSON.parse(text)
      if (Array.isArray(list)) this.#list = list as Notification[]
    } catch {
      this.#list = []
    }
  }

  list(): readonly Notification[] {
    return this.#list
  }

  get(id: string): Notification {
    const found = this.#list.find((notification) => notification.id === id)
    if (!found) throw new WorkbenchError('not_found', `no notification ${id}`, { hint: 'svc notification list' })
    return found
  }

  oldestUnread(): Notification | undefined {
    return this.#list.find((notification) => !notification.read)
  }

  unreadOf(workspaceId: string): number {
    return this.#list.filter((notification) => notification.workspaceId === workspaceId && !notification.read).length
  }

  async add(notification: Notification): Promise<Unkept> {
    this.#list = [...this.#list, notification].slice(-mostKept)
    return this.#save()
  }

  async markRead(id: string): Promise<Notification> {
    const read = { ...this.get(id), read: true }
    this.#list = this.#list.map((notification) => (notification.id === id ? read : notification))
    await this.#save()
    return read
  }

  async remove(id: string): Promise<Notification> {
    const gone = this.get(id)
    this.#list = this.#list.filter((notification) => notification.id !== id)
    await this.#save()
    return gone
  }

  async clear(): Promise<number> {
    const cleared = this.#list.length
    this.#list = []
    await this.#save()
    return cleared
  }

  /** One write after another, each whole: a reader never sees half a file. */
  #save(): Promise<Unkept> {
    // Many at once become one write, of the list as it is when its turn comes.
    this.#waiting ??= this.#write(this.#writing)
    return this.#waiting
  }

  async #write(earlier: Promise<Unkept>): Promise<Unkept> {
    await earlier
    this.#writing = this.#waiting ?? earlier
    this.#waiting = undefined
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
