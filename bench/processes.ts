/** Starts the programs that are measured, each in a process of its own, and reads what they cost. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Program {
  readonly url: string
  /** For the gateway, the key it printed. */
  readonly key: string
  readonly pid: number
  stop(): Promise<void>
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** `flags` go to the demonstration upstream. */
export function startUpstream(flags: readonly string[] = []): Promise<Program> {
  return start(['src/upstream/demo/main.ts', '--port', '0', ...flags], {}, /(http:\/\/[\d.:]+)/)
}

export function startBareProxy(upstream: string): Promise<Program> {
  return start(['bench/bare-proxy.ts', upstream], {}, /(http:\/\/[\d.:]+)/)
}

/** The whole gateway, as `npm start` runs it: database on disk, log to a file, metrics on. `flags` go to Node, as for a profile. */
export async function startGateway(upstream: string, flags: readonly string[] = [], model = 'demo-bench'): Promise<Program> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  const program = await start(
    [...flags, 'src/main.ts'],
    {
      DATA_DIR: dataDir,
      PORT: '0',
      GATEWAY_CONFIG: join(root, 'bench/gateway.config.ts'),
      UPSTREAM_BASE_URL: `${upstream}/v1`,
      UPSTREAM_MODEL_FLAGSHIP: model,
      UPSTREAM_MODEL_LIGHT: model,
    },
    /listens on (http:\/\/[\d.:]+)[\s\S]*?(svc_live_\w+)/,
    openSync(join(dataDir, 'log'), 'w'),
  )
  return {
    ...program,
    async stop() {
      await program.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A program of this repository; `ready` finds its address, and its key if it has one, in what it prints. */
export async function start(
  args: readonly string[],
  env: Record<string, string>,
  ready: RegExp,
  stderr: number | 'inherit' = 'inherit',
): Promise<Program> {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', stderr] })
  const found = await match(child, ready)
  return { url: found[1] ?? '', key: found[2] ?? '', pid: child.pid ?? 0, stop: () => stop(child) }
}

async function match(child: ChildProcess, ready: RegExp): Promise<RegExpExecArray> {
  let text = ''
  if (child.stdout === null) throw new Error('no output')
  for await (const line of createInterface({ input: child.stdout })) {
    text += `${line}\n`
    const found = ready.exec(text)
    if (found === null) continue
    child.stdout.resume()
    return found
  }
  throw new Error(`the program ended before it was ready:\n${text}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** CPU seconds of a process with all its threads (Linux). */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  // Fields 14 and 15 of proc(5), in hundredths of a second; the first two are cut off above.
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Resident memory in KiB. */
export function residentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}
