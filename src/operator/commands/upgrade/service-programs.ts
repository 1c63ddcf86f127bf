/**
 * Programs that an upgrade starts. Everything that touches the data runs as the service's user: root follows no link that this user could have
 * put into its folder, and leaves no file there that the service cannot open.
 */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { createChildEnvironment } from '../../../config/config.ts'
import type { Owner } from '../../../system/data-folder/folder-owner.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'

export interface ProgramResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly environment?: NodeJS.Dict<string>
  readonly cwd?: string
  /** Undefined: as root. */
  readonly owner?: Owner | undefined
}

/** @throws OperatorError where the program cannot be started */
export async function runProgram(program: string, words: readonly string[], options: RunOptions = {}): Promise<ProgramResult> {
  const { environment = {}, cwd = '/', owner } = options
  // systemd's messages of a unit that this command may run in are not for its children.
  const env = createChildEnvironment({ NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined, ...environment })
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], ...owner })
  const exitCode = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  try {
    const [code, stdout, stderr] = await Promise.all([exitCode, text(child.stdout), text(child.stderr)])
    return { code, stdout, stderr }
  } catch (error) {
    throw new OperatorError(`${program} cannot be started: ${describeSystemError(error)}.`, { cause: error })
  }
}

/** The last lines that a program wrote about its failure. */
export function describeFailure({ code, stdout, stderr }: ProgramResult): string {
  const lines = `${stdout}\n${stderr}`.trim().split('\n').slice(-8).join('\n')
  return lines === '' ? `it ended with ${code}` : lines
}

export class ServicePrograms {
  readonly #owner: Owner | undefined
  readonly #dataDir: string

  constructor({ owner, dataDir }: { readonly owner: Owner | undefined; readonly dataDir: string }) {
    this.#owner = owner
    this.#dataDir = dataDir
  }

  /** Runs a program as the service's user, in the data folder, as the unit does. */
  run(program: string, words: readonly string[], environment: NodeJS.Dict<string> = {}): Promise<ProgramResult> {
    return runProgram(program, words, {
      owner: this.#owner,
      cwd: this.#dataDir,
      environment: { HOME: this.#dataDir, NODE_DISABLE_COMPILE_CACHE: '1', ...environment },
    })
  }

  /** Runs an operator command of a version. */
  runCommand(program: string, words: readonly string[], environment: NodeJS.Dict<string> = {}): Promise<ProgramResult> {
    return this.run(process.execPath, [program, ...words], environment)
  }

  /** @throws OperatorError */
  async changeFiles(program: 'mkdir' | 'rm', ...words: readonly string[]): Promise<void> {
    const result = await this.run(program, words)
    if (result.code !== 0) throw new OperatorError(`${program} ${words.join(' ')} failed: ${describeFailure(result)}`)
  }
}

const unit = 'svc-gateway.service'

/** `restart` and `start` return when the server is ready, or has failed to be. */
export async function controlService(
  action: 'restart' | 'start' | 'stop' | 'reset-failed',
): Promise<{ readonly isDone: boolean }> {
  const { code } = await runProgram('systemctl', [action, unit])
  return { isDone: code === 0 }
}
