/**
 * The socket in the data folder on which a running server accepts operator commands of this machine. The folder's permissions are its own: only
 * the service's user and root can connect. A connection is one command.
 */
import { chmodSync, rmSync } from 'node:fs'
import { createServer, connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { parseJson } from '../../system/parse-json.ts'
import type { BackupFailure } from '../backup-job.ts'
import type { ReloadRecord, ReloadReport } from './reloader.ts'

/** What a running server does for commands of this machine. */
export interface ControlHandlers {
  reload(): Promise<ReloadReport>
  /** Null before the first reload. */
  readLastReload(): Promise<ReloadRecord | null>
  /** Null when the last backup on schedule has not failed. */
  readLastBackupFailure(): Promise<BackupFailure | null>
}

const commands: Readonly<Record<keyof ControlHandlers, string>> = {
  reload: 'reload',
  readLastReload: 'last-reload',
  readLastBackupFailure: 'last-backup-failure',
}

const maxCommandBytes = 64
const maxConnections = 16
/** A connection that sends no command. */
const idleMs = 10_000

/** Resolves with a function that closes the socket. The data folder belongs to this server alone, so a socket that is there is left over. */
export async function listenForControl(path: string, handlers: ControlHandlers): Promise<() => void> {
  rmSync(path, { force: true })
  const server = createServer((socket) => serve(socket, handlers))
  server.maxConnections = maxConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  chmodSync(path, 0o600)
  server.unref()
  return () => void server.close()
}

function serve(socket: Socket, handlers: ControlHandlers): void {
  let command = ''
  socket.setEncoding('utf8')
  socket.setTimeout(idleMs, () => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.on('data', (part) => {
    command += String(part)
    if (command.length > maxCommandBytes) return socket.destroy()
    if (!command.includes('\n')) return
    socket.removeAllListeners('data')
    socket.setTimeout(0)
    const name = (Object.keys(commands) as (keyof ControlHandlers)[]).find((one) => command === `${commands[one]}\n`)
    if (name === undefined) return socket.destroy()
    handlers[name]().then(
      (report) => socket.end(JSON.stringify(report)),
      () => socket.destroy(),
    )
  })
}

/** Requests a reload of the server that listens there. @throws the system's error, ENOENT or ECONNREFUSED where none does */
export async function requestReload(path: string): Promise<ReloadReport> {
  return (await send(path, commands.reload)) as ReloadReport
}

/** What the last reload of that server did; null before the first one. @throws as `requestReload` */
export async function requestLastReload(path: string, signal: AbortSignal): Promise<ReloadRecord | null> {
  return (await send(path, commands.readLastReload, signal)) as ReloadRecord | null
}

/** The last backup on schedule of that server, if it failed. @throws as `requestReload` */
export async function requestLastBackupFailure(path: string, signal: AbortSignal): Promise<BackupFailure | null> {
  return (await send(path, commands.readLastBackupFailure, signal)) as BackupFailure | null
}

async function send(path: string, command: string, signal?: AbortSignal): Promise<unknown> {
  const socket = connect(path)
  signal?.addEventListener('abort', () => socket.destroy(new Error('the server does not answer')))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.write(`${command}\n`)
  const answer = await text(socket)
  if (answer === '') throw new Error('the server closed the connection without an answer')
  return parseJson(answer)
}
