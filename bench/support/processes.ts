/** Starts the measured programs, each in a separate process. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../test/support/free-port.ts'

export interface Program {
  readonly url: string
  /** For the gateway, the key it printed. */
  readonly key: string
  readonly pid: number
  stop(): Promise<void>
}

export interface GatewayProgram extends Program {
  readonly database: string
  /** The address of its metrics, if its version has a listener for them. */
  readonly metrics: string
}

export interface GatewayVariant {
  /** Node's flags, e.g. for a profile. */
  readonly flags?: readonly string[]
  /** The upstream's model behind every product; default `demo-bench` behind the flagships, `demo-bench-whole` behind the light ones. */
  readonly model?: string
  /** A configuration of this folder. */
  readonly config?: string
  /** The folder of its source; default this checkout. */
  readonly checkout?: string
  readonly env?: Readonly<Record<string, string>>
  /** For a node whose first account was created by another node: it prints no key. */
  readonly joinsCluster?: boolean
}

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** `flags` go to the demonstration upstream. */
export function startUpstream(flags: readonly string[] = []): Promise<Program> {
  return startProgram(['test/support/upstream/main.ts', '--port', '0', ...flags], {}, /(http:\/\/[\d.:]+)/)
}

export function startBareProxy(upstream: string, processes = 1): Promise<Program> {
  return startProgram(['bench/support/bare-proxy.ts', upstream, '--processes', String(processes)], {}, /(http:\/\/[\d.:]+)/)
}

/** Answers with little work, from several processes. */
export function startStaticUpstream(processes: number): Promise<Program> {
  return startProgram(['bench/support/static-upstream.ts', '--processes', String(processes)], {}, /(http:\/\/[\d.:]+)/)
}

/** The whole gateway, as `npm start` runs it: database on disk, log to a file, metrics on. */
export async function startGateway(upstream: string, kind: GatewayVariant = {}): Promise<GatewayProgram> {
  const { flags = [], model, config = 'gateway.config.ts', checkout = root, env = {}, joinsCluster = false } = kind
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  const metricsPort = await findFreePort()
  const program = await startProgram(
    [...flags, 'bin/svc-gateway.js', 'start'],
    {
      DATA_DIR: dataDir,
      PORT: '0',
      METRICS_PORT: String(metricsPort),
      // This checkout's file also for another commit, because it imports the program that reads it.
      GATEWAY_CONFIG: join(root, 'bench', config),
      UPSTREAM_BASE_URL: `${upstream}/v1`,
      UPSTREAM_MODEL_FLAGSHIP: model ?? 'demo-bench',
      UPSTREAM_MODEL_LIGHT: model ?? 'demo-bench-whole',
      ...env,
    },
    joinsCluster ? /listens on (https?:\/\/[\d.:]+)/ : /listens on (https?:\/\/[\d.:]+)[\s\S]*?(svc_live_\w+)/,
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

/** A program of a checkout; `ready` finds its address, and its key if it has one, in its output. */
export async function startProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: RegExp,
  stderr: number | 'inherit' = 'inherit',
  cwd = root,
): Promise<Program> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...createCleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', stderr],
  })
  const found = await waitForOutput(child, ready)
  return { url: found[1] ?? '', key: found[2] ?? '', pid: child.pid ?? 0, stop: () => stopChild(child) }
}

/** The environment without the user's variables for another server, which would be measured too. */
export function createCleanEnvironment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', TMPDIR: tmpdir() }
}

async function waitForOutput(child: ChildProcess, ready: RegExp): Promise<RegExpExecArray> {
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

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** CPU seconds of a process with all its threads (Linux). */
export function readCpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  // Fields 14 and 15 of proc(5), in hundredths of a second; the first two are cut off above.
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Resident memory in KiB. */
export function readResidentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}

/** The most resident memory that it has had since `resetPeakResident`, in KiB. */
export function readPeakResidentKib(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}

export function resetPeakResident(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
