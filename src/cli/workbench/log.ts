/**
 * Writes one JSON line per event to a file that only the user can read. At two megabytes it is renamed to `<path>.1`, replacing the
 * previous one, so the log stays small over months. A line that cannot be written (a full disk) is dropped, because neither the
 * workbench nor its clients depend on it.
 */
import { appendFileSync, renameSync, statSync } from 'node:fs'

const defaultMaxBytes = 2 * 1024 * 1024

export function openLog(
  path: string,
  now: () => number,
  maxBytes = defaultMaxBytes,
): (entry: Readonly<Record<string, unknown>>) => void {
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return (entry) => {
    const line = `${JSON.stringify({ at: new Date(now()).toISOString(), ...entry })}\n`
    const bytes = Buffer.byteLength(line)
    try {
      if (size + bytes > maxBytes && size > 0) {
        renameSync(path, `${path}.1`)
        size = 0
      }
      appendFileSync(path, line, { mode: 0o600 })
      size += bytes
    } catch {
      // There is no other place to report it.
    }
  }
}
