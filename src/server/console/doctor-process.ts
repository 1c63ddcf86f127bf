/** Runs `svc-gateway doctor` in a process of its own, as a shell would: it reads the configuration anew, and what it loads is freed again. */
import { execFile } from 'node:child_process'
import { basename } from 'node:path'
import { createChildEnvironment } from '../../config/config.ts'
import type { HealthCheck } from '../../services/health/health-checks.ts'
import { parseJson } from '../../system/parse-json.ts'

/** Each check ends after ten seconds, and a backup is read. */
const timeoutMs = 120_000
const maxOutputBytes = 1024 * 1024

export class DoctorProcess {
  #running: Promise<readonly HealthCheck[] | null> | null = null

  /** Null where this process is not the program, or where the checks did not end. One run at a time; further callers get its findings. */
  run(): Promise<readonly HealthCheck[] | null> {
    this.#running ??= runOnce().finally(() => (this.#running = null))
    return this.#running
  }
}

function runOnce(): Promise<readonly HealthCheck[] | null> {
  const [program, script = ''] = process.argv
  if (program === undefined || !/^svc-gateway(\.js)?$/.test(basename(script))) return Promise.resolve(null)
  const options = {
    env: createChildEnvironment({}),
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: maxOutputBytes,
  } as const
  return new Promise((resolve) => {
    // Its exit status is 1 where a check fails; the findings are the same.
    execFile(process.execPath, [script, 'doctor', '--json'], options, (_, output) => resolve(parseFindings(output)))
  })
}

function parseFindings(output: string): readonly HealthCheck[] | null {
  try {
    return (parseJson(output) as { readonly findings: readonly HealthCheck[] }).findings
  } catch {
    return null
  }
}
