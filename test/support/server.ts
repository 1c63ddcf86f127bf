/** The server as a process of its own, started as `npm start` starts it. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Scope } from './scope.ts'
import { keptCompiled } from './bare-program.ts'
import { until } from './gateway.ts'

/** Where this version's sources are. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url))

export interface ServerProcess {
  readonly child: ChildProcess
  /** What people see, and what the log says. */
  readonly output: () => string
  readonly log: () => string
  readonly url: string
  /** Resolves with the exit code once it has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/**
 * Resolves when it listens, or when it has exited because it could not. `under` is a command that is given the server's as its last words
 * and becomes it; `root` is where another version's sources are.
 */
export async function startServer(
  t: Scope,
  environment: Readonly<Record<string, string>>,
  under: readonly string[] = [],
  root = checkout,
): Promise<ServerProcess> {
  const [command = process.execPath, ...words] = [...under, process.execPath, join(root, 'src/main.ts')]
  const child = spawn(command, words, {
    env: { PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: '0', WORKERS: '1', ...keptCompiled, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let log = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const exited = once(child, 'exit')
  t.teardown(() => void child.kill('SIGKILL'))
  await until(() => output.includes('listens on') || child.exitCode !== null, 'the server to start')
  return {
    child,
    output: () => output,
    log: () => log,
    url: /listens on (\S+)/.exec(output)?.[1] ?? '',
    async end(signal) {
      child.kill(signal)
      await exited
      return child.exitCode
    },
  }
}

/** Writes a configuration that takes the one that `root` has and changes it by `changes`, an expression over `base`. Gives its file. */
export function configIn(folder: string, changes: string, root = checkout): string {
  const file = join(folder, 'test.config.ts')
  writeFileSync(file, `import base from '${pathToFileURL(join(root, 'gateway.config.ts')).href}'\nexport default ${changes}\n`)
  return file
}
