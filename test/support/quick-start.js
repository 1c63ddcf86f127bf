/**
 * Comes before everything else in each process that the test runner starts, and in theirs; half of what a test costs is its start.
 * The runner keeps account of every module that is loaded, line by line, for coverage and `tap --changed`: not wanted here. What Node
 * compiled is kept for the next process. Plain JavaScript, because npm and others that tests start may run on an older Node.
 */
import module from 'node:module'
import { join } from 'node:path'

if (process.env['_TAPJS_PROCESSINFO_COVERAGE_'] === '0') process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./'
// Threads look for it in the environment.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../.tap/compiled')
module.enableCompileCache?.(process.env['NODE_COMPILE_CACHE'])
