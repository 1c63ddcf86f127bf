/** The real gateway as a separate process, on its own port, with the built-in demonstration upstream. */
import { spawn } from 'node:child_process'
import { toCleanCommand, compileCacheEnvironment } from '../../runner/clean-command.ts'

export interface GatewayProcess {
  readonly origin: string
  /** The first account's key. */
  readonly key: string
  readonly dataDir: string
  readonly pid: number
  /** Everything written to stdout and stderr so far. */
  readonly output: string
  stop(): Promise<void>
}

export interface GatewayProcessOptions {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly dataDir: string
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly nodeOptions?: string
}

/** Resolves when it listens; rejects with its output if it ends before. */
export async function startGatewayProcess({
  command: [program, ...words],
  dataDir,
  cwd,
  env,
  nodeOptions,
}: GatewayProcessOptions): Promise<GatewayProcess> {
  const [cleanProgram, cleanArgs] = toCleanCommand(program, words, nodeOptions)
  const child = spawn(cleanProgram, cleanArgs, {
    cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dataDir,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      ...compileCacheEnvironment,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  let output = ''
  const started = await new Promise<{ origin: string; key: string }>((resolve, reject) => {
    const read = (piece: Buffer) => {
      output += piece.toString()
      const origin = /listens on (http:\/\/\S+)/.exec(output)?.[1]
      const key = /\b(svc_live_\w+)/.exec(output)?.[1]
      if (origin !== undefined && key !== undefined && output.includes('"listening"')) resolve({ origin, key })
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${output}`)))
  })
  return {
    ...started,
    dataDir,
    pid: child.pid ?? 0,
    get output() {
      return output
    },
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
