/**
 * The workbench host's program. `svc workbench start`, and every command that needs it, starts it in the background; it takes
 * its settings as JSON from standard input and says on standard output, in one line, whether it is ready.
 */
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { BindError, ownDirectory } from './bind.ts'
import { startHost } from './host.ts'
import { openLog } from './log.ts'
import { settingsSchema } from './settings.ts'
import { join } from 'node:path'

const settings = settingsSchema.parse(JSON.parse(await text(process.stdin)))

try {
  await ownDirectory(settings.stateDir)
  const log = openLog(join(settings.stateDir, 'workbench.log'), Date.now)
  const host = await startHost(settings, {
    now: Date.now,
    newId: (prefix) => `${prefix}_${randomBytes(6).toString('hex')}`,
    token: randomBytes(32).toString('base64url'),
    log,
  })
  log({ started: settings.version, pid: process.pid })
  // Whatever goes wrong in one call, the others and the panes go on; the log says what it was.
  process.on('uncaughtException', (error) => log({ uncaught: error.stack ?? error.message }))
  process.on('unhandledRejection', (reason) => log({ unhandled: String(reason instanceof Error ? reason.stack : reason) }))
  process.on('SIGTERM', () => void host.stop(false))
  process.on('SIGINT', () => void host.stop(false))
  process.on('SIGHUP', () => undefined)
  // Whoever hears it may end it at once.
  tell({ ready: true, pid: process.pid })
  await host.ended
  log({ stopped: true })
  process.exit(0)
} catch (error) {
  const code = error instanceof BindError ? error.code : 'failed'
  tell({ ready: false, code, message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}

/** The starter reads one line and goes; nobody hears what comes later, and that must not hurt. */
function tell(message: unknown): void {
  process.stdout.on('error', () => undefined)
  process.stdout.write(`${JSON.stringify(message)}\n`)
}
