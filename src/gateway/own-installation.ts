/** An installation that is one server's own: all of it lies in its data folder. */
import { existsSync } from 'node:fs'
import { openSecret } from '../system/secret.ts'
import type { Installed, InstallationParts } from './installed.ts'
import { openOwnStore } from './open-store.ts'

/** Throws a sentence where it cannot be opened. */
export async function openOwnInstallation({ folder, clock, log, onTrouble }: InstallationParts): Promise<Installed> {
  const isNew = !folder.hasDatabase()
  const openToOthers = folder.prepare()
  if (openToOthers !== null) log.warn(openToOthers)
  const known = existsSync(folder.secret) ? openSecret(folder.secret) : null
  const store = await openOwnStore(folder, clock, log, onTrouble)
  if (known === null && !isNew) log.warn(`${folder.secret} was gone; with a new one, links to images sent before are void`)
  // A new one is made last, because it says that everything before it was done.
  const secret = known ?? openSecret(folder.secret)
  return {
    store,
    threads: store.threads,
    limitBook: null,
    imageFiles: null,
    letters: null,
    secret,
    begunIn: isNew ? folder.path : null,
  }
}
