/** Assembles the workbench from its parts and shuts it down in order. */
import { rm } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { BrowserPages } from './browser/pages.ts'
import { bindSocket, ensureOwnDirectory, writeSecretFile } from './server/bind-socket.ts'
import type { TerminalEngine } from './engine/terminal-engine.ts'
import { MemoryEngine } from './engine/memory-engine.ts'
import { createMissingEngine } from './engine/missing-engine.ts'
import { EventLog } from './event-log.ts'
import { FocusGuard } from './engine/focus-guard.ts'
import type { Call, Handlers } from './methods/handler.ts'
import { createBrowserMethods } from './methods/browser.ts'
import { createFilesMethods } from './methods/files.ts'
import { createNotificationMethods } from './methods/notification.ts'
import { createPaneMethods } from './methods/pane.ts'
import { createSshMethods } from './methods/ssh.ts'
import { createSystemMethods } from './methods/system.ts'
import { createWorkspaceMethods } from './methods/workspace.ts'
import { NotificationStore } from './notifications/notification-store.ts'
import { Notifier } from './notifications/notifier.ts'
import { methodNames } from './protocol/methods.ts'
import type { FocusMethod, Method, QuietMethod } from './protocol/methods.ts'
import { WorkbenchError } from './protocol/protocol.ts'
import { isFocusMethod } from './protocol/methods.ts'
import { serveRpc } from './server/rpc-server.ts'
import type { Settings } from './settings.ts'
import { SshConnections } from './ssh/connections.ts'
import { TmuxEngine } from './tmux/engine.ts'
import { readTmuxVersion } from './tmux/version.ts'
import { LayoutWatcher } from './engine/layout-watcher.ts'
import type { WorkbenchServices, Workbench } from './workbench.ts'

export interface Host {
  /** Settles when the host has ended, for any reason. */
  readonly ended: Promise<void>
  /** Stops serving. The panes stay alive in tmux unless `killSessions`. */
  stop(killSessions: boolean): Promise<void>
}

interface HostServices extends WorkbenchServices {
  /** The token of this start: 32 random bytes. */
  readonly token: string
}

const heartbeatMs = 30_000

/** Starts the workbench: engine, state and socket. Throws `BindError` where the socket cannot be served. */
export async function startHost(settings: Settings, services: HostServices): Promise<Host> {
  const tokenPath = join(settings.runDir, 'workbench.token')
  const server = createServer()
  const releaseConnections = queueEarlyConnections(server)
  await bindSocket(server, { ...settings, now: services.now, beforeListening: () => writeSecretFile(tokenPath, services.token) })
  await ensureOwnDirectory(settings.stateDir)

  const events = new EventLog(services.newId('boot'), services.now)
  const engine = await chooseEngine(settings, services)
  const ending = Promise.withResolvers<void>()
  let stopPromise: Promise<void> | undefined
  const stop = (killSessions: boolean): Promise<void> => (stopPromise ??= tearDown(killSessions).finally(ending.resolve))

  const bench = await createWorkbench(settings, services, engine, events, (killSessions) =>
    setImmediate(() => void stop(killSessions)),
  )
  const handlers = createHandlers(bench)
  const rpc = serveRpc(server, {
    token: services.token,
    events,
    now: services.now,
    newId: services.newId,
    log: ({ method, ms, code, cause }) =>
      services.log({ method, ms, code, ...(cause === undefined ? {} : { cause: getStack(cause) }) }),
    hello: async () => ({
      app: { name: 'svc-workbench', version: settings.version, pid: process.pid, bootId: events.bootId },
      engine: {
        terminal: engine.name === 'none' ? null : engine.name,
        browser: bench.openPages()?.version ?? null,
        attach: engine.attachCommand,
      },
      capabilities: methodNames,
    }),
    handle: (method, params, call) => {
      if (stopPromise) throw new WorkbenchError('shutting_down', 'the workbench is stopping')
      return dispatch(bench.guard, handlers, { method, params, ...call } as Call<Method>)
    },
  })
  releaseConnections()
  const heartbeat = setInterval(() => events.emit('heartbeat', {}), heartbeatMs)

  async function tearDown(killSessions: boolean): Promise<void> {
    clearInterval(heartbeat)
    server.close()
    bench.ssh.close()
    await bench.openPages()?.shutdown()
    await engine.close(killSessions)
    rpc.closeAll()
    // The next host writes its own token; until then no client may trust this one.
    await rm(tokenPath, { force: true })
    if (settings.platform !== 'win32') await rm(settings.socketPath, { force: true })
  }

  return { ended: ending.promise, stop }
}

