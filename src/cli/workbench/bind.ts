/** The socket: who may listen on it, and that nobody else can reach it or read what lies beside it. */
import { lstat, mkdir, open, rm, stat, writeFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { limits } from './protocol.ts'

export interface BindOptions {
  readonly socketPath: string
  readonly runDir: string
  readonly platform: string
  readonly now: () => number
  /** Done once the place is ours and before anybody can connect: a client must not find the socket and an earlier host's token. */
  readonly beforeListening: () => Promise<void>
}

/** The socket cannot be served; `code` is stable: `already_running`, `socket_path_too_long`, `unsafe_socket`. */
export class BindError extends Error {
  readonly code: 'already_running' | 'socket_path_too_long' | 'unsafe_socket'

  constructor(code: BindError['code'], message: string) {
    super(message)
    this.name = 'BindError'
    this.code = code
  }
}

/** A start takes well under a second; a lock older than this was left by one that died. */
const lockMs = 10_000

/**
 * Listens on the socket, for the user alone. One host at a time: a lock keeps two that start together apart, a socket that
 * answers belongs to a living host, and one that does not is left over and removed.
 */
export async function bind(server: Server, options: BindOptions): Promise<void> {
  const { socketPath, runDir, platform, beforeListening } = options
  if (platform === 'win32') {
    // A pipe has no folder and no mode; one that is taken refuses the second by itself. The token keeps others out.
    await ownDirectory(runDir)
    await listen(server, socketPath)
    // Before it listens nobody knows whether the pipe, and so the token, is another host's.
    return beforeListening()
  }
  // A longer path is cut silently by some systems, and another socket would be served.
  for (const path of [socketPath, join(runDir, 'tmux.sock')]) {
    if (Buffer.byteLength(path) > limits.socketPathBytes)
      throw new BindError('socket_path_too_long', `the socket's path is too long for this system: ${path}`)
  }
  await ownDirectory(runDir)
  await ownDirectory(dirname(socketPath))
  const unlock = await lock(`${socketPath}.lock`, options.now)
  try {
    await clear(socketPath)
    await beforeListening()
    // The mode must be right from the first moment, so it is set before the socket exists.
    const umask = process.umask(0o177)
    try {
      await listen(server, socketPath)
    } finally {
      process.umask(umask)
    }
  } finally {
    await unlock()
  }
}

/**
 * Made 0700 when it is missing; refused when it belongs to someone else or others may write in it. One that is there keeps its
 * mode: it may be the user's home.
 */
export async function ownDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const me = process.getuid?.()
  if (me === undefined) return // Windows: the profile's own access rules hold
  const facts = await stat(path)
  if (facts.uid !== me) throw new BindError('unsafe_socket', `${path} belongs to someone else`)
  if ((facts.mode & 0o022) !== 0) throw new BindError('unsafe_socket', `others may write in ${path}`)
}

/** A secret of the user's own: never readable by others, also not for the moment before a chmod. */
export async function writeSecret(path: string, text: string): Promise<void> {
  await rm(path, { force: true })
  await writeFile(path, text, { mode: 0o600, flag: 'wx' })
}

async function clear(socketPath: string): Promise<void> {
  const facts = await lstat(socketPath).catch(() => undefined)
  if (!facts) return
  if (!facts.isSocket()) throw new BindError('unsafe_socket', `${socketPath} is there and is not a socket`)
  if (facts.uid !== process.getuid?.()) throw new BindError('unsafe_socket', `${socketPath} belongs to someone else`)
  if (await answers(socketPath)) throw new BindError('already_running', 'the workbench is already running')
  await rm(socketPath)
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socketPath)
    probe.setTimeout(2_000, () => {
      probe.destroy()
      resolve(true) // it accepted and is slow: alive
    })
    probe.on('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.on('error', () => resolve(false))
  })
}

async function lock(path: string, now: () => number): Promise<() => Promise<void>> {
  const take = async (): Promise<void> => {
    const file = await open(path, 'wx', 0o600)
    await file.close()
  }
  try {
    await take()
  } catch {
    const facts = await stat(path).catch(() => undefined)
    if (facts && now() - facts.mtimeMs < lockMs)
      throw new BindError('already_running', 'the workbench is being started by another process')
    await rm(path, { force: true })
    await take()
  }
  return () => rm(path, { force: true })
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
