/** The methods `files.…`: the files of the other end of an ssh connection that has been made. */
import type { Family, Handlers } from '../handler.ts'
import { limits, WorkbenchError } from '../protocol.ts'
import type { Workbench } from '../workbench.ts'
import { paneById } from '../workbench.ts'

export function filesMethods(bench: Workbench): Handlers<Family<'files'>> {
  const { ssh } = bench
  return {
    'files.list': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        const path = await sftp.realpath(pathOf(params.path, params.pathBase64))
        return { path: path.toString('utf8'), files: await sftp.list(path) }
      }),

    'files.stat': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => ({ file: await sftp.stat(pathOf(params.path, params.pathBase64)) })),

    'files.read': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        const length = params.length ?? limits.fileChunkBytes
        const { data, end } = await sftp.read(pathOf(params.path, params.pathBase64), params.offset, length)
        return { data: data.toString('base64'), bytes: data.length, end }
      }),

    'files.write': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        const data = Buffer.from(params.data, 'base64')
        const { truncate, mode } = params
        await sftp.write(pathOf(params.path, params.pathBase64), params.offset, data, {
          ...(truncate === undefined ? {} : { truncate }),
          ...(mode === undefined ? {} : { mode }),
        })
        return { bytes: data.length }
      }),

    'files.mkdir': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        await sftp.mkdir(pathOf(params.path, params.pathBase64))
        return { ok: true }
      }),

    'files.rename': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        const from = pathOf(params.path, params.pathBase64)
        await sftp.rename(from, pathOf(params.to, params.toBase64), params.replace ?? false)
        return { ok: true }
      }),

    'files.remove': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        await sftp.remove(pathOf(params.path, params.pathBase64))
        return { ok: true }
      }),

    'files.realpath': ({ params }) =>
      ssh.files(params.sshId, async (sftp) => {
        const path = await sftp.realpath(pathOf(params.path, params.pathBase64))
        return { path: path.toString('utf8') }
      }),

    'files.open': async ({ params }) => {
      const { paneId, explorer } = ssh.get(params.sshId)
      // Refused here, where the reason can be told, rather than in a pane that opens and goes.
      await ssh.files(params.sshId, (sftp) => sftp.ready())
      const path = params.path ?? explorer?.root ?? '.'
      const argv = [...bench.settings.svc, 'files', 'explore', `${params.sshId}:${path}`]
      return { pane: await paneById(bench, await bench.engine.split({ paneId, direction: 'right', argv })) }
    },
  }
}

/** A path as text, or as bytes where the remote name is not UTF-8: exactly one of them. */
function pathOf(text: string | undefined, base64: string | undefined): Buffer {
  if ((text === undefined) === (base64 === undefined))
    throw new WorkbenchError('invalid_params', 'name a path, either as text or as base64')
  const path = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
  if (path.includes(0)) throw new WorkbenchError('invalid_params', 'a path cannot hold a zero byte')
  return path
}
