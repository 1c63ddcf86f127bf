/** Runs `svc` from source in its own environment: in this process through the program's own function, or as the real program. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { run } from '../../../src/cli/run.ts'
import { toCleanCommand, compileCacheEnvironment } from '../../runner/clean-command.ts'

export interface SvcResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface SvcOptions {
  /** The folder of the command's files. */
  readonly home: string
  readonly site?: string
  readonly env?: Record<string, string>
  readonly input?: string | undefined
  readonly cwd?: string
  /** The width of a terminal as output; a pipe without it. Only for `runSvc`. */
  readonly columns?: number
}

export const svcEntryFile = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

/**
 * Runs one command line in this process, at hundredths of the cost of a start of Node. `runSvcProcess` covers signals, readers that
 * close the pipe, and the exit itself. Run one at a time with `cwd`, because a process has one working directory.
 */
export async function runSvc(args: readonly string[], options: SvcOptions): Promise<SvcResult> {
  const terminal = options.columns === undefined ? {} : { isTTY: true, columns: options.columns }
  const [stdout, stderr] = [Object.assign(new PassThrough(), terminal), Object.assign(new PassThrough(), terminal)]
  const input = Readable.from(options.input === undefined || options.input === '' ? [] : [options.input], { objectMode: false })
  const output = Promise.all([text(stdout), text(stderr)])
  const before = process.cwd()
  if (options.cwd !== undefined) process.chdir(options.cwd)
  try {
    const code = await run(args, {
      environment: { variables: createSvcEnvironment(options), platform: process.platform, home: options.home },
      stdin: input as NodeJS.ReadStream,
      stdout,
      stderr,
      onInterrupt: () => {},
      exit: (code) => {
        throw new Error(`svc ${args.join(' ')} left at once with ${code}`)
      },
    })
    stdout.end()
    stderr.end()
    const [out, err] = await output
    return { code, stdout: out, stderr: err }
  } finally {
    if (options.cwd !== undefined) process.chdir(before)
  }
}

/** Runs the program itself to its end. */
export async function runSvcProcess(args: readonly string[], options: SvcOptions): Promise<SvcResult> {
  return (await startSvcProcess(args, options)).result
}

export async function startSvcProcess(
  args: readonly string[],
  options: SvcOptions,
): Promise<{ child: ChildProcess; result: Promise<SvcResult> }> {
  const [program, all] = toCleanCommand(process.execPath, [svcEntryFile, ...args])
  const child = spawn(program, all, { env: createSvcEnvironment(options), cwd: options.cwd, stdio: 'pipe' })
  child.stdin.on('error', () => {})
  if (options.input !== undefined) child.stdin.end(options.input)
  else child.stdin.end()
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  const result = Promise.all([code, text(child.stdout), text(child.stderr)]).then(([code, stdout, stderr]) => ({
    code,
    stdout,
    stderr,
  }))
  return { child, result }
}

export function createSvcEnvironment({ home, site, env }: SvcOptions): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: home,
    LANG: 'C.UTF-8',
    // An address where nothing listens, so that a test without a server cannot find another one.
    SVC_SITE_URL: site ?? 'http://127.0.0.1:1',
    ...compileCacheEnvironment,
    ...env,
  }
}
