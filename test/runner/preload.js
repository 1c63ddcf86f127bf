/**
 * Preloaded in each process that the test runner starts, and in their children; half of a test's cost is its start. The runner tracks every
 * loaded module line by line, for coverage and `tap --changed`, and every promise, to attribute errors: the first is not needed here, the
 * second is done more cheaply. Compiled code is cached for the next process. Plain JavaScript, because npm and other programs that tests
 * start may run on an older Node.
 */
import module from 'node:module'
import { join } from 'node:path'

if (process.env['_TAPJS_PROCESSINFO_COVERAGE_'] === '0') {
  process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./'
  const errorDomain = new URL('error-domain.ts', import.meta.url).href
  module.registerHooks?.({
    resolve(specifier, context, next) {
      if (specifier === 'async-hook-domain') return { url: errorDomain, shortCircuit: true, format: 'module-typescript' }
      if (specifier.endsWith('@tapjs/processinfo/dist/esm/import.mjs'))
        return { url: 'data:text/javascript,', shortCircuit: true }
      return next(specifier, context)
    },
  })
}
// Threads read it from the environment.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../.tap/compiled')
module.enableCompileCache?.(process.env['NODE_COMPILE_CACHE'])
