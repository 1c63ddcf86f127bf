/** Where tests keep what goes when they end. */
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Scope } from './scope.ts'

/** In memory where the system has room there: tests wait for thousands of commits, and none of them cuts the power for real. */
export const place = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()

/**
 * A folder that goes when the test has ended. Teardowns run last first, so what is registered after this may still use it (the runner's
 * own test folders are gone by then).
 */
export function temporaryFolder(t: Scope, within = place): string {
  const folder = mkdtempSync(join(within, 'svc-gateway-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > 2 ** 30
}
