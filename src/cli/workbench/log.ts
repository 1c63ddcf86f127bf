/**
 * One JSON line an event, in a file for the user alone. At two megabytes it becomes `<path>.1`, in place of the one before, so
 * the log of a workbench that runs for months stays small. What cannot be written (a full disk) is left out: the workbench, and whoever
 * asks it something, has no need of the line.
 */
import { appendFileSync, renameSync, statSync } from 'node:fs'

const keptBytes = 2 * 1024 * 1024

export function openLog(
  path: string,
  now: () => number,
  mostBytes = keptBytes,
): (entry: Readonly<Record<string, unknown>>) => void {
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return (entry) => {
    const line = `${JSON.stringify({ at: new Date(now()).toISOString(), ...entry })}\n`
    const bytes = Buffer.byteLength(line)
    try {
      if (size + bytes > mostBytes && size > 0) {
        renameSync(path, `${path}.1`)
        size = 0
      }
      appendFileSync(path, line, { mode: 0o600 })
      size += bytes
    } catch {
      // There is no other place to say it.
    }
  }
}
