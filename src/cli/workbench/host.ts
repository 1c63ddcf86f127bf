/** Puts the workbench together and ends it in order; what each part does is the part's own. */
import { mkdir, rm } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { BrowserPages } from './browser/pages.ts'
import { bind, ownDirectory, writeSecret } from './bind.ts'
import type { TerminalEngine } from './engine.ts'
import { MemoryEngine } from './engine-memory.ts'
import { missingEngine } from './engine-missing.ts'
import { Events } from './events.ts'
import { FocusGuard } from './focus-guard.ts'
import type { Call, Handlers } from './handler.ts'
import { browserMethods } from './methods/browser.ts'
import { filesMethods } from './methods/files.ts'
import { notificationMethods } from './methods/notification.ts'
import { paneMethods } from './methods/pane.ts'
import { sshMethods } from './methods/ssh.ts'
import { systemMethods } from './methods/system.ts'
import { workspaceMethods } from './methods/workspace.ts'
import { Notifications } from './notifications.ts'
import { Notifier } from './notify.ts'
import { methods } from './params.ts'
import type { FocusMethod, Method, QuietMethod } from './protocol.ts'
import { isFocusMethod, WorkbenchError } from './protocol.ts'
import { serveRpc } from './rpc-server.ts'
import type { Settings } from './settings.ts'
import { SshConnections } from './ssh/connections.ts'
import { TmuxEngine } from './tmux/engine.ts'
import { tmuxVersion } from './tmux/version.ts'
import { LayoutWatch } from './watch.ts'
import type { WorkbenchServices, Workbench } from './workbench.ts'

export interface Host {
  /** Settles when the host has ended, for whatever reason. */
  readonly ended: Promise<void>
  /** Stops serving. The panes live on in tmux unless `killSessions`. */
  stop(killSessions: boolean): Promise<void>
}

export interface HostServices extends WorkbenchServices {
  /** The secret of this start: 32 random bytes. */
  readonly token: string
}

const heartbeatMs = 30_000

/** Starts the workbench: engine, state and socket. Throws `BindError` where the socket cannot be served. */
export async function startHost(settings: Settings, services: HostServices): Promise<Host> {
  const tokenPath = join(settings.runDir, 'workbench.token')
  const server = createServer()
  const release = holdConnections(server)
  await bind(server, { ...settings, now: services.now, beforeListening: () => writeSecret(tokenPath, services.token) })
  await mkdir(settings.stateDir, { recursive: true, mode: 0o700 })
  await ownDirectory(settings.stateDir)

  const events = new Events(services.newId('boot'), services.now)
  const engine = await chooseEngine(settings, services)
  const ended = Promise.withResolvers<void>()
  let stopping: Promise<void> | undefined
  const stop = (killSessions: boolean): Promise<void> => (stopping ??= tearDown(killSessions).finally(ended.resolve))

  const bench = await assemble(settings, services, engine, events, (killSessions) => setImmediate(() => void stop(killSessions)))
  const handlers = allHandlers(bench)
  const rpc = serveRpc(server, {
    token: services.token,
    events,
    now: services.now,
    newId: services.newId,
    log: ({ method, ms, code, cause }) =>
      services.log({ method, ms, code, ...(cause === undefined ? {} : { cause: stackOf(cause) }) }),
    hello: async () => ({
      app: { name: 'svc-workbench', version: settings.version, pid: process.pid, bootId: events.bootId },
      engine: {
        terminal: engine.name === 'none' ? null : engine.name,
        browser: bench.openPages()?.version ?? null,
        attach: engine.attach,
      },
      capabilities: methods,
    }),
    handle: (method, params, call) => {
      if (stopping) throw new WorkbenchError('shutting_down', 'the workbench is stopping')
      return dispatch(bench.guard, handlers, { method, params, ...call } as Call<Method>)
    },
  })
  release()
  const heartbeat = setInterval(() => events.emit('heartbeat', {}), heartbeatMs)

  async function tearDown(killSessions: boolean): Promise<void> {
    clearInterval(heartbeat)
    server.close()
    bench.ssh.close()
    await bench.openPages()?.shutdown()
    await engine.close(killSessions)
    rpc.closeAll()
    // The next host writes its own; ours must not be believed meanwhile.
    await rm(tokenPath, { force: true })
    if (settings.platform !== 'win32') await rm(settings.socketPath, { force: true })
  }

  return { ended: ended.promise, stop }
}

