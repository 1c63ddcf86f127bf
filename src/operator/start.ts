/** The server program: configuration → store → services → application → listen → drain. */
import { isatty } from 'node:tty'
import { loadConfig } from '../config/config.ts'
import { listenForControl } from '../server/reload/control-socket.ts'
import type { ReloadReport } from '../server/reload/reloader.ts'
import { startServer } from '../server/start-server.ts'
import { hasLittleMemory } from '../server/workers/worker-count.ts'
import type { Server } from '../server/server.ts'
import { describeFailure } from './describe-failure.ts'
import { connectServiceManager } from './service-manager.ts'
import { createStartupMessage } from './startup-message.ts'
import { DataFolder } from '../system/data-folder/data-folder.ts'
import { describeEngineFault } from '../system/engine-fault.ts'
import { releaseStartMemory } from '../system/memory/release-start-memory.ts'

/** The default action of these signals, which the kernel does not apply to the first process of a container. */
const exitOnSigterm = (): void => process.exit(143)

/** SIGHUP reports that the terminal has closed. Under `nohup`, in a service and in a container there is none, and it requests a reload. */
const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))

/** Signals this close together count as one request to stop. */
const duplicateSignalMs = 500

/** Starts the server and runs until a signal stops it. Exits with 1 and one sentence where it cannot start. */
export async function runServer(): Promise<void> {
  if (process.pid === 1) process.once('SIGTERM', exitOnSigterm)
  // Until the server runs: the default action would end it.
  if (!hasTerminal) process.on('SIGHUP', () => undefined)
  const fault = describeEngineFault()
  if (fault !== null) process.stderr.write(`Warning: ${fault}.\n`)
  let gateway: Server
  let greeting: string
  try {
    gateway = await startServer(await loadConfig())
    greeting = await createStartupMessage(gateway)
    // With several threads this one serves no turns.
    if (gateway.threads.count > 1 || hasLittleMemory()) releaseStartMemory()
  } catch (error) {
    process.stderr.write(`svc-gateway cannot start:\n${describeFailure(error)}\n`)
    // A start that fails halfway must end the process, whatever it had begun.
    process.exit(1)
  }
  const { services } = gateway
  const { log } = services
  if (fault !== null) log.warn(fault)
  log.info({ url: gateway.url, workers: gateway.threads.count, node: process.version, pid: process.pid }, 'listening')
  process.on('unhandledRejection', (error) => log.fatal({ err: error }, 'a promise was left to fail'))

  const serviceManager = connectServiceManager({
    onFailure: (error) => log.error({ err: error }, 'systemd cannot be notified that the server runs, and will end it'),
  })
  let stoppedAt: number | undefined
  let closeControl = (): void => undefined
  const stop = (signal: string): void => {
    const now = services.clock.monotonicMs()
    // A second signal skips the wait, unless a terminal and npm both pass on the same Ctrl-C.
    if (stoppedAt !== undefined && now - stoppedAt < duplicateSignalMs) return
    if (stoppedAt !== undefined) process.exit(1)
    stoppedAt = now
    log.info({ signal }, 'stopping: running turns may finish')
    serviceManager.stopping()
    closeControl()
    void gateway.close().then(
      () => {
        log.info('stopped')
        process.exitCode = 0
      },
      (error: unknown) => {
        log.fatal({ err: error }, 'stopping failed')
        process.exitCode = 1
      },
    )
  }
  process.off('SIGTERM', exitOnSigterm)
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  const reload = (): Promise<ReloadReport> =>
    stoppedAt === undefined ? gateway.reload() : Promise.resolve({ ok: false, faults: ['The server is stopping.'] })
  process.on('SIGHUP', () => {
    if (hasTerminal) return stop('SIGHUP')
    // Its report is in the log.
    reload().catch((error: unknown) => log.error({ err: error }, 'the reload failed'))
  })
  try {
    closeControl = await listenForControl(new DataFolder(services.config.store.dataDir).controlSocket, {
      reload,
      readLastReload: () => Promise.resolve(gateway.lastReload),
      readLastBackupFailure: () => Promise.resolve(gateway.lastBackupFailure),
    })
  } catch (error) {
    log.warn({ err: error }, 'svc-gateway reload cannot reach this server; send it SIGHUP instead')
  }
  // Signal handlers first: the process may be stopped as soon as it reports that it listens.
  serviceManager.ready()
  process.stdout.write(greeting, (error) => {
    if (error) log.error({ err: error }, 'the message of the start could not be printed; svc-gateway key create creates a key')
  })
}

if (import.meta.main) await runServer()
