/** The ssh connections of the workbench: begun in a pane, watched, found again after a restart, and shared for files. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { TerminalEngine } from '../engine.ts'
import type { Events } from '../events.ts'
import { limits, WorkbenchError } from '../protocol.ts'
import type { Pane, Ssh } from '../results.ts'
import type { Settings } from '../settings.ts'
import { Sftp } from './sftp.ts'

const run = promisify(execFile)

export interface SshWish {
  readonly destination: string
  readonly title?: string | undefined
  readonly port?: number | undefined
  readonly identity?: string | undefined
  readonly options?: readonly string[] | undefined
}

export interface SshConnectionsOptions {
  readonly engine: TerminalEngine
  readonly settings: Settings
  readonly events: Events
  readonly newId: (prefix: string) => string
  /** The connection's state has changed; the workspace's entry in the status line follows it. */
  readonly onState: (ssh: Ssh) => void
}

/** Kept with the workspace in the terminal engine, so that a host that starts again knows its connections. */
const keptSchema = z.object({ ssh: z.object({ id: z.string(), destination: z.string(), args: z.array(z.string()) }) })

interface Connection {
  ssh: Ssh
  /** The user's options and the control path: what every ssh of this connection is called with. */
  readonly args: readonly string[]
  sftp: Promise<Sftp> | undefined
  /** How many calls are using it at this moment. */
  users: number
  /** How often its pane was seen dead without a reason. */
  deadLooks: number
  idle: NodeJS.Timeout | undefined
  timer: NodeJS.Timeout | undefined
  stopped: boolean
}

const connectingMs = 250
const connectedMs = 2_000
/** How long a file session that nobody uses is kept. */
const idleMs = 1_000
const mostDeadLooks = 6
/** What ssh appends to the name of a socket that it is still making. */
const sshSuffixBytes = 17

/**
 * The user's own ssh, in a pane: configuration, agents, jump hosts, passwords and host-key questions are its business. What
 * the workbench adds is a control socket, over which files are reached without a second login.
 */
export class SshConnections {
  readonly #options: SshConnectionsOptions
  readonly #connections = new Map<string, Connection>()

  constructor(options: SshConnectionsOptions) {
    this.#options = options
  }

  /** Finds the connections that an earlier host has left running. */
  async recover(): Promise<void> {
    for (const workspace of await this.#options.engine.list()) {
      const kept = keptSchema.safeParse(parsed(workspace.kept))
      const pane = workspace.panes[0]
      if (!kept.success || !pane) continue
      const { id, destination, args } = kept.data.ssh
      this.#add(begin(id, destination, workspace.id, pane.id), args)
    }
  }

