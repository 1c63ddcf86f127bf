/** Parses remote paths and derives local names from remote names. */
import { createUsageFailure } from '../../failure.ts'
import type { WorkbenchClient } from '../connection/workbench-client.ts'
import { resolveSshId } from '../connection/resolve-id.ts'

export interface RemotePath {
  readonly sshId: string
  readonly path: string
}

/** `<ssh>:<path>`, the notation of scp; an empty path is the directory in which the connection starts. */
export async function parseRemotePath(client: WorkbenchClient, word: string): Promise<RemotePath> {
  const at = word.indexOf(':')
  if (at < 1) {
    throw createUsageFailure(
      { en: `A remote path is <ssh-id>:<path>, not '${word}'.`, zh: `远程路径的格式为 <ssh-id>:<path>，而不是“${word}”。` },
      ['svc ssh list'],
    )
  }
  return { sshId: await resolveSshId(client, word.slice(0, at)), path: word.slice(at + 1) || '.' }
}

/** The last part of a path, as a local name. */
export function getBaseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? ''
}

export function joinRemotePath(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

/**
 * The proposed local name for a remote name. It comes from another machine, so it is reduced to one path segment: it cannot leave the
 * folder and contains no invisible or control characters.
 */
export function toLocalName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? ''
  const plain = last.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
  return /^[.\s]*$/.test(plain) ? 'download' : plain
}
