/** The server as a separate process, started as `npm start` starts it. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { TestScope } from '../test-scope.ts'
import { compileCacheEnvironment } from '../../runner/clean-command.ts'
import { waitUntil } from '../gateway/test-gateway.ts'

/** The folder of this version's sources. */
export const checkoutRoot = fileURLToPath(new URL('../../..', import.meta.url))

export interface ServerProcess {
  readonly child: ChildProcess
  /** The output for the operator, and the log. */
  readonly output: () => string
  readonly log: () => string
  readonly url: string
  /** Resolves with the exit code once it has ended. */
  terminate(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/**
 * Resolves when it listens, or when it has exited because it could not. `under` is a command that receives the server's command line as its
 * last arguments and executes it; `root` is the folder of another version's sources.
 */
export async function startServerProcess(
  t: TestScope,
  environment: Readonly<Record<string, string>>,
  commandPrefix: readonly string[] = [],
  root = checkoutRoot,
): Promise<ServerProcess> {
  const [command = process.execPath, ...words] = [...commandPrefix, process.execPath, join(root, 'src/operator/start.ts')]
  const child = spawn(command, words, {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      ...compileCacheEnvironment,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let log = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const exited = once(child, 'exit')
  t.teardown(() => void child.kill('SIGKILL'))
  await waitUntil(() => output.includes('listens on') || child.exitCode !== null, 'the server to start')
  return {
    child,
    output: () => output,
    log: () => log,
    url: /listens on (\S+)/.exec(output)?.[1] ?? '',
    async terminate(signal) {
      child.kill(signal)
      await exited
      return child.exitCode
    },
  }
}

/** Writes a configuration that imports the one of `root` and applies `changes`, an expression over `base`. Returns its file. */
export function writeTestConfig(folder: string, expression: string, root = checkoutRoot): string {
  const file = join(folder, 'test.config.ts')
  writeFileSync(file, `import base from '${pathToFileURL(join(root, 'gateway.config.ts')).href}'\nexport default ${expression}\n`)
  return file
}
