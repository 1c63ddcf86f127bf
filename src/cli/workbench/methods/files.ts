/** The methods `files.…`: the remote files of an open ssh connection. */
import type { Family, Handlers } from './handler.ts'
import { limits, WorkbenchError } from '../protocol/protocol.ts'
import type { Workbench } from '../workbench.ts'
import { getPane } from '../workbench.ts'

export function createFilesMethods(bench: Workbench): Handlers<Family<'files'>> {
  const { ssh } = bench
  return {
    'files.list': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        const path = await sftp.realpath(parsePath(params.path, params.pathBase64))
        return { path: path.toString('utf8'), files: await sftp.list(path) }
      }),

    'files.stat': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => ({ file: await sftp.stat(parsePath(params.path, params.pathBase64)) })),

    'files.read': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        const length = params.length ?? limits.fileChunkBytes
        const { data, end } = await sftp.read(parsePath(params.path, params.pathBase64), params.offset, length)
        return { data: data.toString('base64'), bytes: data.length, end }
      }),

    'files.write': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        const data = Buffer.from(params.data, 'base64')
        const { truncate, mode } = params
        await sftp.write(parsePath(params.path, params.pathBase64), params.offset, data, {
          ...(truncate === undefined ? {} : { truncate }),
          ...(mode === undefined ? {} : { mode }),
        })
        return { bytes: data.length }
      }),

    'files.mkdir': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        await sftp.mkdir(parsePath(params.path, params.pathBase64))
        return { ok: true }
      }),

    'files.rename': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        const from = parsePath(params.path, params.pathBase64)
        await sftp.rename(from, parsePath(params.to, params.toBase64), params.replace ?? false)
        return { ok: true }
      }),

    'files.remove': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        await sftp.remove(parsePath(params.path, params.pathBase64))
        return { ok: true }
      }),

    'files.realpath': ({ params }) =>
      ssh.withSftp(params.sshId, async (sftp) => {
        const path = await sftp.realpath(parsePath(params.path, params.pathBase64))
        return { path: path.toString('utf8') }
      }),

    'files.open': async ({ params }) => {
      const { paneId, explorer } = ssh.get(params.sshId)
      // Refused here with the reason, because a pane that opens and closes at once cannot show it.
      await ssh.withSftp(params.sshId, (sftp) => sftp.ready())
      const path = params.path ?? explorer?.root ?? '.'
      const argv = [...bench.settings.svc, 'files', 'explore', `${params.sshId}:${path}`]
      return { pane: await getPane(bench, await bench.engine.splitPane({ paneId, direction: 'right', argv })) }
    },
  }
}

/** A path as text, or as bytes where the remote name is not UTF-8: exactly one of them. */
function parsePath(text: string | undefined, base64: string | undefined): Buffer {
  if ((text === undefined) === (base64 === undefined))
    throw new WorkbenchError('invalid_params', 'name a path, either as text or as base64')
  const path = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
  if (path.includes(0)) throw new WorkbenchError('invalid_params', 'a path cannot hold a zero byte')
  return path
}
