/** Answers `svc --version`. A module of its own, so that the answer costs little more than a start of Node. */
import type { ProcessOutput } from './process-io.ts'
import { readVersion } from '../system/version.ts'

export function printVersion(stdout: ProcessOutput, json: boolean): void {
  const text = readVersion()
  stdout.write(json ? `${JSON.stringify({ ok: true, result: { version: text } })}\n` : `${text}\n`)
}
