/**
 * Other gateways, started by a command of yours. A file of them is a JSON list; in its command, its address and its headers `$PORT` is a free
 * port, `$UPSTREAM` the address of the upstream's API, which ends in /v1.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../test/support/free-port.ts'
import { bareEnvironment } from '../processes.ts'
import { Refused } from './refused.ts'
import { inEveryShape, upstreamModels, whyNoAnswer } from './subject.ts'
import type { Subject } from './subject.ts'

export interface Peer {
  readonly name: string
  /** For a shell. */
  readonly command: string
  /** Of chat completions; default `http://127.0.0.1:$PORT/v1/chat/completions`. */
  readonly url?: string
  /** Its name for the upstream's model, if it has its own. */
  readonly model?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Portkey's gateway of npm, from the folder that it was installed in, on our Node. Its 1.15 streams only where `@hono/node-server` is as old
 * as 1.3.3 (`overrides` in the package.json that installs it): with newer ones it fails with `TypeError: immutable`.
 */
export function portkeyIn(folder: string): Peer {
  return {
    name: 'Portkey',
    command: `exec node '${folder}/build/start-server.js' --headless --port=$PORT`,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': '$UPSTREAM' },
  }
}

export function peersIn(file: string): readonly Peer[] {
  const list: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!Array.isArray(list)) throw new Refused(`${file} must be a JSON list of peers`)
  return list.map((peer: unknown) => {
    if (typeof peer === 'object' && peer !== null && 'name' in peer && 'command' in peer) return peer as Peer
    throw new Refused(`${file}: each peer needs a name and a command, not ${JSON.stringify(peer)}`)
  })
}

const patienceMs = 60_000

/** Resolves once it has answered. */
export async function startPeer(peer: Peer, upstream: string): Promise<Subject> {
  const environment = {
    ...bareEnvironment(),
    PORT: String(await freePort()),
    UPSTREAM: `${upstream}/v1`,
    NODE_ENV: 'production',
  }
  const fill = (text: string): string => text.replaceAll('$PORT', environment.PORT).replaceAll('$UPSTREAM', environment.UPSTREAM)
  // A group of its own, so that whatever the shell has started ends with it.
  const child = spawn('sh', ['-c', peer.command], { env: environment, stdio: 'ignore', detached: true })
  const subject: Subject = {
    name: peer.name,
    url: fill(peer.url ?? 'http://127.0.0.1:$PORT/v1/chat/completions'),
    models: peer.model === undefined ? upstreamModels : inEveryShape(peer.model),
    headers: Object.fromEntries(
      Object.entries({ authorization: 'Bearer none', ...peer.headers }).map(([name, text]) => [name, fill(text)]),
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
  const until = performance.now() + patienceMs
  for (;;) {
    const why = await whyNoAnswer(subject)
    if (why === null) return subject
    if (child.exitCode !== null || performance.now() > until) {
      await subject.stop()
      throw new Refused(`${peer.name} was started and does not answer as it must: ${why}`)
    }
    await pause(500)
  }
}
