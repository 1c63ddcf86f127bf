/**
 * `npm run test:openapi`: Schemathesis sends a bounded number of requests, made from `docs/openapi.json`, to a gateway process and compares the answers
 * with it. What it finds is accepted only where `known-openapi-failures.json` has it; `-- --update` writes that file anew. Without Python it says so and
 * ends with 0, on CI with 1.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startGatewayProcess } from '../../support/processes/gateway-process.ts'
import { findPython, openEnvironment, runToEnd } from '../../support/python/environment.ts'
import type { Python } from '../../support/python/environment.ts'

const root = join(import.meta.dirname, '../../..')
const knownFile = join(import.meta.dirname, 'known-openapi-failures.json')
const update = process.argv.includes('--update')
/** For each operation and phase. The same requests each time: a random run finds a random part of what is wrong. */
const examples = ['--max-examples=5', '--seed=1', '--phases=examples,coverage,fuzzing']

const python = findPython()
if ('reason' in python) {
  console.log(`test:openapi is skipped: ${python.reason}`)
  process.exitCode = process.env['CI'] === 'true' ? 1 : 0
} else process.exitCode = await runSchemathesis(python)

async function runSchemathesis(python: Python): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-gateway-openapi-'))
  const interpreter = await openEnvironment('schemathesis', python)
  const gateway = await startGatewayProcess({
    command: [process.execPath, join(root, 'src/operator/start.ts')],
    dataDir,
    env: { GATEWAY_CONFIG: writeConfig(dataDir), LOG_LEVEL: 'info' },
  })
  const baseline = join(dataDir, 'known.json')
  if (!update) copyFileSync(knownFile, baseline)
  try {
    const printed = await runToEnd(
      interpreter,
      [
        '-c',
        'from schemathesis.cli import schemathesis; schemathesis()',
        'run',
        join(root, 'docs/openapi.json'),
        `--url=${gateway.origin}`,
        `--header=Authorization: Bearer ${gateway.key}`,
        ...examples,
        '--continue-on-failure',
        '--no-shrink',
        // Before Python 3.11.5 two threads that parse code at once fail with "AST constructor recursion depth mismatch".
        '--workers=1',
        '--no-color',
        '--generation-database=none',
        `--baseline=${baseline}`,
        update ? '--baseline-update' : '--baseline-prune',
      ],
      { okay: [0, 1], cwd: dataDir, env: { PATH: process.env['PATH'], HOME: dataDir, PYTHONWARNINGS: 'ignore' } },
    )
    return update ? writeKnown(baseline) : report(printed, baseline)
  } finally {
    await gateway.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** No rate of the account's stands in the way of so many requests. */
function writeConfig(folder: string): string {
  const file = join(folder, 'openapi.config.ts')
  const shipped = pathToFileURL(join(root, 'gateway.config.ts')).href
  writeFileSync(
    file,
    `import base from '${shipped}'
export default {
  ...base,
  limits: { ...base.limits, addressRpm: 1_000_000 },
  plans: { ...base.plans, max: { ...base.plans.max, rpm: 100_000, concurrency: 1_000 } },
}
`,
  )
  return file
}

function report(printed: string, baseline: string): number {
  const summary = printed
    .split('\n')
    .findLast((line) => line.includes(' generated, '))
    ?.trim()
  const isRight =
    summary !== undefined && !/\bfound \d+ unique failure/.test(summary) && !/^=+ (?:ERRORS|FAILURES) =+$/m.test(printed)
  if (!isRight) console.log(printed)
  const left = new Set(entriesOf(baseline).map(describe))
  for (const gone of entriesOf(knownFile)
    .map(describe)
    .filter((entry) => !left.has(entry)))
    console.log(`not found any more; take it out of known-openapi-failures.json: ${gone}`)
  console.log(`test:openapi: ${summary ?? 'Schemathesis made no request'}; ${entriesOf(knownFile).length} failures are known`)
  return isRight ? 0 : 1
}

interface Entry {
  readonly operation: string
  readonly check: string
  readonly failure: string
  readonly signature: string
  readonly first_seen?: string
  readonly last_seen?: string
}

function entriesOf(file: string): Entry[] {
  return (JSON.parse(readFileSync(file, 'utf8')) as { entries: Entry[] }).entries
}

function describe({ operation, check, signature }: Entry): string {
  return `${operation} ${check} ${signature}`
}

function writeKnown(baseline: string): number {
  const known = JSON.parse(readFileSync(baseline, 'utf8')) as { entries: Entry[] }
  writeFileSync(knownFile, `${JSON.stringify(known, null, 2)}\n`)
  console.log(`known-openapi-failures.json has ${known.entries.length} failures`)
  return 0
}
