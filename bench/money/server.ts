/** The real server and the real commands, each a process of its own; a disk that can be filled; and what is done to their clocks. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync, rmSync, writeSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { text } from 'node:stream/consumers'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Place {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** A file outside of the data folder. */
  readonly log: string
}

export interface Server {
  readonly child: ChildProcess
  readonly url: string
  readonly key: string
}

/** `shifts` are minutes by which its wall clock is off, another one each second and a half. Null where it could not start. */
export async function startServer(place: Place, shifts: readonly number[]): Promise<Server | null> {
  const log = openSync(place.log, 'a')
  const child = spawn(process.execPath, [...shifted(shifts), join(root, 'src/main.ts')], {
    cwd: root,
    env: environmentOf(place),
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  let told = ''
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.stdout?.on('data', (chunk: Buffer) => {
      told += chunk.toString()
      if (/listens on \S+\s/.test(told)) resolve()
    })
  })
  const url = /listens on (\S+)/.exec(told)?.[1]
  return url === undefined ? null : { child, url, key: /svc_live_\w+/.exec(told)?.[0] ?? '' }
}

export async function endServer({ child }: Server, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

export interface Told {
  readonly code: number | null
  readonly out: string
  readonly complaint: string
}

/** A command of the operator's, whose clock is `minutes` off. */
export async function command(place: Place, words: readonly string[], minutes = 0): Promise<Told> {
  const child = spawn(process.execPath, [...shifted([minutes]), join(root, 'src/operator/main.ts'), ...words], {
    cwd: root,
    env: environmentOf(place),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, complaint] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, complaint }
}

function environmentOf({ folder, environment }: Place): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'error', ...environment }
}

/** Node's own clock, off by so many minutes; in the writer's thread too. */
function shifted(minutes: readonly number[]): readonly string[] {
  if (minutes.every((each) => each === 0)) return []
  const code = `const real = Date.now, minutes = ${JSON.stringify(minutes)}
    Date.now = () => real() + 60000 * minutes[Math.floor((performance.timeOrigin + performance.now()) / 1500) % minutes.length]`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** A file system of its own in memory; only root can make one, and it ends with the namespace this process is in. */
export function mountDisk(folder: string, megabytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', folder]).status === 0
}

/** Takes all the room there is. Gives what gives it back. */
export function fillDisk(folder: string): () => void {
  const filler = join(folder, 'filler')
  const file = openSync(filler, 'w')
  for (const size of [1 << 20, 1 << 12]) {
    const bytes = Buffer.alloc(size)
    try {
      for (;;) writeSync(file, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  closeSync(file)
  return () => rmSync(filler)
}
