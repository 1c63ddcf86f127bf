/** The ssh connections of the workbench: started in a pane, monitored, found again after a restart, and shared for files. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { TerminalEngine } from '../engine/terminal-engine.ts'
import type { EventLog } from '../event-log.ts'
import { limits, WorkbenchError } from '../protocol/protocol.ts'
import type { Pane, Ssh } from '../protocol/results.ts'
import type { Settings } from '../settings.ts'
import { SftpClient } from './sftp.ts'
import { tryParseJson } from '../../../system/parse-json.ts'

const run = promisify(execFile)

interface SshConnectOptions {
  readonly destination: string
  readonly title?: string | undefined
  readonly port?: number | undefined
  readonly identity?: string | undefined
  readonly options?: readonly string[] | undefined
}

interface SshConnectionsOptions {
  readonly engine: TerminalEngine
  readonly settings: Settings
  readonly events: EventLog
  readonly newId: (prefix: string) => string
  /** Called after a change of a connection's state, to update the workspace's entry in the status line. */
  readonly onState: (ssh: Ssh) => void
}

/** Stored with the workspace in the terminal engine, so that a restarted host finds its connections. */
const metadataSchema = z.object({ ssh: z.object({ id: z.string(), destination: z.string(), args: z.array(z.string()) }) })

interface Connection {
  ssh: Ssh
  /** The user's options and the control path: the arguments of every ssh call of this connection. */
  readonly args: readonly string[]
  /** Number of the login in the pane. A check that began before the current one reports another ssh and is discarded. */
  login: number
  sftp: Promise<SftpClient> | undefined
  /** Number of calls in progress. */
  activeCalls: number
  /** How often its pane was found dead without an exit code. */
  deadPolls: number
  /** How often its files could not be opened since it was connected. */
  explorerFailures: number
  idleTimer: NodeJS.Timeout | undefined
  pollTimer: NodeJS.Timeout | undefined
  stopped: boolean
}

const connectingPollMs = 250
const connectedPollMs = 2_000
/** How long an idle file session stays open. */
const sftpIdleMs = 1_000
const maxDeadPolls = 6
/** The first attempt after a reconnect may reach the socket of the ssh that is just ending. */
const maxExplorerFailures = 3
/** The suffix that ssh appends to the name of a socket while it creates it. */
const sshSuffixBytes = 17

/**
 * Runs the user's own ssh in a pane: it handles configuration, agents, jump hosts, passwords and host-key questions. The
 * workbench adds a control socket, through which files are accessed without a second login.
 */
export class SshConnections {
  readonly #options: SshConnectionsOptions
  readonly #connections = new Map<string, Connection>()

  constructor(options: SshConnectionsOptions) {
    this.#options = options
  }

  /** Finds the connections that an earlier host has left running. */
  async recover(): Promise<void> {
    for (const workspace of await this.#options.engine.listWorkspaces()) {
      const metadata = metadataSchema.safeParse(tryParseJson(workspace.metadata))
      const pane = workspace.panes[0]
      if (!metadata.success || !pane) continue
      const { id, destination, args } = metadata.data.ssh
      this.#add(createSshState(id, destination, workspace.id, pane.id), args)
    }
  }

