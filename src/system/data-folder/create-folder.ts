/** Creates a folder with those above it. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * For paths that a person has chosen: Node's own recursive creation never ends where a file system such as /proc answers that a folder does not
 * exist although the one above it does. An existing folder keeps its permissions.
 * @throws the system's error
 */
export function createFolder(path: string, mode?: number): void {
  if (isFolder(path)) return
  const parent = dirname(path)
  if (!existsSync(parent)) createFolder(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
