/** A real Valkey, or Debian's Redis, on a free port of loopback, which keeps nothing and ends with the test. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Scope } from './scope.ts'
import { Redis } from 'iovalkey'
import { freePort } from './free-port.ts'
import { requireProgram } from './real-parts.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface TestValkey {
  readonly url: string
  readonly pid: number
  /** A client of the test's own. */
  readonly client: Redis
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** Stopped it takes connections and answers nothing. */
  pause(): void
  goOn(): void
  /** A new one at the same place, empty. */
  startAgain(): Promise<void>
}

/** Undefined where there is none to start: the test has then said so. */
export async function startValkey(t: Scope, words: readonly string[] = []): Promise<TestValkey | undefined> {
  const program = requireProgram(t, 'valkey-server', 'redis-server')
  if (program === undefined) return undefined
  const port = await freePort()
  const folder = temporaryFolder(t)
  let server: ChildProcess
  const start = async (): Promise<void> => {
    const all = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder, ...words]
    server = spawn(program, all, { stdio: ['ignore', 'pipe', 'ignore'] })
    let said = ''
    for await (const piece of server.stdout ?? []) {
      said += String(piece)
      if (/ready to accept connections/i.test(said)) break
    }
    server.stdout?.resume()
    if (server.exitCode !== null) throw new Error(`${program} ended: ${said}`)
  }
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
  }
  await start()
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, lazyConnect: true })
  client.on('error', () => undefined)
  t.teardown(async () => {
    client.disconnect()
    await kill()
  })
  return {
    url: `valkey://127.0.0.1:${port}`,
    get pid() {
      return server.pid ?? 0
    },
    client,
    kill,
    pause: () => void server.kill('SIGSTOP'),
    goOn: () => void server.kill('SIGCONT'),
    startAgain: start,
  }
}
