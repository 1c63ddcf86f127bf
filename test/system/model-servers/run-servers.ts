/**
 * `npm run test:servers`: installs llama-cpp-python, transformers and LiteLLM, starts them with tiny random models, runs the recorded cases against them
 * through a gateway, and prints a Markdown table. Ends with 1 where a rule for every turn is broken. Options: names of servers; none for all.
 * The first run installs about 7 GB and compiles llama.cpp.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findFreePort } from '../../support/free-port.ts'
import { findPython, openEnvironment, runToEnd } from '../../support/python/environment.ts'
import { cacheFolder } from '../../support/cache-folder.ts'
import type { EnvironmentName, Python } from '../../support/python/environment.ts'
import { expectedOutcomes } from './expected.ts'
import { breachesOf, describeOutcome, protocolBreaches } from './judge.ts'
import type { ServerName } from './recording.ts'
import { runScenarios } from './run-scenarios.ts'
import type { LiveUpstream, Observed } from './run-scenarios.ts'
import { listScenarios } from './scenarios.ts'
import type { Scenario } from './scenarios.ts'
import { startProvider } from './servers/scripted-provider.ts'

/** A process of a model server. */
interface Instance {
  readonly environment: EnvironmentName
  readonly words: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const readyMs = 240_000
const sources = join(import.meta.dirname, 'servers')
const closing: (() => unknown)[] = []
/** In place of tap's test: what is started is ended at the end of this program. */
const scope = { teardown: (end: () => unknown) => void closing.unshift(end) } as unknown as Test

const python = findPython()
const wanted = new Set(process.argv.slice(2))
if ('reason' in python) {
  console.log(`test:servers is skipped: ${python.reason}`)
} else
  try {
    process.exitCode = await runServers(python)
  } finally {
    for (const end of closing) await end()
  }

async function runServers(python: Python): Promise<number> {
  const models = await makeModels(python)
  const logs = mkdtempSync(join(tmpdir(), 'svc-gateway-servers-'))
  console.log(`The servers' logs are in ${logs}.`)
  const provider = await startProvider()
  closing.unshift(() => provider.close())
  const running = new Map<string, string>()
  const isWanted = (server: ServerName): boolean => wanted.size === 0 || wanted.has(server)
  const start = async (name: string, instance: (port: number) => Instance): Promise<void> =>
    void running.set(name, await startInstance(python, join(logs, `${name}.log`), instance))
  const starting: Promise<void>[] = []
  if (isWanted('llama-cpp-python') || isWanted('litellm'))
    starting.push(start('llama', (port) => llama(port, `${models}/tiny.gguf`)))
  if (isWanted('llama-cpp-python')) {
    starting.push(start('llama-eos', (port) => llama(port, `${models}/eos.gguf`)))
    starting.push(start('llama-chatml', (port) => llama(port, `${models}/tiny.gguf`, '--chat_format', 'chatml-function-calling')))
  }
  await Promise.all(starting)
  if (isWanted('transformers-serve'))
    for (const [name, words] of [
      ['hf', [`${models}/hf-tiny`]],
      ['hf-eos', [`${models}/hf-eos`]],
      ['hf-unpinned', []],
    ] as const)
      await start(name, (port) => transformersServe(port, words))
  if (isWanted('litellm')) {
    const config = join(logs, 'litellm.yaml')
    const addresses = { PROVIDER: provider.url, LLAMA: running.get('llama') ?? '', DEAD: 'http://127.0.0.1:9/v1' }
    const text = Object.entries(addresses).reduce(
      (all, [name, url]) => all.replaceAll(`api_base: ${name}`, `api_base: ${url}`),
      readFileSync(join(sources, 'litellm.yaml'), 'utf8'),
    )
    writeFileSync(config, text)
    await start('litellm', (port) => litellmProxy(port, config))
  }
  const scenarios = listScenarios().filter((scenario) => isWanted(scenario.server) && instanceOf(scenario) !== null)
  const skipped = listScenarios().length - scenarios.length
  const observed = await runScenarios(scope, scenarios, {
    // A second request ends the first one's stream in llama-cpp-python.
    atOnce: 1,
    // A loaded machine makes 600 tokens slowly.
    hangMs: 180_000,
    upstreamOf: (scenario) => liveUpstream(scenario, running, models),
  })
  return report(observed, skipped)
}

/** Which process a case needs; null where the recording depends on more than a request. */
function instanceOf({ server, recording }: Scenario): string | null {
  const name = recording.case
  // The server was ended or disturbed meanwhile, or it was started in another way.
  if (recording.did !== undefined || /interrupt|cold-first|no-cache-folder|empty-cache|idle-connection/.test(name)) return null
  // The gateway refuses by itself what provoked the first failure.
  if (recording.next !== undefined && typeof recording.request.body === 'string') return null
  switch (server) {
    case 'llama-cpp-python':
      return name.startsWith('eos') ? 'llama-eos' : name.startsWith('chatml') ? 'llama-chatml' : 'llama'
    case 'transformers-serve':
      return name.startsWith('eos') ? 'hf-eos' : name.startsWith('unpinned') ? 'hf-unpinned' : 'hf'
    case 'litellm':
      return 'litellm'
    // Not to be had as a package.
    case 'ollama':
      return null
  }
}

function liveUpstream(scenario: Scenario, running: ReadonlyMap<string, string>, models: string): LiveUpstream {
  const { recording, model } = scenario
  const apiKey = recording.case.startsWith('no-auth') ? null : recording.case === 'wrong-auth' ? 'sk-wrong' : 'sk-recorded'
  return { baseUrl: running.get(instanceOf(scenario) ?? '') ?? '', apiKey, model: model?.replace('/models', models) ?? null }
}

function llama(port: number, model: string, ...more: string[]): Instance {
  return {
    environment: 'llama-cpp-python',
    words: [
      '-m',
      'llama_cpp.server',
      '--model',
      model,
      '--n_ctx',
      '512',
      '--n_threads',
      '2',
      '--api_key',
      'sk-recorded',
      '--port',
      `${port}`,
      ...more,
    ],
  }
}

function transformersServe(port: number, model: readonly string[]): Instance {
  return {
    environment: 'transformers-serve',
    words: [
      '-c',
      'from transformers.cli.transformers import main; main()',
      'serve',
      ...model,
      '--device',
      'cpu',
      '--port',
      `${port}`,
    ],
    env: { HF_HUB_OFFLINE: '1' },
  }
}

function litellmProxy(port: number, config: string): Instance {
  return {
    environment: 'litellm-proxy',
    words: ['-c', 'from litellm import run_server; run_server()', '--config', config, '--host', '127.0.0.1', '--port', `${port}`],
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  }
}

/** Starts it and waits until it answers anything. Gives its address. */
async function startInstance(python: Python, log: string, instance: (port: number) => Instance): Promise<string> {
  const port = await findFreePort()
  const { environment, words, env } = instance(port)
  const child = spawn(await openEnvironment(environment, python), words, {
    env: { PATH: process.env['PATH'], HOME: cacheFolder, PYTHONUNBUFFERED: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const file = createWriteStream(log)
  child.stdout.pipe(file, { end: false })
  child.stderr.pipe(file, { end: false })
  closing.unshift(() => child.kill('SIGKILL'))
  // Also where this program ends by an error that nothing catches.
  process.on('exit', () => child.kill('SIGKILL'))
  const deadline = performance.now() + readyMs
  while (performance.now() < deadline && child.exitCode === null) {
    const answered = await fetch(`http://127.0.0.1:${port}/v1/models`, { signal: AbortSignal.timeout(10_000) }).then(
      () => true,
      () => false,
    )
    if (answered) return `http://127.0.0.1:${port}/v1`
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error(`${environment} did not start:\n${readFileSync(log, 'utf8').slice(-4_000)}`)
}

/** Tiny models with random weights, made once. */
async function makeModels(python: Python): Promise<string> {
  const folder = join(cacheFolder, 'models')
  mkdirSync(folder, { recursive: true })
  const env = { PATH: process.env['PATH'], HOME: cacheFolder }
  const make = async (file: string, environment: EnvironmentName, script: string): Promise<void> => {
    if (existsSync(join(folder, file))) return
    await runToEnd(await openEnvironment(environment, python), [join(sources, script), folder], { env })
  }
  try {
    if (wanted.size === 0 || wanted.has('llama-cpp-python') || wanted.has('litellm'))
      await make('eos.gguf', 'llama-cpp-python', 'make_gguf.py')
    if (wanted.size === 0 || wanted.has('transformers-serve')) await make('hf-eos', 'transformers-serve', 'make_transformers.py')
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return folder
}

function report(observed: readonly Observed[], skipped: number): number {
  console.log('| Server | Case | Asked | Member gets | Credits | As expected | Rules broken |\n|---|---|---|---|---|---|---|')
  let broken = 0
  let different = 0
  for (const each of observed) {
    const { scenario, turn, booked } = each
    const id = scenario.id + (turn === 0 ? '' : ` ${turn + 1}`)
    const outcome = describeOutcome(each)
    const isExpected = expectedOutcomes(id).includes(outcome)
    const breaches = breachesOf(each)
    const isMoney = booked !== null && booked.credits > booked.held
    if (isMoney || protocolBreaches(each).length > 0) broken++
    if (!isExpected) different++
    const name = scenario.recording.case + (turn === 0 ? '' : `, turn ${turn + 1}`)
    const credits = booked === null ? '–' : `${booked.credits} of ${booked.held}`
    const expected = isExpected ? 'yes' : expectedOutcomes(id).join(' or ')
    console.log(
      `| ${scenario.recording.server} | ${name} | ${scenario.asking} | ${outcome} | ${credits} | ${expected} | ${breaches.join('; ')} |`,
    )
  }
  console.log(
    `\n${observed.length} turns: ${different} end otherwise than expected, ${broken} break the protocol or cost more than they held. ` +
      `${skipped} recorded scenarios were not run: they need a server that is disturbed or started in another way, or one that no registry has.`,
  )
  return broken > 0 ? 1 : 0
}
