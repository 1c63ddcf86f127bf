/**
 * Other gateways, started by a user's command. A file of them is a JSON list; in the command, address and headers `$PORT` is a free
 * port and `$UPSTREAM` the address of the upstream's API, which ends in /v1.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '../../../test/support/free-port.ts'
import { createCleanEnvironment } from '../../support/processes.ts'
import { BenchError } from '../errors.ts'
import { useModelForEveryShape, upstreamModels, describeWrongAnswer } from './subject.ts'
import type { Subject } from './subject.ts'

export interface Peer {
  readonly name: string
  /** Run by a shell. */
  readonly command: string
  /** Address of chat completions; default `http://127.0.0.1:$PORT/v1/chat/completions`. */
  readonly url?: string
  /** Its name for the upstream's model, if it has its own. */
  readonly model?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Portkey's gateway from npm, from the folder of its installation, on this Node. Its 1.15 streams only with `@hono/node-server` 1.3.3 or
 * older (`overrides` in the package.json that installs it): with newer ones it fails with `TypeError: immutable`.
 */
export function createPortkeyPeer(folder: string): Peer {
  return {
    name: 'Portkey',
    command: `exec node '${folder}/build/start-server.js' --headless --port=$PORT`,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': '$UPSTREAM' },
  }
}

export function readPeers(file: string): readonly Peer[] {
  const list: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!Array.isArray(list)) throw new BenchError(`${file} must be a JSON list of peers`)
  return list.map((peer: unknown) => {
    if (typeof peer === 'object' && peer !== null && 'name' in peer && 'command' in peer) return peer as Peer
    throw new BenchError(`${file}: each peer needs a name and a command, not ${JSON.stringify(peer)}`)
  })
}

const timeoutMs = 60_000

/** Resolves after its first answer. */
export async function startPeer(peer: Peer, upstream: string): Promise<Subject> {
  const environment = {
    ...createCleanEnvironment(),
    PORT: String(await findFreePort()),
    UPSTREAM: `${upstream}/v1`,
    NODE_ENV: 'production',
  }
  const expand = (text: string): string =>
    text.replaceAll('$PORT', environment.PORT).replaceAll('$UPSTREAM', environment.UPSTREAM)
  // A separate process group, so that everything the shell has started ends with it.
  const child = spawn('sh', ['-c', peer.command], { env: environment, stdio: 'ignore', detached: true })
  const subject: Subject = {
    name: peer.name,
    url: expand(peer.url ?? 'http://127.0.0.1:$PORT/v1/chat/completions'),
    models: peer.model === undefined ? upstreamModels : useModelForEveryShape(peer.model),
    headers: Object.fromEntries(
      Object.entries({ authorization: 'Bearer none', ...peer.headers }).map(([name, text]) => [name, expand(text)]),
    ),
    keys: [],
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      process.kill(-(child.pid ?? 0), 'SIGTERM')
      await Promise.race([ended, pause(5_000)])
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL')
    },
  }
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const problem = await describeWrongAnswer(subject)
    if (problem === null) return subject
    if (child.exitCode !== null || performance.now() > deadline) {
      await subject.stop()
      throw new BenchError(`${peer.name} was started and does not answer as it must: ${problem}`)
    }
    await pause(500)
  }
}
