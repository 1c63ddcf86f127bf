import { usageFailure } from '../failure.ts'
import type { Client } from './client.ts'
import { pickSsh } from './pick.ts'

export interface RemotePlace {
  readonly sshId: string
  readonly path: string
}

/** `<ssh>:<path>`, as scp writes it; an empty path is the directory the connection begins in. */
export async function remotePlace(client: Client, word: string): Promise<RemotePlace> {
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
