/** A real HAProxy with the configuration that we ship, before nodes of a test's own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { requireProgram } from './real-parts.ts'
import type { Scope } from './scope.ts'

const shipped = join(import.meta.dirname, '../../deploy/haproxy.cfg')

export interface Balancer {
  readonly url: string
  readonly pid: number
  /** What it says of who is in and who is out. */
  readonly log: () => string
}

/** `nodes` are host:port, three at most. Undefined where there is none to start: the test has then said so. */
export async function startBalancer(t: Scope, nodes: readonly string[]): Promise<Balancer | undefined> {
  const program = requireProgram(t, 'haproxy')
  if (program === undefined) return undefined
  const address = `127.0.0.1:${await freePort()}`
  const names = [1, 2, 3].map((nth) => [`NODE_${nth}`, nodes[nth - 1] ?? '127.0.0.1:1'])
  const child = spawn(program, ['-db', '-f', shipped], {
    env: { PATH: process.env['PATH'] ?? '', BIND: address, ...Object.fromEntries(names) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const said of [child.stdout, child.stderr]) said.on('data', (piece: Buffer) => (log += piece.toString()))
  const gone = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const url = `http://${address}`
  while (!(await isThere(url))) {
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${log}`)
    await pause(20)
  }
  return { url, pid: child.pid ?? 0, log: () => log }
}

async function isThere(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => null)
  await answer?.arrayBuffer()
  return answer?.status === 200
}
