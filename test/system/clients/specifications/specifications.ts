/** Opens the Python environment with the specifications that others publish, and the programs that judge by them. */
import { findPython, openEnvironment } from '../../../support/python/environment.ts'
import type { TestScope } from '../../../support/test-scope.ts'

/** The interpreter. Where Python is missing, the test is skipped with the reason, and fails on CI. */
export async function openSpecifications(t: TestScope): Promise<string | undefined> {
  const python = findPython()
  if (!('reason' in python)) return openEnvironment('api-specifications', python)
  if (process.env['CI'] === 'true') t.fail(python.reason)
  else t.plan(0, python.reason)
  return undefined
}
