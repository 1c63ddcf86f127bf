/** A real Valkey, or Debian's Redis, on a free port of loopback, without persistence; ends with the test. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { TestScope } from '../test-scope.ts'
import { Redis } from 'iovalkey'
import { findFreePort } from '../free-port.ts'
import { requireProgram } from '../require-program.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'

export interface TestValkey {
  readonly url: string
  readonly pid: number
  /** A separate client for the test. */
  readonly client: Redis
  /** Ends it at once, like a crash. */
  kill(): Promise<void>
  /** Suspended it accepts connections and answers nothing. */
  pause(): void
  resume(): void
  /** Starts a new, empty one on the same port. */
  restart(): Promise<void>
}

/** Undefined if neither is installed: the test has then reported it. */
export async function startValkey(t: TestScope, args: readonly string[] = []): Promise<TestValkey | undefined> {
  const program = requireProgram(t, 'valkey-server', 'redis-server')
  if (program === undefined) return undefined
  const port = await findFreePort()
  const folder = createTemporaryFolder(t)
  let server: ChildProcess
  const start = async (): Promise<void> => {
    const all = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder, ...args]
    server = spawn(program, all, { stdio: ['ignore', 'pipe', 'ignore'] })
    let output = ''
    for await (const piece of server.stdout ?? []) {
      output += String(piece)
      if (/ready to accept connections/i.test(output)) break
    }
    server.stdout?.resume()
    if (server.exitCode !== null) throw new Error(`${program} ended: ${output}`)
  }
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill('SIGKILL')
    await exited
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
    resume: () => void server.kill('SIGCONT'),
    restart: start,
  }
}
