/** Starts the workbench as a program of its own: what it is told, what is kept from it, and how it says that it serves. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Settings as HostSettings } from '../workbench/settings.ts'
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'
import { Settings } from '../settings.ts'
import { version } from '../version.ts'
import { unreachable } from './client.ts'
import type { Place } from './place.ts'

const readyMs = 20_000
const browserIdleMs = 10 * 60_000
const pageAnswerMs = 3_000

/**
 * Starts the workbench in the background, apart from this terminal, and waits until it serves. That it is running already, or
 * is just being started by another command, is as good.
 */
export async function launch(context: Context, place: Place): Promise<void> {
  const settings = hostSettings(context, place)
  const child = spawn(process.execPath, [program('../workbench/main')], {
    cwd: context.environment.home,
    detached: true,
    env: settings.env,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })
  // Its settings go through standard input: the environment shows in process lists, and arguments do too.
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify(settings))
  const answer = await firstLine(child)
  child.stdout.destroy()
  child.unref()
  if (answer.ready || answer.code === 'already_running') return
  throw startFailure(answer)
}

/** The same in this terminal, until Ctrl-C or SIGTERM: for service managers and for looking at what goes wrong. */
export async function launchInForeground(context: Context, place: Place): Promise<number> {
  const settings = hostSettings(context, place)
  const child = spawn(process.execPath, [program('../workbench/main')], {
    env: settings.env,
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.end(JSON.stringify(settings))
  const end = (): boolean => child.kill('SIGTERM')
  context.signal.addEventListener('abort', end, { once: true })
  // Not every service manager knows of more than the process that it started.
  process.once('SIGTERM', end)
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

interface Answer {
  readonly ready: boolean
  readonly code?: string
  readonly message?: string
}

function hostSettings(context: Context, place: Place): HostSettings {
  const { environment } = context
  const settings = new Settings(environment)
  return {
    version: version(),
    socketPath: place.socketPath,
    runDir: place.runDir,
    stateDir: place.stateDir,
    home: environment.home,
    platform: environment.platform,
    env: handedOn(environment.variables),
    svc: [process.execPath, program('../main')],
    browser: {
      executable: settings.get('browser').value ?? null,
      sandbox: settings.get('browser_sandbox').value !== 'off',
      idleMs: browserIdleMs,
      answerMs: pageAnswerMs,
    },
    engine: 'tmux',
    strictFocus: false,
  }
}

/** Of this pane or this terminal, not of the workbench; and the credentials of the service, which it has no use for. */
const keptBack = new Set([
  'TMUX',
  'TMUX_PANE',
  'SVC_API_KEY',
  'SVC_TOKEN',
  'SVC_SOCKET',
  'SVC_WORKSPACE_ID',
  'SVC_PANE_ID',
  'SVC_NO_START',
])

function handedOn(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (value !== undefined && !keptBack.has(name)) env[name] = value
  }
  return env
}

/** A program of this package: `.ts` in a checkout, `.js` when compiled, as this file itself is. */
function program(path: string): string {
  return fileURLToPath(new URL(`${path}${extname(import.meta.url)}`, import.meta.url))
}

function firstLine(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve) => {
    let text = ''
    const done = (answer: Answer): void => {
      clearTimeout(timer)
      resolve(answer)
    }
    const timer = setTimeout(() => done({ ready: false, code: 'timeout', message: 'it did not start in time' }), readyMs)
    child.once('error', (error) => done({ ready: false, message: error.message }))
    child.once('close', () => done({ ready: false, message: 'it ended at once' }))
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const end = text.indexOf('\n')
      if (end !== -1) done(JSON.parse(text.slice(0, end)) as Answer)
    })
  })
}

function startFailure(answer: Answer): CommandFailure {
  const { code = 'failed', message = '' } = answer
  if (code !== 'socket_path_too_long' && code !== 'unsafe_socket') return unreachable(`it could not be started: ${message}`)
  const hint = {
    en: 'choose a shorter path of your own: --socket <path>, or SVC_SOCKET',
    zh: '请使用属于您的较短路径:--socket <path> 或 SVC_SOCKET',
  }
  return new CommandFailure(code, { en: message, zh: message }, { exit: 'workbench', hints: [hint] })
}
