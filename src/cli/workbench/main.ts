/**
 * The workbench host's program. `svc workbench start`, and every command that needs it, starts it in the background. It reads
 * its settings as JSON from standard input and reports on standard output, in one line, whether it is ready.
 */
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { BindError, ensureOwnDirectory } from './server/bind-socket.ts'
import { startHost } from './host.ts'
import { openLog } from './log.ts'
import { settingsSchema } from './settings.ts'
import { join } from 'node:path'
import { parseJson } from '../../system/parse-json.ts'

const settings = settingsSchema.parse(parseJson(await text(process.stdin)))

try {
  await ensureOwnDirectory(settings.stateDir)
  const log = openLog(join(settings.stateDir, 'workbench.log'), Date.now)
  const host = await startHost(settings, {
    now: Date.now,
    newId: (prefix) => `${prefix}_${randomBytes(6).toString('hex')}`,
    token: randomBytes(32).toString('base64url'),
    log,
  })
  log({ started: settings.version, pid: process.pid })
  // An unexpected error in one call must not end the other calls and the panes; the log records it.
  process.on('uncaughtException', (error) => log({ uncaught: error.stack ?? error.message }))
  process.on('unhandledRejection', (reason) => log({ unhandled: String(reason instanceof Error ? reason.stack : reason) }))
  process.on('SIGTERM', () => void host.stop(false))
  process.on('SIGINT', () => void host.stop(false))
  process.on('SIGHUP', () => undefined)
  // The reader of this line may end the host at once.
  tell({ ready: true, pid: process.pid })
  await host.ended
  log({ stopped: true })
  process.exit(0)
} catch (error) {
  const code = error instanceof BindError ? error.code : 'failed'
  tell({ ready: false, code, message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}

/** The starter reads one line and exits; later writes find a closed pipe, which must not cause an error. */
function tell(message: unknown): void {
  process.stdout.on('error', () => undefined)
  process.stdout.write(`${JSON.stringify(message)}\n`)
}
