/** Temporary folders of tests. */
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestScope } from './test-scope.ts'

/** In memory if there is room: tests wait for thousands of commits, and none of them needs to survive a power cut. */
export const temporaryRoot = hasFreeSpace('/dev/shm') ? '/dev/shm' : tmpdir()

/**
 * A folder that is removed after the test. Teardowns run in reverse order, so those registered after this call can still use it (the runner's
 * own test folders are already removed by then).
 */
export function createTemporaryFolder(t: TestScope, parentFolder = temporaryRoot): string {
  const folder = mkdtempSync(join(parentFolder, 'svc-gateway-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function hasFreeSpace(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > 2 ** 30
}
