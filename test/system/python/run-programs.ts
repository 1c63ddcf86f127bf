/**
 * `npm run test:python`: Python programs, pinned, against a gateway process with the fake upstream. Prints a table of programs and cases and
 * ends with 1 where a case failed. Without Python it says so and ends with 0, on CI with 1.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startFakeUpstream } from '../../support/upstream/server.ts'
import { startGatewayProcess } from '../../support/processes/gateway-process.ts'
import { cacheFolder } from '../../support/cache-folder.ts'
import { findPython, openEnvironment, runToEnd } from '../../support/python/environment.ts'
import type { EnvironmentName, Python } from '../../support/python/environment.ts'

/** The programs of each environment; litellm and llama-index need an older openai than the others, and Google's SDK needs none. */
const programs: readonly (readonly [EnvironmentName, readonly string[]])[] = [
  ['openai-3', ['openai_program', 'langchain_program', 'pydantic_ai_program']],
  ['google-genai', ['google_genai_program']],
  ['openai-2', ['litellm_program', 'llama_index_program', 'instructor_program']],
]

interface CaseResult {
  readonly program: string
  readonly version: string
  readonly case: string
  readonly ok: boolean
  readonly note: string
  readonly ms: number
}

const root = join(import.meta.dirname, '../../..')
const python = findPython()
if ('reason' in python) {
  console.log(`test:python is skipped: ${python.reason}`)
  process.exitCode = process.env['CI'] === 'true' ? 1 : 0
} else process.exitCode = await runPrograms(python)

async function runPrograms(python: Python): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-gateway-python-'))
  const interpreters = await Promise.all(programs.map(([name]) => openEnvironment(name, python)))
  const upstream = await startFakeUpstream({ scripted: true })
  const gateway = await startGatewayProcess({
    command: [process.execPath, join(root, 'src/operator/start.ts')],
    dataDir,
    env: {
      GATEWAY_CONFIG: writeConfig(dataDir),
      LOG_LEVEL: 'info',
      UPSTREAM_BASE_URL: upstream.url,
      UPSTREAM_MODEL_LIGHT: 'demo-light',
      UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
      UPSTREAM_MODEL_SEARCH: 'demo-search',
      UPSTREAM_MODEL_IMAGE: 'demo-image',
    },
  })
  try {
    const printed = await Promise.all(
      programs.map(([, modules], index) =>
        runToEnd(interpreters[index] ?? '', [join(import.meta.dirname, 'programs/cases.py'), ...modules], {
          env: {
            PATH: process.env['PATH'],
            HOME: dataDir,
            BASE_URL: `${gateway.origin}/v1`,
            API_KEY: gateway.key,
            PYTHONUNBUFFERED: '1',
            // Nothing is written into the checkout.
            PYTHONPYCACHEPREFIX: join(cacheFolder, 'pycache'),
            PYTHONWARNINGS: 'ignore',
          },
        }),
      ),
    )
    const results = printed.flatMap((text) =>
      text
        .split('\n')
        .filter((line) => line.startsWith('{"program"'))
        .map((line) => JSON.parse(line) as CaseResult),
    )
    return report(results)
  } finally {
    await gateway.stop()
    await upstream.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Flagship products have an empty pool, `down` has an upstream where nothing listens, and prompts may script the fake upstream. */
function writeConfig(folder: string): string {
  const file = join(folder, 'python.config.ts')
  const shipped = pathToFileURL(join(root, 'gateway.config.ts')).href
  writeFileSync(
    file,
    `import base from '${shipped}'
const { max } = base.plans
const nothing = { day: 0, week: 0, month: 0 }
export default {
  ...base,
  limits: { ...base.limits, addressRpm: 1_000_000 },
  upstreams: { ...base.upstreams, down: { baseUrl: 'http://127.0.0.1:9/v1' } },
  products: { ...base.products, down: { ...base.products['svc-2.1-fast'], name: 'Down', targets: [{ upstream: 'down', model: 'm' }] } },
  plans: { ...base.plans, max: { ...max, rpm: 100_000, concurrency: 1_000, pools: { ...max.pools, premium: nothing } } },
}
`,
  )
  return file
}

function report(results: readonly CaseResult[]): number {
  const cases = [...new Set(results.map((result) => result.case))]
  const byProgram = Map.groupBy(results, ({ program, version }) => `${program} ${version}`)
  console.log(`| Program | ${cases.join(' | ')} |\n|---|${cases.map(() => '---|').join('')}`)
  for (const [program, its] of byProgram) {
    const cells = cases.map((name) => {
      const found = its.find((result) => result.case === name)
      return found === undefined ? '' : found.ok ? found.note.split('\n')[0] || 'ok' : '**fails**'
    })
    console.log(`| ${program} | ${cells.join(' | ')} |`)
  }
  const failed = results.filter(({ ok }) => !ok)
  for (const each of failed) console.log(`\n${each.program}, ${each.case}: ${each.note}`)
  const count = programs.flatMap(([, modules]) => modules).length
  const missing = count - byProgram.size
  if (missing > 0) console.log(`\n${missing} of ${count} programs said nothing`)
  console.log(`\ntest:python: ${results.length - failed.length} cases are right, ${failed.length} are wrong`)
  return failed.length > 0 || missing > 0 ? 1 : 0
}