/** Who connects while the engine is still starting waits here; the function that comes back hands everybody to who serves by then. */
function holdConnections(server: Server): () => void {
  const held: Socket[] = []
  const hold = (socket: Socket): void => {
    socket.on('error', () => undefined)
    held.push(socket)
  }
  server.on('connection', hold)
  return () => {
    server.off('connection', hold)
    for (const socket of held) if (!socket.destroyed) server.emit('connection', socket)
  }
}

async function chooseEngine(settings: Settings, services: HostServices): Promise<TerminalEngine> {
  if (settings.engine === 'memory') return new MemoryEngine(services.newId)
  try {
    const { runDir, env, home, socketPath } = settings
    return new TmuxEngine(await tmuxVersion(env), { runDir, env, home, socketPath, newId: services.newId })
  } catch (error) {
    if (error instanceof WorkbenchError) return missingEngine(error)
    throw error
  }
}

async function assemble(
  settings: Settings,
  services: HostServices,
  engine: TerminalEngine,
  events: Events,
  shutdown: (killSessions: boolean) => void,
): Promise<Workbench> {
  const { newId, now, log } = services
  const notifications = new Notifications(join(settings.stateDir, 'notifications.json'))
  await notifications.load()
  const guard = new FocusGuard({
    engine,
    now,
    strict: settings.strictFocus,
    onMoved: (from, to, cause) => {
      if (from.workspaceId !== to.workspaceId) events.emit('workspace.focused', { ...to, cause })
      events.emit('pane.focused', { ...to, cause })
    },
    onViolation: (method, from, to) => log({ focusViolation: method, from: from.paneId, to: to.paneId }),
  })
  let pages: Promise<BrowserPages> | undefined
  let openPages: BrowserPages | undefined
  const watch = new LayoutWatch(engine, (name, data) => {
    events.emit(name, data)
    // However it was closed: by its last pane, by the user's own key, by the end of its shell.
    if (name === 'workspace.closed') void openPages?.closeOf(String(data['workspaceId'])).catch(() => undefined)
    if (name === 'pane.closed') ssh.forget(String(data['paneId']))
  })
  const ssh = new SshConnections({
    engine,
    settings,
    events,
    newId,
    onState: ({ workspaceId }) => {
      const entry = { unread: notifications.unreadOf(workspaceId), note: ssh.noteOf(workspaceId) }
      // The workspace of a connection that has ended may be gone already.
      engine.mark(workspaceId, entry).catch(() => undefined)
      // A pane that stays when its program ends changes nothing that tmux would announce.
      watch.look().catch(() => undefined)
    },
  })
  engine.onChange((change) => {
    if (change === 'focus') void guard.observe().catch(() => undefined)
    else void watch.look().catch(() => undefined)
  })
  if (engine.name !== 'none') {
    await watch.start()
    await guard.observe()
    await ssh.recover()
  }
  return {
    settings,
    engine,
    events,
    guard,
    notifications,
    notifier: new Notifier({ env: settings.env, platform: settings.platform, clients: () => engine.clients() }),
    pages: () => {
      pages ??= import('./browser/pages.ts').then(
        ({ BrowserPages }) => (openPages = new BrowserPages({ settings, events, newId })),
      )
      return pages
    },
    openPages: () => openPages,
    ssh,
    services: { now, newId, log },
    shutdown,
  }
}

type Served = Exclude<Method, 'system.hello' | 'system.ping'>

function allHandlers(bench: Workbench): Handlers<Served> {
  return {
    ...systemMethods(bench),
    ...workspaceMethods(bench),
    ...paneMethods(bench),
    ...notificationMethods(bench),
    ...browserMethods(bench),
    ...sshMethods(bench),
    ...filesMethods(bench),
  }
}

/** The one place where a method meets its handler: focus methods with the intent, all others under the guard's eyes. */
function dispatch(guard: FocusGuard, handlers: Handlers<Served>, call: Call<Method>): Promise<unknown> {
  const { method, requestId } = call
  if (method === 'system.hello' || method === 'system.ping') throw new TypeError(`${method} is answered by the connection`)
  if (isFocusMethod(method)) {
    const handler = handlers[method] as (call: Call<FocusMethod>, intent: unknown) => Promise<unknown>
    return guard.moving(method, requestId, (intent) => handler(call as Call<FocusMethod>, intent))
  }
  const handler = handlers[method] as (call: Call<QuietMethod>) => Promise<unknown>
  // Without the engine: the way out must be open when tmux hangs.
  if (method === 'app.shutdown') return handler(call as Call<QuietMethod>)
  return guard.quietly(method, () => handler(call as Call<QuietMethod>))
}

function stackOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}
