/** Binds the socket for one host, and keeps other users away from it and from the files beside it. */
import { lstat, open, rm, stat, writeFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { createFolder } from '../../../system/data-folder/create-folder.ts'
import { limits } from '../protocol/protocol.ts'

interface BindOptions {
  readonly socketPath: string
  readonly runDir: string
  readonly platform: string
  readonly now: () => number
  /** Runs after the lock is held and before a client can connect: a client must not find the socket with an earlier host's token. */
  readonly beforeListening: () => Promise<void>
}

/** The socket cannot be bound; `code` is stable: `already_running`, `socket_path_too_long`, `unsafe_socket`. */
export class BindError extends Error {
  readonly code: 'already_running' | 'socket_path_too_long' | 'unsafe_socket'

  constructor(code: BindError['code'], message: string) {
    super(message)
    this.name = 'BindError'
    this.code = code
  }
}

/** A start takes well under a second; an older lock belongs to a start that died. */
const staleLockMs = 10_000

/**
 * Listens on the socket, for the user alone. One host at a time: a lock separates two that start together, a socket that
 * answers belongs to a living host, and one that does not answer is stale and removed.
 */
export async function bindSocket(server: Server, options: BindOptions): Promise<void> {
  const { socketPath, runDir, platform, beforeListening } = options
  if (platform === 'win32') {
    // A pipe has no folder and no mode; the system refuses a second listener on it. The token keeps other users out.
    await ensureOwnDirectory(runDir)
    await listen(server, socketPath)
    // Only listening shows whether the pipe, and so the token, belongs to another host.
    return beforeListening()
  }
  // Some systems cut a longer path silently and would bind another socket.
  for (const path of [socketPath, join(runDir, 'tmux.sock')]) {
    if (Buffer.byteLength(path) > limits.socketPathBytes)
      throw new BindError('socket_path_too_long', `the socket's path is too long for this system: ${path}`)
  }
  await ensureOwnDirectory(runDir)
  await ensureOwnDirectory(dirname(socketPath))
  const unlock = await acquireLock(`${socketPath}.lock`, options.now)
  try {
    await removeStaleSocket(socketPath)
    await beforeListening()
    // The mode must be right from the first moment, so the umask is set before the socket exists.
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
 * Creates the folder with 0700 when it is missing; refuses one of another owner or that others can write to. An existing one keeps its
 * mode, because it may be the user's home.
 */
export async function ensureOwnDirectory(path: string): Promise<void> {
  createFolder(path, 0o700)
  const me = process.getuid?.()
  if (me === undefined) return // Windows: the profile's own access rules hold
  const facts = await stat(path)
  if (facts.uid !== me) throw new BindError('unsafe_socket', `${path} belongs to someone else`)
  if ((facts.mode & 0o022) !== 0) throw new BindError('unsafe_socket', `others may write in ${path}`)
}

/** Writes a secret that other users cannot read at any time, also not before a chmod. */
export async function writeSecretFile(path: string, text: string): Promise<void> {
  await rm(path, { force: true })
  await writeFile(path, text, { mode: 0o600, flag: 'wx' })
}

async function removeStaleSocket(socketPath: string): Promise<void> {
  const facts = await lstat(socketPath).catch(() => undefined)
  if (!facts) return
  if (!facts.isSocket()) throw new BindError('unsafe_socket', `${socketPath} is there and is not a socket`)
  if (facts.uid !== process.getuid?.()) throw new BindError('unsafe_socket', `${socketPath} belongs to someone else`)
  if (await isListening(socketPath)) throw new BindError('already_running', 'the workbench is already running')
  await rm(socketPath)
}

function isListening(socketPath: string): Promise<boolean> {
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

async function acquireLock(path: string, now: () => number): Promise<() => Promise<void>> {
  const createLockFile = async (): Promise<void> => {
    const file = await open(path, 'wx', 0o600)
    await file.close()
  }
  try {
    await createLockFile()
  } catch {
    const facts = await stat(path).catch(() => undefined)
    if (facts && now() - facts.mtimeMs < staleLockMs)
      throw new BindError('already_running', 'the workbench is being started by another process')
    await rm(path, { force: true })
    await createLockFile()
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