  list(): readonly Ssh[] {
    return [...this.#connections.values()].map((connection) => connection.ssh)
  }

  get(id: string): Ssh {
    return this.#find(id).ssh
  }

  findByWorkspace(workspaceId: string): Ssh | undefined {
    return this.list().find((ssh) => ssh.workspaceId === workspaceId)
  }

  /** The status-line text of a workspace. */
  getStatusNote(workspaceId: string): string {
    const ssh = this.findByWorkspace(workspaceId)
    if (!ssh) return ''
    return ssh.explorer ? `${ssh.destination} · files: svc files open` : `${ssh.destination} · ${ssh.state}`
  }

  async connect(options: SshConnectOptions): Promise<Ssh> {
    const { engine, newId, settings } = this.#options
    const { destination } = options
    if (destination.startsWith('-') || /[\s\p{Cc}]/u.test(destination)) {
      throw new WorkbenchError('invalid_params', 'the destination is <user>@<host> or a name of your ssh configuration')
    }
    const sshOptions = [
      ...(options.port === undefined ? [] : ['-p', String(options.port)]),
      ...(options.identity === undefined ? [] : ['-i', options.identity]),
      ...(options.options ?? []).flatMap((option) => ['-o', option]),
    ]
    const id = newId('ssh')
    const args = [...sshOptions, ...(await this.#createControlOptions(id, sshOptions, destination))]
    const metadata = JSON.stringify({ ssh: { id, destination, args } })
    const title = options.title ?? destination
    const focus = await engine.createWorkspace({
      title,
      cwd: settings.home,
      env: {},
      argv: createLoginCommand(args, destination),
      metadata,
    })
    if (focus.workspaceId === null || focus.paneId === null) throw new TypeError('the engine made a workspace without ids')
    return this.#add(createSshState(id, destination, focus.workspaceId, focus.paneId), args).ssh
  }

  async disconnect(id: string): Promise<Ssh> {
    const connection = this.#find(id)
    this.#closeSftp(connection)
    // Ends the program in the pane, not the control socket: other connections may use a socket that the user shares.
    await this.#options.engine.stopPane(connection.ssh.paneId)
    connection.login += 1
    this.#update(connection, { state: 'closed', explorer: null })
    return connection.ssh
  }

  /** Removes the connection of a closed pane: nothing remains to show or to reconnect. */
  forget(paneId: string): void {
    for (const connection of this.#connections.values()) {
      if (connection.ssh.paneId !== paneId) continue
      connection.stopped = true
      this.#closeSftp(connection)
      this.#update(connection, { state: 'closed', explorer: null })
      this.#connections.delete(connection.ssh.id)
    }
  }

  /** Reconnects in the same pane. */
  async reconnect(id: string): Promise<Ssh> {
    const connection = this.#find(id)
    const { destination, paneId } = connection.ssh
    this.#closeSftp(connection)
    await this.#stopSharing(connection)
    await this.#options.engine.respawnPane(paneId, createLoginCommand(connection.args, destination))
    connection.login += 1
    connection.deadPolls = 0
    connection.explorerFailures = 0
    this.#update(connection, { state: 'connecting', explorer: null, exit: null, reason: null })
    this.#schedulePoll(connection, connectingPollMs)
    return connection.ssh
  }

  /**
   * Runs a callback on the remote files over the existing connection. Throws `ssh_not_connected`. The file session ends a
   * moment after its last use, because ssh waits for an open one when the user leaves the remote shell.
   */
  async withSftp<T>(id: string, work: (sftp: SftpClient) => Promise<T>): Promise<T> {
    const connection = this.#find(id)
    if (connection.ssh.state !== 'connected') {
      throw new WorkbenchError('ssh_not_connected', `${connection.ssh.destination} is ${connection.ssh.state}`, {
        hint: 'svc ssh list · svc ssh reconnect <id>',
      })
    }
    clearTimeout(connection.idleTimer)
    connection.activeCalls += 1
    try {
      return await work(await this.#ensureSftp(connection))
    } finally {
      connection.activeCalls -= 1
      if (connection.activeCalls === 0) connection.idleTimer = setTimeout(() => this.#closeSftp(connection), sftpIdleMs)
    }
  }

  /** Stops monitoring; the programs in the panes continue. */
  close(): void {
    for (const connection of this.#connections.values()) {
      connection.stopped = true
      clearTimeout(connection.pollTimer)
      this.#closeSftp(connection)
    }
  }

  #ensureSftp(connection: Connection): Promise<SftpClient> {
    if (connection.sftp) return connection.sftp
    // A closed session ends a moment later, when another may have replaced it.
    const forgetSession = (): void => {
      if (connection.sftp === session) connection.sftp = undefined
    }
    const session = this.#openSftp(connection, forgetSession).catch((error: unknown) => {
      forgetSession()
      throw error
    })
    connection.sftp = session
    return session
  }

  async #openSftp(connection: Connection, gone: () => void): Promise<SftpClient> {
    // Without this check ssh would open a new connection by itself if the shared one is gone.
    await this.#runSsh(connection, '-O', 'check').catch((cause: unknown) => {
      throw new WorkbenchError('ssh_not_connected', 'the connection has ended', { hint: 'svc ssh reconnect <id>', cause })
    })
    const { args, ssh } = connection
    // BatchMode: if the connection is gone, no user would see this ssh prompt for a password.
    const argv = ['ssh', ...args, '-o', 'ControlMaster=no', '-o', 'BatchMode=yes', '-s', '--', ssh.destination, 'sftp']
    const sftp = new SftpClient(argv, this.#options.settings.env, gone)
    await sftp.ready()
    return sftp
  }

