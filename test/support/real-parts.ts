import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Scope } from './scope.ts'

/**
 * Where a real program is that a test drives (tmux, chromium, /usr/sbin/sshd …). Where it is missing the test skips with the
 * reason, and fails on CI, so that a proof cannot silently stop being one.
 *
 *     const tmux = requireProgram(t, 'tmux')
 *     if (tmux === undefined) return
 */
export function requireProgram(t: Scope, ...names: readonly [string, ...string[]]): string | undefined {
  for (const name of names) {
    const found = findProgram(name)
    if (found !== undefined) return found
  }
  missingProgram(t, names.join(' or '))
  return undefined
}

export function missingProgram(t: Scope, name: string): void {
  const reason = `${name} is not installed`
  if (process.env['CI'] === 'true') t.fail(reason)
  else t.plan(0, reason)
}

export function findProgram(name: string): string | undefined {
  const folders = isAbsolute(name) ? [''] : [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return folders.map((folder) => (folder === '' ? name : join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
