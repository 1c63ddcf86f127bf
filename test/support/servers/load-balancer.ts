/** A real HAProxy with the shipped configuration, in front of a test's own nodes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '../free-port.ts'
import { requireProgram } from '../require-program.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { TestScope } from '../test-scope.ts'

const configFile = join(import.meta.dirname, '../../../deploy/haproxy.cfg')

export interface LoadBalancer {
  readonly url: string
  readonly pid: number
  /** Its report of which nodes are up and down. */
  readonly log: () => string
}

/** `nodes` are host:port, three at most; `edit` changes the file. Undefined if HAProxy is not installed: the test has then reported it. */
export async function startLoadBalancer(
  t: TestScope,
  nodes: readonly string[],
  edit?: (text: string) => string,
): Promise<LoadBalancer | undefined> {
  const program = requireProgram(t, 'haproxy')
  if (program === undefined) return undefined
  const address = `127.0.0.1:${await findFreePort()}`
  const names = [1, 2, 3].map((nth) => [`NODE_${nth}`, nodes[nth - 1] ?? '127.0.0.1:1'])
  const file = edit === undefined ? configFile : writeEdited(t, edit)
  const child = spawn(program, ['-db', '-f', file], {
    env: { PATH: process.env['PATH'] ?? '', BIND: address, ...Object.fromEntries(names) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (log += piece.toString()))
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const url = `http://${address}`
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${log}`)
    await pause(20)
  }
  return { url, pid: child.pid ?? 0, log: () => log }
}

function writeEdited(t: TestScope, edit: (text: string) => string): string {
  const file = join(createTemporaryFolder(t), 'haproxy.cfg')
  writeFileSync(file, edit(readFileSync(configFile, 'utf8')))
  return file
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => null)
  await answer?.arrayBuffer()
  return answer?.status === 200
}
