/** Remote paths as they are typed, and what a remote name may become here. */
import { usageFailure } from '../failure.ts'
import type { WorkbenchClient } from './client.ts'
import { pickSsh } from './pick.ts'

export interface RemotePlace {
  readonly sshId: string
  readonly path: string
}

/** `<ssh>:<path>`, as scp writes it; an empty path is the directory the connection begins in. */
export async function remotePlace(client: WorkbenchClient, word: string): Promise<RemotePlace> {
  const at = word.indexOf(':')
  if (at < 1) {
    throw usageFailure(
      { en: `A remote path is <ssh-id>:<path>, not '${word}'.`, zh: `远程路径的格式为 <ssh-id>:<path>,而不是“${word}”。` },
      ['svc ssh list'],
    )
  }
  return { sshId: await pickSsh(client, word.slice(0, at)), path: word.slice(at + 1) || '.' }
}

/** The last part of a path, as it would be named here. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? ''
}

export function joinRemote(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

/**
 * What a remote name is proposed as here. It comes from another machine, so it is one name and no way: no part of it leads out of the
 * folder, and nothing in it is unseen or operates a terminal.
 */
export function localName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? ''
  const plain = last.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
  return /^[.\s]*$/.test(plain) ? 'download' : plain
}
