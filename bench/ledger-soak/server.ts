/** The real server and the real commands, each as a separate process; a disk that can be filled; and shifts of their clocks. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, rmSync, writeSync, closeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { text } from 'node:stream/consumers'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Installation {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** A file outside the data folder. */
  readonly log: string
  /** How often a serving thread ends by itself, and where it records that. */
  readonly threadDeaths: { readonly meanSeconds: number; readonly file: string } | null
}

export interface Server {
  readonly child: ChildProcess
  readonly url: string
  readonly key: string
}

/** `shifts` are offsets of its wall clock in minutes, a different one every 1.5 seconds. Null if it could not start. */
export async function startServer(installation: Installation, clockShiftMinutes: readonly number[]): Promise<Server | null> {
  const log = openSync(installation.log, 'a')
  const child = spawn(
    process.execPath,
    [...toClockShiftFlags(clockShiftMinutes), ...toThreadDeathFlags(installation), join(root, 'src/operator/start.ts')],
    {
      cwd: root,
      env: createEnvironment(installation),
      stdio: ['ignore', 'pipe', log],
    },
  )
  closeSync(log)
  let output = ''
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (/listens on \S+\s/.test(output)) resolve()
    })
  })
  const url = /listens on (\S+)/.exec(output)?.[1]
  return url === undefined ? null : { child, url, key: /svc_live_\w+/.exec(output)?.[0] ?? '' }
}

export async function endServer({ child }: Server, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

export interface CommandOutput {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs an operator command whose clock is `minutes` off. */
export async function runCommand(installation: Installation, args: readonly string[], minutes = 0): Promise<CommandOutput> {
  const child = spawn(process.execPath, [...toClockShiftFlags([minutes]), join(root, 'src/operator/main.ts'), ...args], {
    cwd: root,
    env: createEnvironment(installation),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}

function createEnvironment({ folder, environment }: Installation): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'error', ...environment }
}

/** Shifts Node's own clock by a number of minutes, also in the writer's thread. */
function toClockShiftFlags(minutes: readonly number[]): readonly string[] {
  if (minutes.every((each) => each === 0)) return []
  const code = `const real = Date.now, minutes = ${JSON.stringify(minutes)}
    Date.now = () => real() + 60000 * minutes[Math.floor((performance.timeOrigin + performance.now()) / 1500) % minutes.length]`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** Ends serving threads, as if they had been killed. */
function toThreadDeathFlags({ threadDeaths }: Installation): readonly string[] {
  if (threadDeaths === null) return []
  const code = `import { appendFileSync } from 'node:fs'
    import { workerData } from 'node:worker_threads'
    if (workerData?.share !== undefined)
      setTimeout(() => {
        appendFileSync(${JSON.stringify(threadDeaths.file)}, (performance.timeOrigin + performance.now()) + '\\n')
        process.exit(1)
      }, ${threadDeaths.meanSeconds * 1000} * (0.2 + 1.6 * Math.random())).unref()`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** The times of the deaths since the last call, on this process's monotonic clock. */
export function readThreadDeaths({ threadDeaths }: Installation): readonly number[] {
  if (threadDeaths === null || !existsSync(threadDeaths.file)) return []
  const times = readFileSync(threadDeaths.file, 'utf8').trim().split('\n')
  rmSync(threadDeaths.file)
  return times.map((time) => Number(time) - performance.timeOrigin).toSorted((a, b) => a - b)
}

/** Makes the buffers of connections small, so that a slow reader delays its upstream soon; only in a network namespace of one's own. */
export function shrinkBuffers(): void {
  spawnSync('ip', ['link', 'set', 'lo', 'up'])
  for (const name of ['tcp_rmem', 'tcp_wmem']) writeFileSync(`/proc/sys/net/ipv4/${name}`, '4096 16384 65536')
}

/** A file system in memory; only root can create one, and it ends with this process's namespace. */
export function mountDisk(folder: string, megabytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', folder]).status === 0
}

/** Fills all free space. Returns a function that frees it. */
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
