/** The methods of the protocol for files on other machines. */
import { z } from 'zod'
import { id, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import { limits } from './protocol.ts'
import type { Pane, RemoteFile, Done } from './results.ts'

/** A remote path as text, or as bytes (base64) where it is not UTF-8. */
const place = { path: z.string().min(1).max(4_096).optional(), pathBase64: z.base64().max(8_192).optional() }
const remote = { sshId: id, ...place }

export const filesMethods = {
  'files.list': {
    summary: 'a remote directory',
    params: z.strictObject(remote),
    result: result<{ readonly path: string; readonly files: readonly RemoteFile[] }>(),
  },
  'files.stat': {
    summary: 'size, mode and time of a remote file',
    params: z.strictObject(remote),
    result: result<{ readonly file: RemoteFile }>(),
  },
  'files.read': {
    summary: 'a part of a remote file',
    params: z.strictObject({
      ...remote,
      offset: z.number().int().min(0),
      length: z.number().int().min(1).max(limits.fileChunkBytes).optional(),
    }),
    result: result<{ readonly data: string; readonly bytes: number; readonly end: boolean }>(),
  },
  'files.write': {
    summary: 'write a part of a remote file',
    params: z.strictObject({
      ...remote,
      offset: z.number().int().min(0),
      data: z.base64().max(Math.ceil(limits.fileChunkBytes / 3) * 4),
      truncate: z.boolean().optional(),
      mode: z.number().int().min(0).max(0o7777).optional(),
    }),
    result: result<{ readonly bytes: number }>(),
  },
  'files.mkdir': {
    summary: 'make a remote directory',
    params: z.strictObject(remote),
    result: result<Done>(),
  },
  'files.rename': {
    summary: 'give a remote file another name',
    params: z.strictObject({
      ...remote,
      to: z.string().min(1).max(4_096).optional(),
      toBase64: z.base64().max(8_192).optional(),
      replace: z.boolean().optional(),
    }),
    result: result<Done>(),
  },
  'files.remove': {
    summary: 'remove a remote file or an empty directory',
    params: z.strictObject(remote),
    result: result<Done>(),
  },
  'files.realpath': {
    summary: 'the absolute path',
    params: z.strictObject(remote),
    result: result<{ readonly path: string }>(),
  },
  'files.open': {
    summary: 'the file explorer, in a new pane',
    params: z.strictObject({ sshId: id, path: z.string().max(4_096).optional() }),
    result: result<{ readonly pane: Pane }>(),
  },
} as const satisfies Record<string, MethodDefinition>
