/** A real host in this process, on a real socket, for the tests of the methods. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import type { WorkbenchClient } from '../../../../src/cli/local/client.ts'
import { connectWorkbench } from '../../../../src/cli/local/client.ts'
import type { Host } from '../../../../src/cli/workbench/host.ts'
import { startHost } from '../../../../src/cli/workbench/host.ts'
import type { Focus } from '../../../../src/cli/workbench/results.ts'
import { tmuxArguments } from '../../../../src/cli/workbench/tmux/session.ts'
import type { Settings } from '../../../../src/cli/workbench/settings.ts'
import { findProgram } from '../../../support/real-parts.ts'

export interface TestBench {
  readonly dir: string
  readonly settings: Settings
  readonly host: Host
  readonly client: WorkbenchClient
  readonly token: string
  readonly log: Readonly<Record<string, unknown>>[]
  connect(caller?: Focus): Promise<WorkbenchClient>
  /** Stops this host and starts another on the same folders. */
  restart(): Promise<TestBench>
}

/** A folder of the test's own, short enough for sockets, removed at the end. */
export function folder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'svcw-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }))
  return dir
}

export function testSettings(dir: string, changes: Partial<Settings> = {}): Settings {
  mkdirSync(join(dir, 'home'), { recursive: true })
  return {
    version: '0.0.0',
    socketPath: join(dir, 'run', 'workbench.sock'),
    runDir: join(dir, 'run'),
    stateDir: join(dir, 'state'),
    home: join(dir, 'home'),
    platform: process.platform,
    env: { PATH: process.env['PATH'] ?? '', HOME: join(dir, 'home'), SHELL: '/bin/sh', LANG: 'C.UTF-8', PS1: '$ ' },
    svc: [process.execPath, join(import.meta.dirname, '../../../../src/cli/main.ts')],
    // The engine alone, at a third of the price. What a browser with windows does besides is seen on a desktop and through the program.
    browser: {
      executable: findProgram('chromium-headless-shell') ?? null,
      sandbox: process.getuid?.() !== 0,
      idleMs: 600_000,
      answerMs: 3_000,
    },
    engine: 'memory',
    strictFocus: true,
    ...changes,
  }
}

/** A real host in this process, on a real socket, and one greeted client; both gone at the end of the test. */
export async function startBench(t: Test, changes: Partial<Settings> = {}, dir = folder(t)): Promise<TestBench> {
  const settings = testSettings(dir, changes)
  const log: Readonly<Record<string, unknown>>[] = []
  const token = randomBytes(32).toString('base64url')
  const host = await startHost(settings, {
    now: Date.now,
    newId: (prefix) => `${prefix}_${randomBytes(6).toString('hex')}`,
    token,
    log: (entry) => log.push(entry),
  })
  t.teardown(async () => {
    await host.stop(true)
    // A test may have stopped the host and left tmux running, which is what stopping does.
    if (settings.engine !== 'tmux') return
    const [program = 'tmux', ...base] = tmuxArguments(settings.runDir)
    await promisify(execFile)(program, [...base, 'kill-server'], { env: settings.env }).catch(() => undefined)
  })
  const connect = async (caller?: Focus): Promise<WorkbenchClient> => {
    const client = await connectWorkbench({
      socketPath: settings.socketPath,
      tokenPath: join(settings.runDir, 'workbench.token'),
      platform: process.platform,
      version: '0.0.0',
      caller: caller ?? null,
      timeoutMs: 40_000,
      signal: AbortSignal.timeout(280_000),
    })
    t.teardown(() => client.close())
    return client
  }
  const restart = async (): Promise<TestBench> => {
    await host.stop(false)
    return startBench(t, changes, dir)
  }
  return { dir, settings, host, client: await connect(), token, log, connect, restart }
}

/** Waits until `look` answers something, asking again at once and then ever later, every 20 ms at last; fails with the words after `ms`. */
export async function until<T>(
  words: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  ms = 60_000,
): Promise<T> {
  const end = Date.now() + ms
  for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain: ${words}`)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
