/** Answers `svc --version`; apart from the rest, so that it costs little more than the start of Node. */
import type { Output } from './surroundings.ts'
import { version } from './version.ts'

export function printVersion(stdout: Output, json: boolean): void {
  const text = version()
  stdout.write(json ? `${JSON.stringify({ ok: true, result: { version: text } })}\n` : `${text}\n`)
}
