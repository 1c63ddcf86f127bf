/** Backups in a folder, for example of another disk. */
import { createReadStream, existsSync } from 'node:fs'
import { link, open, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { OperatorError, describeSystemError } from '../../system/operator-error.ts'
import type { BackupStorage, StoredFile } from './backup-storage.ts'

const partialSuffix = '.part'

export class FolderStorage implements BackupStorage {
  readonly location: string

  constructor(folder: string) {
    this.location = resolve(folder)
  }

  async list(): Promise<readonly StoredFile[]> {
    return this.#attempt('cannot be read', async () => {
      const files = (await readdir(this.location)).map(async (name) => {
        const status = await stat(join(this.location, name)).catch(() => null)
        return status?.isFile() === true ? [{ name, bytes: status.size }] : []
      })
      return (await Promise.all(files)).flat()
    })
  }

  async write(name: string, content: AsyncIterable<Uint8Array>): Promise<number> {
    return this.#attempt('cannot be written', async () => {
      const partialFile = join(this.location, `${name}${partialSuffix}`)
      const handle = await open(partialFile, 'wx', 0o600)
      try {
        let bytes = 0
        for await (const piece of content) {
          await handle.writeFile(piece)
          bytes += piece.length
        }
        await handle.sync()
        // Unlike a rename, a link never replaces an existing file.
        await link(partialFile, join(this.location, name))
        return bytes
      } finally {
        await handle.close()
        await rm(partialFile, { force: true })
        await this.#sync()
      }
    })
  }

  async *read(name: string): AsyncIterable<Uint8Array> {
    try {
      for await (const piece of createReadStream(join(this.location, name), { highWaterMark: 1024 ** 2 }))
        yield piece as Uint8Array
    } catch (error) {
      throw this.#describe('cannot be read', error)
    }
  }

  async remove(name: string): Promise<void> {
    await this.#attempt('cannot be changed', () => rm(join(this.location, name), { force: true }))
  }

  async removeUnfinished(before: number): Promise<void> {
    await this.#attempt('cannot be changed', async () => {
      for (const name of (await readdir(this.location)).filter((one) => one.endsWith(partialSuffix))) {
        const file = join(this.location, name)
        const status = await stat(file).catch(() => null)
        if (status?.isFile() === true && status.mtimeMs < before) await rm(file, { force: true })
      }
    })
  }

  async #sync(): Promise<void> {
    const handle = await open(this.location, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async #attempt<Result>(failure: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw this.#describe(failure, error)
    }
  }

  #describe(failure: string, error: unknown): OperatorError {
    if (error instanceof OperatorError) return error
    // Not created: behind a disk that is not mounted, the copies would be beside the original.
    if (!existsSync(this.location))
      return new OperatorError(`The folder ${this.location} does not exist. Create it, or mount the disk that it is on.`)
    return new OperatorError(`The folder ${this.location} ${failure}: ${describeSystemError(error)}.`, { cause: error })
  }
}
