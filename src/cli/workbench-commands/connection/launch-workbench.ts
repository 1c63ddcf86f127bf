/** Starts the workbench as a separate program: its settings, its environment, and its report that it serves. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Settings as HostSettings } from '../../workbench/settings.ts'
import type { Context } from '../../context.ts'
import { CommandFailure } from '../../failure.ts'
import { Settings } from '../../user-config/settings.ts'
import { readVersion } from '../../../system/version.ts'
import { createUnreachableFailure } from './workbench-client.ts'
import type { WorkbenchPaths } from './workbench-paths.ts'
import { parseJson } from '../../../system/parse-json.ts'

const startTimeoutMs = 20_000
const browserIdleMs = 10 * 60_000
const pageTimeoutMs = 3_000

/**
 * Starts the workbench in the background, detached from this terminal, and waits until it serves. Succeeds also if it already runs
 * or another command is starting it.
 */
export async function launchWorkbench(context: Context, paths: WorkbenchPaths): Promise<void> {
  const settings = createHostSettings(context, paths)
  const child = spawn(process.execPath, [resolveProgram('../../workbench/main')], {
    cwd: context.environment.home,
    detached: true,
    env: settings.env,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })
  // The settings go through standard input, because process lists show the environment and the arguments.
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify(settings))
  const report = await readStartReport(child)
  child.stdout.destroy()
  child.unref()
  if (report.ready || report.code === 'already_running') return
  throw toStartFailure(report)
}

/** Runs the workbench in this terminal until Ctrl-C or SIGTERM, for service managers and for debugging. */
export async function launchInForeground(context: Context, paths: WorkbenchPaths): Promise<number> {
  const settings = createHostSettings(context, paths)
  const child = spawn(process.execPath, [resolveProgram('../../workbench/main')], {
    env: settings.env,
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.end(JSON.stringify(settings))
  const end = (): boolean => child.kill('SIGTERM')
  context.signal.addEventListener('abort', end, { once: true })
  // Some service managers signal only the process that they started.
  process.once('SIGTERM', end)
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

interface StartReport {
  readonly ready: boolean
  readonly code?: string
  readonly message?: string
}

function createHostSettings(context: Context, paths: WorkbenchPaths): HostSettings {
  const { environment } = context
  const settings = new Settings(environment)
  return {
    version: readVersion(),
    socketPath: paths.socketPath,
    runDir: paths.runDir,
    stateDir: paths.stateDir,
    home: environment.home,
    platform: environment.platform,
    env: filterEnvironment(environment.variables),
    svc: [process.execPath, resolveProgram('../../main')],
    browser: {
      executable: settings.get('browser').value ?? null,
      sandbox: settings.get('browser_sandbox').value !== 'off',
      idleMs: browserIdleMs,
      answerMs: pageTimeoutMs,
    },
    engine: 'tmux',
    strictFocus: false,
  }
}

/** Variables of this pane or terminal, which do not apply to the workbench, and the service's credentials, which it does not need. */
const excludedVariables = new Set([
  'TMUX',
  'TMUX_PANE',
  'SVC_API_KEY',
  'SVC_TOKEN',
  'SVC_SOCKET',
  'SVC_WORKSPACE_ID',
  'SVC_PANE_ID',
  'SVC_NO_START',
])

function filterEnvironment(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (value !== undefined && !excludedVariables.has(name)) env[name] = value
  }
  return env
}

/** The path of a program of this package: `.ts` in a checkout, `.js` when compiled, like this file. */
function resolveProgram(path: string): string {
  return fileURLToPath(new URL(`${path}${extname(import.meta.url)}`, import.meta.url))
}

function readStartReport(child: ChildProcess): Promise<StartReport> {
  return new Promise((resolve) => {
    let text = ''
    const finish = (answer: StartReport): void => {
      clearTimeout(timer)
      resolve(answer)
    }
    const timer = setTimeout(() => finish({ ready: false, code: 'timeout', message: 'it did not start in time' }), startTimeoutMs)
    child.once('error', (error) => finish({ ready: false, message: error.message }))
    child.once('close', () => finish({ ready: false, message: 'it ended at once' }))
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const end = text.indexOf('\n')
      if (end !== -1) finish(parseJson(text.slice(0, end)) as StartReport)
    })
  })
}

function toStartFailure(answer: StartReport): CommandFailure {
  const { code = 'failed', message = '' } = answer
  if (code !== 'socket_path_too_long' && code !== 'unsafe_socket')
    return createUnreachableFailure(`it could not be started: ${message}`)
  const hint = {
    en: 'choose a shorter path of your own: --socket <path>, or SVC_SOCKET',
    zh: '请使用属于你的较短路径：--socket <path> 或 SVC_SOCKET',
  }
  return new CommandFailure(code, { en: message, zh: message }, { exit: 'workbench', hints: [hint] })
}
