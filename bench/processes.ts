/** Starts the programs that are measured, each in a process of its own. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/support/free-port.ts'

export interface Program {
  readonly url: string
  /** For the gateway, the key it printed. */
  readonly key: string
  readonly pid: number
  stop(): Promise<void>
}

export interface GatewayProgram extends Program {
  readonly database: string
  /** Where its metrics are read, if it is of a version that has a listener for them. */
  readonly metrics: string
}

export interface GatewayKind {
  /** Node's own, as for a profile. */
  readonly flags?: readonly string[]
  /** The upstream's model behind every product; default `demo-bench` behind the flagships, `demo-bench-whole` behind the light ones. */
  readonly model?: string
  /** A configuration of this folder. */
  readonly config?: string
  /** Where its source lies; default this checkout. */
  readonly checkout?: string
  readonly env?: Readonly<Record<string, string>>
  /** Beside nodes of which one has made the first account: it prints no key. */
  readonly joins?: boolean
}

export const root = fileURLToPath(new URL('..', import.meta.url))

/** `flags` go to the demonstration upstream. */
export function startUpstream(flags: readonly string[] = []): Promise<Program> {
  return start(['src/upstream/demo/main.ts', '--port', '0', ...flags], {}, /(http:\/\/[\d.:]+)/)
}

export function startBareProxy(upstream: string): Promise<Program> {
  return start(['bench/bare-proxy.ts', upstream], {}, /(http:\/\/[\d.:]+)/)
}

/** The whole gateway, as `npm start` runs it: database on disk, log to a file, metrics on. */
export async function startGateway(upstream: string, kind: GatewayKind = {}): Promise<GatewayProgram> {
  const { flags = [], model, config = 'gateway.config.ts', checkout = root, env = {}, joins = false } = kind
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  const metricsPort = await freePort()
  const program = await start(
    [...flags, 'bin/svc-gateway.js', 'start'],
    {
      DATA_DIR: dataDir,
      PORT: '0',
      METRICS_PORT: String(metricsPort),
      // Ours also for another commit: it imports whatever program reads it.
      GATEWAY_CONFIG: join(root, 'bench', config),
      UPSTREAM_BASE_URL: `${upstream}/v1`,
      UPSTREAM_MODEL_FLAGSHIP: model ?? 'demo-bench',
      UPSTREAM_MODEL_LIGHT: model ?? 'demo-bench-whole',
      ...env,
    },
    joins ? /listens on (http:\/\/[\d.:]+)/ : /listens on (http:\/\/[\d.:]+)[\s\S]*?(svc_live_\w+)/,
    openSync(join(dataDir, 'log'), 'w'),
    checkout,
  )
  return {
    ...program,
    database: join(dataDir, 'gateway.db'),
    metrics: `http://127.0.0.1:${metricsPort}/metrics`,
    async stop() {
      await program.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A program of a checkout; `ready` finds its address, and its key if it has one, in what it prints. */
export async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: RegExp,
  stderr: number | 'inherit' = 'inherit',
  cwd = root,
): Promise<Program> {
  const child = spawn(process.execPath, args, { cwd, env: { ...bareEnvironment(), ...env }, stdio: ['ignore', 'pipe', stderr] })
  const found = await match(child, ready)
  return { url: found[1] ?? '', key: found[2] ?? '', pid: child.pid ?? 0, stop: () => stop(child) }
}

/** Without what the person at this terminal has set for another server: it would be measured too. */
export function bareEnvironment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', TMPDIR: tmpdir() }
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
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
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
