/** Transfers files to and from a remote machine in pipelined chunks. */
import { open, rename, rm, stat } from 'node:fs/promises'
import { CommandFailure, createInterruptedFailure, createUnwritableFailure } from '../../failure.ts'
import { limits } from '../../workbench/protocol/protocol.ts'
import type { RemoteFile } from '../../workbench/protocol/results.ts'
import type { WorkbenchClient } from '../connection/workbench-client.ts'
import type { RemotePath } from './remote-path.ts'

/** Number of chunks in flight. */
const maxChunksInFlight = 4

/** Receives the number of transferred bytes from time to time. */
type Progress = (bytes: number) => void

/** Downloads a remote file. The file gets its name only when complete: a broken transfer leaves no partial file. */
export async function download(client: WorkbenchClient, from: RemotePath, to: string, progress: Progress): Promise<number> {
  // The rename would replace a device or a pipe for all its users.
  const there = await stat(to).catch(() => undefined)
  if (there?.isFile() === false) throw createNotFileFailure(to)
  const part = `${to}.part-${process.pid}`
  const file = await open(part, 'wx', 0o600).catch((cause: unknown) => {
    throw createUnwritableFailure(to, cause)
  })
  try {
    let offset = 0
    for (let end = false; !end;) {
      const piece = await client.call('files.read', { ...from, offset })
      const data = Buffer.from(piece.data, 'base64')
      // A nearly full disk accepts a part of the bytes without an error.
      for (let writtenBytes = 0; writtenBytes < data.length;)
        writtenBytes += (await file.write(data, writtenBytes, data.length - writtenBytes, offset + writtenBytes)).bytesWritten
      offset += data.length
      end = piece.end
      progress(offset)
    }
    const { file: facts } = await client.call('files.stat', from)
    if (facts.type === 'file') await file.chmod(facts.mode & 0o777)
    await file.sync()
    await file.close()
    await rename(part, to)
    return offset
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(part, { force: true })
    throw error
  }
}

/**
 * Uploads a local file under a temporary name, then renames it in one step. A link stays and its target is replaced. A broken or
 * stopped transfer leaves no partial file on the remote machine.
 */
export async function upload(
  client: WorkbenchClient,
  from: string,
  to: RemotePath,
  progress: Progress,
  stop?: AbortSignal,
): Promise<number> {
  const there = await resolveLinks(client, to)
  if (there.type !== undefined && there.type !== 'file') throw createNotFileFailure(to.path)
  const { sshId, path } = there.target
  const part = `${path}.part-${process.pid}`
  const file = await open(from, 'r').catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailure('file_unreadable', { en: `Cannot read ${from}: ${why}`, zh: `无法读取 ${from}：${why}` }, { cause })
  })
  try {
    const { size, mode } = await file.stat()
    // Each chunk opens the file again, so its owner needs write permission, also where the local file has none.
    await client.call('files.write', { sshId, path: part, offset: 0, data: '', truncate: true, mode: (mode & 0o777) | 0o200 })
    let sentBytes = 0
    const starts = Array.from({ length: Math.ceil(size / limits.fileChunkBytes) }, (_, index) => index * limits.fileChunkBytes)
    const lanes = Array.from({ length: maxChunksInFlight }, async () => {
      for (let start = starts.shift(); start !== undefined; start = starts.shift()) {
        if (stop?.aborted === true) throw createInterruptedFailure()
        const buffer = Buffer.alloc(Math.min(limits.fileChunkBytes, size - start))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, start)
        const data = buffer.subarray(0, bytesRead).toString('base64')
        await client.call('files.write', { sshId, path: part, offset: start, data })
        sentBytes += bytesRead
        progress(sentBytes)
      }
    })
    await Promise.all(lanes).finally(() => {
      starts.length = 0
      // A chunk that arrives after the removal would create the file again.
      return Promise.allSettled(lanes)
    })
    await client.call('files.rename', { sshId, path: part, to: path, replace: true })
    return sentBytes
  } catch (error) {
    await client.call('files.remove', { sshId, path: part }).catch(() => undefined)
    throw error
  } finally {
    await file.close()
  }
}

/** Resolves a remote path's links. Without a type, nothing exists there. */
export async function resolveLinks(
  client: WorkbenchClient,
  target: RemotePath,
): Promise<{ readonly target: RemotePath; readonly type?: RemoteFile['type'] }> {
  try {
    const { file } = await client.call('files.stat', target)
    if (file.type !== 'link') return { target, type: file.type }
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'not_found') return { target }
    throw error
  }
  // The remote system resolves all links at once and returns no link, so this ends.
  const { path } = await client.call('files.realpath', target)
  return resolveLinks(client, { ...target, path })
}

function createNotFileFailure(path: string): CommandFailure {
  return new CommandFailure('file_unwritable', {
    en: `Cannot write ${path}: it is there, and is no file.`,
    zh: `无法写入 ${path}：该路径已存在且不是普通文件。`,
  })
}
