/** Proxies that Debian has no package of: their programs come from Python packages, installed once into the user's cache folder. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPython, openEnvironment } from '../python/environment.ts'
import type { Python } from '../python/environment.ts'
import { skipWithoutProgram } from '../require-program.ts'
import type { TestScope } from '../test-scope.ts'

/** One installation for all tests of a process, which begin at once. */
let environment: Promise<string> | undefined

function openOnce(python: Python): Promise<string> {
  environment ??= openEnvironment('proxies', python)
  return environment
}

/** The path of the program. Where it cannot be installed, the test is skipped with the reason, and fails on CI. */
export async function openPackagedProgram(t: TestScope, name: 'envoy' | 'traefik'): Promise<string | undefined> {
  const python = findPython()
  if ('reason' in python) {
    skipWithoutProgram(t, `${name} (${python.reason})`)
    return undefined
  }
  try {
    const home = dirname(dirname(await openOnce(python)))
    const program = {
      traefik: join(home, 'bin/traefik'),
      // Its own launcher is a Python program, which a signal would reach in place of the proxy.
      envoy: join(home, 'lib', `python${python.version}`, 'site-packages/envoy/_bin/envoy'),
    }[name]
    if (existsSync(program)) return program
    skipWithoutProgram(t, program)
  } catch (error) {
    skipWithoutProgram(t, `${name} (${String(error)})`)
  }
  return undefined
}
