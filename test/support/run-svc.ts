/** Runs `svc` from source, with an environment of its own: in this process by what the program itself calls, or as the real program. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { run } from '../../src/cli/run.ts'
import { bareProgram, keptCompiled } from './bare-program.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface SvcOptions {
  /** Where the command keeps its files. */
  readonly home: string
  readonly site?: string
  readonly env?: Record<string, string>
  readonly input?: string | undefined
  readonly cwd?: string
}

export const svcProgram = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/**
 * One command line in this process, where it costs hundredths of what a start of Node does. What a process adds (signals, readers that
 * go away, the exit itself) is for `runProgram`. One at a time where `cwd` is given: a process has one working directory.
 */
export async function svc(words: readonly string[], options: SvcOptions): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const input = Readable.from(options.input === undefined || options.input === '' ? [] : [options.input], { objectMode: false })
  const shown = Promise.all([text(stdout), text(stderr)])
  const before = process.cwd()
  if (options.cwd !== undefined) process.chdir(options.cwd)
  try {
    const code = await run(words, {
      environment: { variables: svcEnvironment(options), platform: process.platform, home: options.home },
      stdin: input as NodeJS.ReadStream,
      stdout,
      stderr,
      onInterrupt: () => {},
      leave: (code) => {
        throw new Error(`svc ${words.join(' ')} left at once with ${code}`)
      },
    })
    stdout.end()
    stderr.end()
    const [said, told] = await shown
    return { code, stdout: said, stderr: told }
  } finally {
    if (options.cwd !== undefined) process.chdir(before)
  }
}

/** The program itself, to its end. */
export async function runProgram(words: readonly string[], options: SvcOptions): Promise<Ended> {
  return (await startSvc(words, options)).ended
}

export async function startSvc(
  words: readonly string[],
  options: SvcOptions,
): Promise<{ child: ChildProcess; ended: Promise<Ended> }> {
  const [program, all] = bareProgram(process.execPath, [svcProgram, ...words])
  const child = spawn(program, all, { env: svcEnvironment(options), cwd: options.cwd, stdio: 'pipe' })
  child.stdin.on('error', () => {})
  if (options.input !== undefined) child.stdin.end(options.input)
  else child.stdin.end()
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)]).then(([code, stdout, stderr]) => ({
    code,
    stdout,
    stderr,
  }))
  return { child, ended }
}

export function svcEnvironment({ home, site, env }: SvcOptions): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: home,
    LANG: 'C.UTF-8',
    // An address where nothing listens: a test that forgets its server must not find another one.
    SVC_SITE_URL: site ?? 'http://127.0.0.1:1',
    ...keptCompiled,
    ...env,
  }
}