/** Holds connections that arrive while the engine starts; the returned function passes them to the server. */
function queueEarlyConnections(server: Server): () => void {
  const earlySockets: Socket[] = []
  const enqueue = (socket: Socket): void => {
    socket.on('error', () => undefined)
    earlySockets.push(socket)
  }
  server.on('connection', enqueue)
  return () => {
    server.off('connection', enqueue)
    for (const socket of earlySockets) if (!socket.destroyed) server.emit('connection', socket)
  }
}

async function chooseEngine(settings: Settings, services: HostServices): Promise<TerminalEngine> {
  if (settings.engine === 'memory') return new MemoryEngine(services.newId)
  try {
    const { runDir, env, home, socketPath } = settings
    return new TmuxEngine(await readTmuxVersion(env), { runDir, env, home, socketPath, newId: services.newId })
  } catch (error) {
    if (error instanceof WorkbenchError) return createMissingEngine(error)
    throw error
  }
}

async function createWorkbench(
  settings: Settings,
  services: HostServices,
  engine: TerminalEngine,
  events: EventLog,
  shutdown: (killSessions: boolean) => void,
): Promise<Workbench> {
  const { newId, now, log } = services
  const notifications = new NotificationStore(join(settings.stateDir, 'notifications.json'))
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
  const watch = new LayoutWatcher(engine, (name, data) => {
    events.emit(name, data)
    // Covers every way to close it: its last pane, the user's own key, the end of its shell.
    if (name === 'workspace.closed') void openPages?.closeWorkspacePages(String(data['workspaceId'])).catch(() => undefined)
    if (name === 'pane.closed') ssh.forget(String(data['paneId']))
  })
  const ssh = new SshConnections({
    engine,
    settings,
    events,
    newId,
    onState: ({ workspaceId }) => {
      const entry = { unread: notifications.countUnread(workspaceId), note: ssh.getStatusNote(workspaceId) }
      // The workspace of a connection that has ended may be gone already.
      engine.setStatusEntry(workspaceId, entry).catch(() => undefined)
      // tmux announces no change for a pane that stays when its program ends.
      watch.refresh().catch(() => undefined)
    },
  })
  engine.onChange((change) => {
    if (change === 'focus') void guard.observeFocus().catch(() => undefined)
    else void watch.refresh().catch(() => undefined)
  })
  if (engine.name !== 'none') {
    await watch.start()
    await guard.observeFocus()
    await ssh.recover()
  }
  return {
    settings,
    engine,
    events,
    guard,
    notifications,
    notifier: new Notifier({ env: settings.env, platform: settings.platform, listClients: () => engine.listClients() }),
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

type HandledMethod = Exclude<Method, 'system.hello' | 'system.ping'>

function createHandlers(bench: Workbench): Handlers<HandledMethod> {
  return {
    ...createSystemMethods(bench),
    ...createWorkspaceMethods(bench),
    ...createPaneMethods(bench),
    ...createNotificationMethods(bench),
    ...createBrowserMethods(bench),
    ...createSshMethods(bench),
    ...createFilesMethods(bench),
  }
}

/** The one place that calls handlers: focus methods with the intent, all others under the focus guard. */
function dispatch(guard: FocusGuard, handlers: Handlers<HandledMethod>, call: Call<Method>): Promise<unknown> {
  const { method, requestId } = call
  if (method === 'system.hello' || method === 'system.ping') throw new TypeError(`${method} is answered by the connection`)
  if (isFocusMethod(method)) {
    const handler = handlers[method] as (call: Call<FocusMethod>, intent: unknown) => Promise<unknown>
    return guard.runFocusMethod(method, requestId, (intent) => handler(call as Call<FocusMethod>, intent))
  }
  const handler = handlers[method] as (call: Call<QuietMethod>) => Promise<unknown>
  // Without the engine: a stop must work when tmux hangs.
  if (method === 'app.shutdown') return handler(call as Call<QuietMethod>)
  return guard.runQuietMethod(method, () => handler(call as Call<QuietMethod>))
}

function getStack(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}
