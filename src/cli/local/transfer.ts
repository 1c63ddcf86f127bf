/** Files between here and a remote machine, in pieces that are asked for ahead of their turn. */
import { open, rename, rm, stat } from 'node:fs/promises'
import { CommandFailure, interrupted } from '../failure.ts'
import { limits } from '../workbench/protocol.ts'
import type { RemoteFile } from '../workbench/results.ts'
import type { WorkbenchClient } from './client.ts'
import type { RemotePlace } from './remote-path.ts'

/** How many pieces are on the way at once. */
const piecesAhead = 4

/** Told now and then how many bytes are there. */
type Progress = (bytes: number) => void

/** Fetches a remote file. It gets its name here only when it is whole: a broken transfer leaves no half file behind. */
export async function download(client: WorkbenchClient, from: RemotePlace, to: string, progress: Progress): Promise<number> {
  // What has its name takes its place: a device or a pipe would be gone for everybody.
  const there = await stat(to).catch(() => undefined)
  if (there?.isFile() === false) throw noFile(to)
  const part = `${to}.part-${process.pid}`
  const file = await open(part, 'wx', 0o600).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailure('file_unwritable', { en: `Cannot write ${to}: ${why}`, zh: `无法写入 ${to}:${why}` }, { cause })
  })
  try {
    let offset = 0
    for (let end = false; !end;) {
      const piece = await client.call('files.read', { ...from, offset })
      const data = Buffer.from(piece.data, 'base64')
      // A disk that has room for a part takes that part, and says nothing.
      for (let done = 0; done < data.length;)
        done += (await file.write(data, done, data.length - done, offset + done)).bytesWritten
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
 * Brings a local file there, first under another name, then in one step under its own. A link stays, and has the file behind it. A
 * transfer that is broken or stopped leaves no half file there.
 */
export async function upload(
  client: WorkbenchClient,
  from: string,
  to: RemotePlace,
  progress: Progress,
  stop?: AbortSignal,
): Promise<number> {
  const there = await behindLinks(client, to)
  if (there.type !== undefined && there.type !== 'file') throw noFile(to.path)
  const { sshId, path } = there.place
  const part = `${path}.part-${process.pid}`
  const file = await open(from, 'r').catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailure('file_unreadable', { en: `Cannot read ${from}: ${why}`, zh: `无法读取 ${from}:${why}` }, { cause })
  })
  try {
    const { size, mode } = await file.stat()
    // Each piece opens it anew, so it is its owner's to write, also where the file here is nobody's.
    await client.call('files.write', { sshId, path: part, offset: 0, data: '', truncate: true, mode: (mode & 0o777) | 0o200 })
    let sent = 0
    const starts = Array.from({ length: Math.ceil(size / limits.fileChunkBytes) }, (_, index) => index * limits.fileChunkBytes)
    const lanes = Array.from({ length: piecesAhead }, async () => {
      for (let start = starts.shift(); start !== undefined; start = starts.shift()) {
        if (stop?.aborted === true) throw interrupted()
        const buffer = Buffer.alloc(Math.min(limits.fileChunkBytes, size - start))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, start)
        const data = buffer.subarray(0, bytesRead).toString('base64')
        await client.call('files.write', { sshId, path: part, offset: start, data })
        sent += bytesRead
        progress(sent)
      }
    })
    await Promise.all(lanes).finally(() => {
      starts.length = 0
      // A piece that came after the removal would make it anew.
      return Promise.allSettled(lanes)
    })
    await client.call('files.rename', { sshId, path: part, to: path, replace: true })
    return sent
  } catch (error) {
    await client.call('files.remove', { sshId, path: part }).catch(() => undefined)
    throw error
  } finally {
    await file.close()
  }
}

/** Where a place's links lead to, and what is there: nothing, where it has no type. */
export async function behindLinks(
  client: WorkbenchClient,
  place: RemotePlace,
): Promise<{ readonly place: RemotePlace; readonly type?: RemoteFile['type'] }> {
  try {
    const { file } = await client.call('files.stat', place)
    if (file.type !== 'link') return { place, type: file.type }
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'not_found') return { place }
    throw error
  }
  // The remote system follows them all at once: what it names is no link, so this ends.
  const { path } = await client.call('files.realpath', place)
  return behindLinks(client, { ...place, path })
}

function noFile(path: string): CommandFailure {
  return new CommandFailure('file_unwritable', {
    en: `Cannot write ${path}: it is there, and is no file.`,
    zh: `无法写入 ${path}:该路径已存在且不是普通文件。`,
  })
}
