import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { TestScope } from './test-scope.ts'

/**
 * Returns the path of a real program that a test runs (tmux, chromium, /usr/sbin/sshd …). If it is missing, the test is skipped with the
 * reason, and fails on CI, so that no test is skipped there unnoticed.
 *
 *     const tmux = requireProgram(t, 'tmux')
 *     if (tmux === undefined) return
 */
export function requireProgram(t: TestScope, ...names: readonly [string, ...string[]]): string | undefined {
  for (const name of names) {
    const found = findProgram(name)
    if (found !== undefined) return found
  }
  skipWithoutProgram(t, names.join(' or '))
  return undefined
}

export function skipWithoutProgram(t: TestScope, name: string): void {
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
