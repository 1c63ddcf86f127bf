/** Answers `svc --version`; apart from the rest, so that it costs little more than the start of Node. */
import { version } from './version.ts'

export function printVersion(json: boolean): void {
  const text = version()
  process.stdout.write(json ? `${JSON.stringify({ ok: true, result: { version: text } })}\n` : `${text}\n`)
}
