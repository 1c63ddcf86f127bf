/**
 * Preloaded in each process that the test runner starts, and in their children; half of a test's cost is its start. The runner records every
 * loaded module line by line, for coverage and `tap --changed`, which are not used here. Compiled code is cached for the next process. Plain
 * JavaScript, because npm and other programs that tests start may run on an older Node.
 */
import module from 'node:module'
import { join } from 'node:path'

// A pattern of files that the runner does not record: all.
if (process.env['_TAPJS_PROCESSINFO_COVERAGE_'] === '0') process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./'
// Threads read it from the environment.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../.tap/compiled')
module.enableCompileCache?.(process.env['NODE_COMPILE_CACHE'])
