/** The server program: configuration → store → services → application → listen → drain. */
import { isatty } from 'node:tty'
import { ConfigError, loadConfig } from './config/config.ts'
import { openServer } from './gateway/open-server.ts'
import type { Server } from './gateway/gateway.ts'
import { welcome } from './operator/welcome.ts'
import { Unusable } from './system/unusable.ts'

/** What the system does to every other process that is told to end and hears no signals yet. The first one of a container it lets run on. */
const endAsFirst = (): void => process.exit(143)

/**
 * SIGHUP says that the terminal has gone. Under `nohup`, in a service and in a container there is none, and Node has taken back that
 * the signal was to be ignored; so it is by us.
 */
const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))

/** Signals this close together are one request to stop. */
const sameRequestMs = 500

/** Starts the server and stays until it is told to stop. Exits with 1 and one sentence where it cannot start. */
export async function serve(): Promise<void> {
  if (process.pid === 1) process.once('SIGTERM', endAsFirst)
  if (!hasTerminal) process.on('SIGHUP', () => undefined)
  let gateway: Server
  let greeting: string
  try {
    gateway = await openServer(await loadConfig())
    greeting = await welcome(gateway)
  } catch (error) {
    const expected = error instanceof ConfigError || error instanceof Unusable
    const why = expected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`svc-gateway cannot start:\n${why}\n`)
    // Whatever the start had begun: a server that does not serve must not stay.
    process.exit(1)
  }
  const { services } = gateway
  const { log } = services
  log.info({ url: gateway.url, workers: gateway.workers, node: process.version, pid: process.pid }, 'listening')
  process.on('unhandledRejection', (error) => log.fatal({ err: error }, 'a promise was left to fail'))

  let stoppedAt: number | undefined
  const stop = (signal: string): void => {
    const now = services.clock.ticks()
    // Asked twice: whoever asks does not want to wait. Not so where a terminal and npm hand on the same Ctrl-C.
    if (stoppedAt !== undefined && now - stoppedAt < sameRequestMs) return
    if (stoppedAt !== undefined) process.exit(1)
    stoppedAt = now
    log.info({ signal }, 'stopping: running turns may finish')
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
  process.off('SIGTERM', endAsFirst)
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  if (hasTerminal) process.on('SIGHUP', () => stop('SIGHUP'))
  // Whoever is told that it listens may end it at once, and it must end as it should.
  process.stdout.write(greeting, (error) => {
    if (error)
      log.error({ err: error }, 'what was to be said to you could not be printed; svc-gateway key create makes you a key')
  })
}

if (import.meta.main) await serve()