  #closeSftp(connection: Connection): void {
    clearTimeout(connection.idleTimer)
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
      login: 0,
      sftp: undefined,
      activeCalls: 0,
      deadPolls: 0,
      explorerFailures: 0,
      idleTimer: undefined,
      pollTimer: undefined,
      stopped: false,
    }
    this.#connections.set(ssh.id, connection)
    this.#options.onState(ssh)
    this.#schedulePoll(connection, 0)
    return connection
  }

  /** Keeps a control path of the user's configuration; otherwise uses one beside the workbench's socket. */
  async #createControlOptions(id: string, chosen: readonly string[], destination: string): Promise<readonly string[]> {
    const { settings } = this.#options
    const answer = await run('ssh', ['-G', ...chosen, '--', destination], { env: settings.env, timeout: 10_000 }).catch(
      (error: unknown) => {
        throw toSshError(error)
      },
    )
    const ownControlPath = /^controlpath (.+)$/im.exec(answer.stdout)?.[1]
    if (ownControlPath !== undefined && ownControlPath !== 'none') return []
    // One control path per connection: ending this one ends no other to the same host.
    const path = join(settings.runDir, id)
    if (Buffer.byteLength(path) + sshSuffixBytes > limits.socketPathBytes) {
      throw new WorkbenchError('ssh_failed', `the workbench's folder has too long a path for ssh's socket: ${settings.runDir}`, {
        hint: 'choose a shorter one with --socket or SVC_SOCKET',
      })
    }
    return ['-o', `ControlPath=${path.replaceAll(' ', '\\ ').replaceAll('%', '%%')}`, '-o', 'ControlPersist=no']
  }

  #schedulePoll(connection: Connection, delayMs: number): void {
    clearTimeout(connection.pollTimer)
    connection.pollTimer = setTimeout(() => void this.#pollAndReschedule(connection), delayMs)
  }

  async #pollAndReschedule(connection: Connection): Promise<void> {
    // A failed check (tmux is restarting) is repeated.
    await this.#poll(connection).catch(() => undefined)
    const { state } = connection.ssh
    if (connection.stopped || state === 'failed' || state === 'closed') return
    this.#schedulePoll(connection, state === 'connecting' || connection.deadPolls > 0 ? connectingPollMs : connectedPollMs)
  }

  async #poll(connection: Connection): Promise<void> {
    const { engine } = this.#options
    const { login } = connection
    const pane = (await engine.listWorkspaces())
      .flatMap((workspace) => workspace.panes)
      .find((pane) => pane.id === connection.ssh.paneId)
    if (login !== connection.login) return
    if (!pane) {
      this.forget(connection.ssh.paneId)
      return
    }
    if (pane.dead) {
      // The exit code arrives one or two checks after the end of the program. The wait for it is limited.
      connection.deadPolls += 1
      if (pane.exit !== null || connection.deadPolls > maxDeadPolls) await this.#recordExit(connection, pane)
      return
    }
    const alive = await this.#runSsh(connection, '-O', 'check').then(
      () => true,
      () => false,
    )
    if (login !== connection.login) return
    const { state, explorer } = connection.ssh
    const canRetry = state === 'connected' && explorer === null && connection.explorerFailures < maxExplorerFailures
    if (alive && (state === 'connecting' || canRetry)) await this.#onConnected(connection)
    if (!alive && connection.ssh.state === 'connected') this.#update(connection, { state: 'closed', explorer: null })
  }

  async #onConnected(connection: Connection): Promise<void> {
    const { login } = connection
    this.#update(connection, { state: 'connected' })
    try {
      const home = await this.withSftp(connection.ssh.id, (sftp) => sftp.realpath(Buffer.from('.')))
      const root = home.toString('utf8')
      if (login !== connection.login) return
      this.#update(connection, { explorer: { offered: true, root }, reason: null })
      this.#options.events.emit('explorer.offered', { sshId: connection.ssh.id, root })
    } catch (error) {
      if (login !== connection.login) return
      // A server without SFTP is still connected; only the explorer is unavailable.
      connection.explorerFailures += 1
      this.#update(connection, { reason: error instanceof Error ? error.message : null })
    }
  }

  async #recordExit(connection: Connection, pane: Pane): Promise<void> {
    const { login } = connection
    // With some history, because the notice that the pane is dead scrolls the last output out of view.
    const text = await this.#options.engine.capturePane(pane.id, 50)
    if (login !== connection.login) return
    const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('Pane is dead'))
    // 255 is ssh's own failure; any other number is the exit code of the remote shell.
    const hasFailed = connection.ssh.state === 'connecting' || pane.exit === 255
    this.#update(connection, {
      state: hasFailed ? 'failed' : 'closed',
      explorer: null,
      exit: pane.exit,
      reason: hasFailed ? lines.slice(-5).join('\n') : null,
    })
  }

  #update(connection: Connection, change: Partial<Ssh>): void {
    const before = connection.ssh
    connection.ssh = { ...before, ...change }
    if (before.state !== connection.ssh.state) {
      const { id, destination, state, exit, reason } = connection.ssh
      this.#options.events.emit('ssh.state', { sshId: id, destination, state, exit, reason })
    }
    this.#options.onState(connection.ssh)
  }

  /** Removes the control socket of this connection alone: the next ssh would otherwise log in through the one that is about to end. */
  async #stopSharing(connection: Connection): Promise<void> {
    // A socket of the user's own configuration may serve other connections.
    if (!connection.args.some((word) => word.startsWith('ControlPath='))) return
    await this.#runSsh(connection, '-O', 'stop').catch(() => undefined)
  }

  async #runSsh(connection: Connection, ...words: readonly string[]): Promise<void> {
    await run('ssh', [...connection.args, ...words, '--', connection.ssh.destination], {
      env: this.#options.settings.env,
      timeout: 10_000,
    })
  }
}

function createSshState(id: string, destination: string, workspaceId: string, paneId: string): Ssh {
  return { id, destination, state: 'connecting', workspaceId, paneId, explorer: null, exit: null, reason: null }
}

function createLoginCommand(args: readonly string[], destination: string): readonly string[] {
  return ['ssh', ...args, '-o', 'ControlMaster=auto', '--', destination]
}

function toSshError(error: unknown): WorkbenchError {
  const failure = error as { readonly code?: unknown; readonly stderr?: unknown }
  if (failure.code === 'ENOENT') {
    return new WorkbenchError('engine_unavailable', 'ssh is not installed', { hint: 'apt install openssh-client', cause: error })
  }
  const words = typeof failure.stderr === 'string' ? failure.stderr.trim() : ''
  return new WorkbenchError('ssh_failed', words === '' ? 'ssh refused' : words, { details: { exit: failure.code }, cause: error })
}
