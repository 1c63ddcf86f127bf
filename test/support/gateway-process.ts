/** The real gateway as its own process, on a port of its own, with the built-in demonstration upstream. */
import { spawn } from 'node:child_process'
import { bareProgram, keptCompiled } from './bare-program.ts'

export interface GatewayProcess {
  readonly origin: string
  /** The first account's key. */
  readonly key: string
  readonly dataDir: string
  readonly pid: number
  stop(): Promise<void>
}

export interface GatewayProcessOptions {
  /** Program and words that start the gateway. */
  readonly command: readonly [string, ...string[]]
  readonly dataDir: string
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly nodeOptions?: string
}

/** Resolves when it listens; rejects with what it said if it ends before. */
export async function startGatewayProcess({
  command: [program, ...words],
  dataDir,
  cwd,
  env,
  nodeOptions,
}: GatewayProcessOptions): Promise<GatewayProcess> {
  const [bare, all] = bareProgram(program, words, nodeOptions)
  const child = spawn(bare, all, {
    cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dataDir,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      ...keptCompiled,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  let said = ''
  const started = await new Promise<{ origin: string; key: string }>((resolve, reject) => {
    const read = (piece: Buffer) => {
      said += piece.toString()
      const origin = /listens on (http:\/\/\S+)/.exec(said)?.[1]
      const key = /\b(svc_live_\w+)/.exec(said)?.[1]
      if (origin !== undefined && key !== undefined && said.includes('"listening"')) resolve({ origin, key })
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${said}`)))
  })
  return {
    ...started,
    dataDir,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
