/** A real proxy or pooler as a process group of a test, which ends with the test, also where the test is killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestScope } from '../test-scope.ts'

export interface ProxyProcess {
  readonly port: number
  /** Standard output and error so far. */
  readonly log: () => string
}

export interface ProxyProcessOptions {
  readonly program: string
  readonly words: readonly string[]
  /** The port of 127.0.0.1 that it listens on. */
  readonly port: number
  readonly env?: Readonly<Record<string, string>>
  readonly user?: { readonly uid?: number; readonly gid?: number }
}

/** Runs the program, and ends the whole group when the program ends or when standard input does, which is when this process is gone. */
const supervise = `{ "$@"; echo "ended with $?" >&2; kill -s KILL -- -$$; } & read -r _; kill -s KILL -- -$$`

/** Resolves when the port accepts connections; rejects with the log where the program ends before. */
export async function startProxyProcess(
  t: TestScope,
  { program, words, port, env = {}, user = {} }: ProxyProcessOptions,
): Promise<ProxyProcess> {
  const child = spawn('sh', ['-c', supervise, 'sh', program, ...words], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    ...user,
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (log += piece.toString()))
  const gone = once(child, 'exit')
  t.teardown(async () => {
    child.stdin.end()
    await gone
  })
  while (!(await accepts(port))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${program} ended: ${log}`)
    await pause(10)
  }
  return { port, log: () => log }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