  list(): readonly Ssh[] {
    return [...this.#connections.values()].map((connection) => connection.ssh)
  }

  get(id: string): Ssh {
    return this.#find(id).ssh
  }

  ofWorkspace(workspaceId: string): Ssh | undefined {
    return this.list().find((ssh) => ssh.workspaceId === workspaceId)
  }

  /** What the status line says of a workspace. */
  noteOf(workspaceId: string): string {
    const ssh = this.ofWorkspace(workspaceId)
    if (!ssh) return ''
    return ssh.explorer ? `${ssh.destination} · files: svc files open` : `${ssh.destination} · ${ssh.state}`
  }

  async connect(wish: SshWish): Promise<Ssh> {
    const { engine, newId, settings } = this.#options
    const { destination } = wish
    if (destination.startsWith('-') || /[\s\p{Cc}]/u.test(destination)) {
      throw new WorkbenchError('invalid_params', 'the destination is <user>@<host> or a name of your ssh configuration')
    }
    const chosen = [
      ...(wish.port === undefined ? [] : ['-p', String(wish.port)]),
      ...(wish.identity === undefined ? [] : ['-i', wish.identity]),
      ...(wish.options ?? []).flatMap((option) => ['-o', option]),
    ]
    const id = newId('ssh')
    const args = [...chosen, ...(await this.#control(id, chosen, destination))]
    const kept = JSON.stringify({ ssh: { id, destination, args } })
    const title = wish.title ?? destination
    const made = await engine.createWorkspace({ title, cwd: settings.home, env: {}, argv: login(args, destination), kept })
    if (made.workspaceId === null || made.paneId === null) throw new TypeError('the engine made a workspace without ids')
    return this.#add(begin(id, destination, made.workspaceId, made.paneId), args).ssh
  }

  async disconnect(id: string): Promise<Ssh> {
    const connection = this.#find(id)
    this.#hangUp(connection)
    // The program in the pane, not the control socket: where the user shares one, others may be using it.
    await this.#options.engine.stop(connection.ssh.paneId)
    this.#change(connection, { state: 'closed', explorer: null })
    return connection.ssh
  }

  /** The pane was closed: of its connection there is nothing left to show or to log in again. */
  forget(paneId: string): void {
    for (const connection of this.#connections.values()) {
      if (connection.ssh.paneId !== paneId) continue
      connection.stopped = true
      this.#hangUp(connection)
      this.#change(connection, { state: 'closed', explorer: null })
      this.#connections.delete(connection.ssh.id)
    }
  }

  /** Logs in again in the same pane. */
  async reconnect(id: string): Promise<Ssh> {
    const connection = this.#find(id)
    const { destination, paneId } = connection.ssh
    this.#hangUp(connection)
    await this.#options.engine.respawn(paneId, login(connection.args, destination))
    connection.deadLooks = 0
    this.#change(connection, { state: 'connecting', explorer: null, exit: null, reason: null })
    this.#follow(connection, connectingMs)
    return connection.ssh
  }

  /**
   * Does something with the remote files, over the connection there is. Throws `ssh_not_connected`. The file session ends a
   * moment after its last use: while one is open, ssh waits for it when the user leaves the remote shell.
   */
  async files<T>(id: string, work: (sftp: Sftp) => Promise<T>): Promise<T> {
    const connection = this.#find(id)
    if (connection.ssh.state !== 'connected') {
      throw new WorkbenchError('ssh_not_connected', `${connection.ssh.destination} is ${connection.ssh.state}`, {
        hint: 'svc ssh list · svc ssh reconnect <id>',
      })
    }
    clearTimeout(connection.idle)
    connection.users += 1
    try {
      return await work(await this.#session(connection))
    } finally {
      connection.users -= 1
      if (connection.users === 0) connection.idle = setTimeout(() => this.#hangUp(connection), idleMs)
    }
  }

  /** Stops looking; what runs in the panes runs on. */
  close(): void {
    for (const connection of this.#connections.values()) {
      connection.stopped = true
      clearTimeout(connection.timer)
      this.#hangUp(connection)
    }
  }

  #session(connection: Connection): Promise<Sftp> {
    if (connection.sftp) return connection.sftp
    // One that has been hung up ends a moment later, when another may have taken its place.
    const gone = (): void => {
      if (connection.sftp === session) connection.sftp = undefined
    }
    const session = this.#open(connection, gone).catch((error: unknown) => {
      gone()
      throw error
    })
    connection.sftp = session
    return session
  }

  async #open(connection: Connection, gone: () => void): Promise<Sftp> {
    // Without this check an ssh whose connection is gone would log in once more, on its own.
    await this.#ssh(connection, '-O', 'check').catch((cause: unknown) => {
      throw new WorkbenchError('ssh_not_connected', 'the connection has ended', { hint: 'svc ssh reconnect <id>', cause })
    })
    const { args, ssh } = connection
    // BatchMode: should the connection be gone, nobody would see this ssh ask for a password.
    const argv = ['ssh', ...args, '-o', 'ControlMaster=no', '-o', 'BatchMode=yes', '-s', '--', ssh.destination, 'sftp']
    const sftp = new Sftp(argv, this.#options.settings.env, gone)
    await sftp.ready()
    return sftp
  }

