/** Names in the archive of a backup: what `svc-gateway backup gateway.db` writes, so that the unpacked archive can be restored by hand. */
import { createWriteStream, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { OperatorError } from '../system/operator-error.ts'
import { companionFiles } from './companion-files.ts'
import { readTar } from './tar-stream.ts'

export const archivedDatabase = 'gateway.db'
export const companionFolderName = companionFiles(archivedDatabase)

/** No other name is accepted: an archive of someone else could otherwise replace files outside the folder. */
const namePattern = /^gateway\.db(?:\.files\/(?:secret\.key|settlements-[\w-][\w.-]*|images(?:\/[\w-][\w.-]*)+))?$/

/** Reads an archive to its end as a restore would, and writes nothing. @throws OperatorError */
export async function checkArchive(archive: AsyncIterable<Uint8Array>): Promise<void> {
  await readBackup(archive, async (_name, content) => {
    for await (const _piece of content);
  })
}

/** Unpacks an archive into an empty folder. Returns the path of the database. @throws OperatorError */
export async function unpackArchive(archive: AsyncIterable<Uint8Array>, folder: string): Promise<string> {
  await readBackup(archive, async (name, content) => {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    await pipeline(content, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  })
  return join(folder, archivedDatabase)
}

async function readBackup(
  archive: AsyncIterable<Uint8Array>,
  store: (name: string, content: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  let hasDatabase = false
  await readTar(archive, async (name, content) => {
    if (!namePattern.test(name))
      throw new OperatorError(`The archive is not a backup of this service: it has a file ${JSON.stringify(name)}.`)
    hasDatabase ||= name === archivedDatabase
    await store(name, content)
  })
  if (!hasDatabase) throw new OperatorError('The archive is not a backup of this service: it has no database.')
}