  #hangUp(connection: Connection): void {
    clearTimeout(connection.idle)
    const { sftp } = connection
    connection.sftp = undefined
    sftp?.then((session) => session.close()).catch(() => undefined)
  }

  #find(id: string): Connection {
    const connection = this.#connections.get(id)
    if (!connection) throw new WorkbenchError('not_found', `no ssh connection ${id}`, { hint: 'svc ssh list' })
    return connection
  }

  #add(ssh: Ssh, args: readonly string[]): Connection {
    const connection: Connection = {
      ssh,
      args,
      sftp: undefined,
      users: 0,
      deadLooks: 0,
      idle: undefined,
      timer: undefined,
      stopped: false,
    }
    this.#connections.set(ssh.id, connection)
    this.#options.onState(ssh)
    this.#follow(connection, 0)
    return connection
  }

  /** A control path that the user's configuration already has is kept; otherwise one beside the workbench's socket. */
  async #control(id: string, chosen: readonly string[], destination: string): Promise<readonly string[]> {
    const { settings } = this.#options
    const answer = await run('ssh', ['-G', ...chosen, '--', destination], { env: settings.env, timeout: 10_000 }).catch(
      (error: unknown) => {
        throw sshFailure(error)
      },
    )
    const own = /^controlpath (.+)$/im.exec(answer.stdout)?.[1]
    if (own !== undefined && own !== 'none') return []
    // One of its own for each: ending this connection ends no other to the same place.
    const path = join(settings.runDir, id)
    if (Buffer.byteLength(path) + sshSuffixBytes > limits.socketPathBytes) {
      throw new WorkbenchError('ssh_failed', `the workbench's folder has too long a path for ssh's socket: ${settings.runDir}`, {
        hint: 'choose a shorter one with --socket or SVC_SOCKET',
      })
    }
    return ['-o', `ControlPath=${path.replaceAll(' ', '\\ ').replaceAll('%', '%%')}`, '-o', 'ControlPersist=no']
  }

  #follow(connection: Connection, delayMs: number): void {
    clearTimeout(connection.timer)
    connection.timer = setTimeout(() => void this.#lookAndFollow(connection), delayMs)
  }

  async #lookAndFollow(connection: Connection): Promise<void> {
    // A look that fails (tmux is starting anew) is made again, not given up.
    await this.#look(connection).catch(() => undefined)
    const { state } = connection.ssh
    if (connection.stopped || state === 'failed' || state === 'closed') return
    this.#follow(connection, state === 'connecting' || connection.deadLooks > 0 ? connectingMs : connectedMs)
  }

  async #look(connection: Connection): Promise<void> {
    const { engine } = this.#options
    const pane = (await engine.list()).flatMap((workspace) => workspace.panes).find((pane) => pane.id === connection.ssh.paneId)
    if (!pane) {
      this.forget(connection.ssh.paneId)
      return
    }
    if (pane.dead) {
      // What it ended with is known a look or two later than that it ended. It is not waited for without end.
      connection.deadLooks += 1
      if (pane.exit !== null || connection.deadLooks > mostDeadLooks) await this.#over(connection, pane)
      return
    }
    const alive = await this.#ssh(connection, '-O', 'check').then(
      () => true,
      () => false,
    )
    if (alive && connection.ssh.state === 'connecting') await this.#connected(connection)
    if (!alive && connection.ssh.state === 'connected') this.#change(connection, { state: 'closed', explorer: null })
  }

  async #connected(connection: Connection): Promise<void> {
    this.#change(connection, { state: 'connected' })
    try {
      const home = await this.files(connection.ssh.id, (sftp) => sftp.realpath(Buffer.from('.')))
      const root = home.toString('utf8')
      this.#change(connection, { explorer: { offered: true, root } })
      this.#options.events.emit('explorer.offered', { sshId: connection.ssh.id, root })
    } catch (error) {
      // A server without the file service is connected all the same; only the explorer cannot be offered.
      this.#change(connection, { reason: error instanceof Error ? error.message : null })
    }
  }

  async #over(connection: Connection, pane: Pane): Promise<void> {
    // With some history: the notice that the pane is dead scrolls the last words out of sight.
    const text = await this.#options.engine.capture(pane.id, 50)
    const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('Pane is dead'))
    // 255 is ssh's own failure; any other number is what the remote shell ended with.
    const failed = connection.ssh.state === 'connecting' || pane.exit === 255
    this.#change(connection, {
      state: failed ? 'failed' : 'closed',
      explorer: null,
      exit: pane.exit,
      reason: failed ? lines.slice(-5).join('\n') : null,
    })
  }

  #change(connection: Connection, change: Partial<Ssh>): void {
    const before = connection.ssh
    connection.ssh = { ...before, ...change }
    if (before.state !== connection.ssh.state) {
      const { id, destination, state, exit, reason } = connection.ssh
      this.#options.events.emit('ssh.state', { sshId: id, destination, state, exit, reason })
    }
    this.#options.onState(connection.ssh)
  }

  async #ssh(connection: Connection, ...words: readonly string[]): Promise<void> {
    await run('ssh', [...connection.args, ...words, '--', connection.ssh.destination], {
      env: this.#options.settings.env,
      timeout: 10_000,
    })
  }
}

function begin(id: string, destination: string, workspaceId: string, paneId: string): Ssh {
  return { id, destination, state: 'connecting', workspaceId, paneId, explorer: null, exit: null, reason: null }
}

function login(args: readonly string[], destination: string): readonly string[] {
  return ['ssh', ...args, '-o', 'ControlMaster=auto', '--', destination]
}

function sshFailure(error: unknown): WorkbenchError {
  const failure = error as { readonly code?: unknown; readonly stderr?: unknown }
  if (failure.code === 'ENOENT') {
    return new WorkbenchError('engine_unavailable', 'ssh is not installed', { hint: 'apt install openssh-client', cause: error })
  }
  const words = typeof failure.stderr === 'string' ? failure.stderr.trim() : ''
  return new WorkbenchError('ssh_failed', words === '' ? 'ssh refused' : words, { details: { exit: failure.code }, cause: error })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
